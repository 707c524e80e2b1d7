/* Data parallelism is arithmetic: W ranks on W shards give the gradients, parameters and statistics of one rank that
 * accumulates the same W shards. */
#include "ranks.h"

#include "models/models.h"
#include "nn/graph/graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 8, CLASSES = 5, UPDATES = 3, MAX_STATES = 600000, LIMIT = 2 * MAX_STATES };

/* A network at its tiny size. */
struct subject {
    const char *model;
    int size; /* pixels, or points down */
    int (*build)(const struct subject *s, struct wl_graph *g, struct wl_err *e);
};

static int images(const struct subject *s, struct wl_graph *g, struct wl_err *e)
{
    struct wl_image_model_io net;
    struct wl_image_model_opts model = { "tiny", BATCH, s->size, CLASSES };
    return wl_image_model_find(s->model)->build(g, &model, &net, e);
}

static int two_steps(const struct subject *s, struct wl_graph *g, struct wl_err *e)
{
    struct wl_fourcastnet_io net;
    struct wl_fourcastnet_opts model = {
        .size = "tiny", .batch = BATCH, .channels = 2, .height = s->size, .width = 2 * s->size, .steps = 2
    };
    return wl_fourcastnet_build(g, &model, &net, e);
}

/* Sequences without padding. */
static int bert(const struct subject *s, struct wl_graph *g, struct wl_err *e)
{
    struct wl_bert_io net;
    struct wl_bert_opts model = {
        .size = "tiny", .batch = BATCH, .sequence = s->size, .vocabulary = CLASSES, .predictions = 4, .drop = 0.5
    };
    return wl_bert_build(g, &model, &net, e);
}

static const struct subject resnet50 = { "resnet50", 64, images }, vgg16 = { "vgg16", 64, images },
                            inception3 = { "inception3", 96, images }, fourcastnet = { "fourcastnet", 16, two_steps },
                            bert_tiny = { "bert", 16, bert };

/* What a training left: the gradients of the first update, then every state. */
struct result {
    struct outcome outcome;
    size_t gradients, states; /* how many numbers */
    float x[LIMIT];
};

static void fill_input(struct wl_plan *p, const struct wl_tensor *t, int64_t shard)
{
    const uint64_t seed = wl_hash_fnv1a(t->name), n = (uint64_t)wl_dims_count(&t->dims);
    float *x = wl_plan_input(p, t);
    int32_t *y = wl_plan_input(p, t);
    for (uint64_t i = 0; i < n; i++)
        if (t->dtype == WL_F32)
            x[i] = (float)wl_random_normal(seed, (uint64_t)shard, i);
        else
            y[i] = wl_str_eq(t->name, "lengths") ? 16 : (int32_t)wl_random_below(seed, (uint64_t)shard, i, CLASSES);
}

static void fill(struct wl_plan *p, const struct wl_graph *g, int64_t shard)
{
    for (size_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->role == WL_ROLE_INPUT) fill_input(p, g->tensors[i], shard);
}

static int copy_gradients(struct wl_plan *p, struct result *r, struct wl_err *e)
{
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        struct wl_state s = wl_plan_state(p, i);
        if (s.kind != WL_STATE_PARAM) continue;
        WL_CHECK(r->gradients + s.count <= MAX_STATES);
        int rc = wl_plan_gradient_read(p, i, r->x + r->gradients, e);
        if (rc) return rc;
        r->gradients += s.count;
    }
    return 0;
}

static int copy_states(struct wl_plan *p, enum wl_state_kind kind, struct result *r, struct wl_err *e)
{
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        struct wl_state s = wl_plan_state(p, i);
        if (s.kind != kind) continue;
        WL_CHECK(r->gradients + r->states + s.count <= LIMIT);
        int rc = wl_plan_state_read(p, i, r->x + r->gradients + r->states, e);
        if (rc) return rc;
        r->states += s.count;
    }
    return 0;
}

struct task {
    const struct subject *subject;
    int shards;
};

static int train(const void *task, struct wl_comm *c, void *found, struct wl_arena *a, struct wl_err *e)
{
    const struct task *t = task;
    struct result *r = found;
    struct wl_graph *g = wl_graph_new(a);
    int shards = t->shards, micro_batches = shards / c->size, rc = t->subject->build(t->subject, g, e);
    if (rc) return rc;
    struct wl_plan *p;
    struct wl_plan_opts opts = {
        .threads = 1, .seed = 3, .micro_batches = micro_batches, .optim = { .momentum = 0.9, .weight_decay = 1e-4 }
    };
    rc = wl_plan_new(&p, g, &opts, c, a, e);
    for (int u = 0; u < UPDATES && !rc; u++) {
        struct wl_counts counts = { 0 };
        for (int m = 0; m < micro_batches && !rc; m++) {
            fill(p, g, u * shards + m * c->size + c->rank);
            rc = wl_plan_train(p, m == 0, m == micro_batches - 1, &counts, e);
        }
        if (!rc && u == 0) rc = copy_gradients(p, r, e);
        if (!rc) rc = wl_plan_update(p, 0.01, e);
    }
    if (!rc) rc = wl_plan_average_statistics(p, e);
    if (!rc) rc = copy_states(p, WL_STATE_PARAM, r, e);
    return rc ? rc : copy_states(p, WL_STATE_STATISTIC, r, e);
}

/* Every rank's result. */
static struct result *run(const struct subject *s, int workers, int shards)
{
    struct result *results = run_ranks(workers, train, &(struct task) { s, shards }, sizeof *results);
    for (int k = 0; k < workers; k++)
        if (results[k].outcome.rc) fail_msg("rank %d of %d: %s", k, workers, results[k].outcome.msg);
    return results;
}

/* |a - b| / |b| */
static double distance(const float *a, const float *b, size_t n)
{
    double difference = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)a[i] - b[i];
        difference += d * d;
        size += (double)b[i] * b[i];
    }
    return sqrt(difference / size);
}

static void compare(const struct subject *s, int workers, int shards)
{
    struct result *one = run(s, 1, shards), *many = run(s, workers, shards);
    assert_true(one->gradients > 50000 && one->states >= one->gradients);
    assert_int_equal(many->gradients, one->gradients);
    assert_int_equal(many->states, one->states);
    double gradients = distance(many->x, one->x, one->gradients);
    double states = distance(many->x + one->gradients, one->x + one->gradients, one->states);
    if (!(gradients < 1e-5 && states < 1e-5))
        fail_msg("%s: %d ranks differ from one: gradients %g, states %g", s->model, workers, gradients, states);
    for (int k = 1; k < workers; k++) /* all ranks hold the same bits */
        assert_memory_equal(many[k].x, many->x, (one->gradients + one->states) * sizeof(float));
    free_found(one, 1, sizeof *one);
    free_found(many, workers, sizeof *many);
}

static void test_two_ranks_equal_one(void **state)
{
    (void)state;
    compare(&resnet50, 2, 2);
}

static void test_three_ranks_equal_one(void **state)
{
    (void)state;
    compare(&resnet50, 3, 3);
}

static void test_two_accumulating_ranks_equal_one(void **state)
{
    (void)state;
    compare(&resnet50, 2, 4);
}

/* Dropout: the ranks drop what the one drops. */
static void test_vgg16_on_ranks_equals_one(void **state)
{
    (void)state;
    compare(&vgg16, 2, 4);
}

/* Attention, layer norms and embeddings drop out: masks of their own for each rank and micro-batch. */
static void test_bert_on_ranks_equals_one(void **state)
{
    (void)state;
    compare(&bert_tiny, 2, 4);
}

/* Auxiliary head, concatenations, dropout. */
static void test_inception3_on_ranks_equals_one(void **state)
{
    (void)state;
    compare(&inception3, 2, 2);
}

/* Parameters that two operations share: their buckets are final after the second of them. */
static void test_two_steps_on_ranks_equal_one(void **state)
{
    (void)state;
    compare(&fourcastnet, 2, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_ranks_equal_one),
        cmocka_unit_test(test_three_ranks_equal_one),
        cmocka_unit_test(test_two_accumulating_ranks_equal_one),
        cmocka_unit_test(test_vgg16_on_ranks_equals_one),
        cmocka_unit_test(test_bert_on_ranks_equals_one),
        cmocka_unit_test(test_inception3_on_ranks_equals_one),
        cmocka_unit_test(test_two_steps_on_ranks_equal_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
