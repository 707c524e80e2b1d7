/* Values that are computed again in the backward pass: for every network the gradients, the parameters and statistics
 * behind two updates, and the losses, have the bits that they have when all values are kept; and less memory is taken.
 */
#include "molecules.h"
#include "ranks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 3, CLASSES = 5, MOLECULES = 3, SEQUENCE = 24, VOCABULARY = 90 };

/* ---- the networks, tiny ------------------------------------------------------------------------------------------ */

struct built {
    struct wl_arena *a;
    const struct workload *workload;
    union {
        struct wl_image_model_io images;
        struct wl_bert_io tokens;
        struct wl_molecule_model_io molecules;
        struct wl_fourcastnet_io fields;
    } net;
};

struct workload {
    const char *name;
    int (*build)(struct built *b, struct wl_graph *g, struct wl_err *e);
    void (*fill)(const struct built *b, struct wl_plan *p, uint64_t shard);
    const struct wl_molecule_model *molecules;
    int64_t pixels;
    int steps;
};

static void fill_normal(struct wl_plan *p, const struct wl_tensor *t, uint64_t shard)
{
    float *x = wl_plan_input(p, t);
    const uint64_t stream = wl_hash_fnv1a(wl_tensor_name(t));
    for (uint64_t i = 0; i < wl_plan_input_bytes(p, t) / sizeof *x; i++)
        x[i] = (float)wl_random_normal(shard, stream, i);
}

static void fill_below(struct wl_plan *p, const struct wl_tensor *t, uint64_t shard, uint64_t limit)
{
    int32_t *x = wl_plan_input(p, t);
    const uint64_t stream = wl_hash_fnv1a(wl_tensor_name(t));
    for (uint64_t i = 0; i < wl_plan_input_bytes(p, t) / sizeof *x; i++)
        x[i] = (int32_t)wl_random_below(shard, stream, i, limit);
}

static int build_images(struct built *b, struct wl_graph *g, struct wl_err *e)
{
    const struct wl_image_model_opts o = { "tiny", BATCH, b->workload->pixels, CLASSES };
    return wl_image_model_find(b->workload->name)->build(g, &o, &b->net.images, e);
}

static void fill_images(const struct built *b, struct wl_plan *p, uint64_t shard)
{
    fill_normal(p, b->net.images.images, shard);
    fill_below(p, b->net.images.labels, shard, CLASSES);
}

static int build_tokens(struct built *b, struct wl_graph *g, struct wl_err *e)
{
    const struct wl_bert_opts o = {
        .size = "tiny", .batch = BATCH, .sequence = SEQUENCE, .vocabulary = VOCABULARY, .drop = NAN
    };
    return wl_bert_build(g, &o, &b->net.tokens, e);
}

static void fill_tokens(const struct built *b, struct wl_plan *p, uint64_t shard)
{
    const struct wl_bert_io *net = &b->net.tokens;
    fill_below(p, net->tokens, shard, VOCABULARY);
    fill_below(p, net->lengths, shard, SEQUENCE + 1);
    fill_below(p, net->positions, shard, SEQUENCE);
    fill_below(p, net->labels, shard, VOCABULARY);
}

/* Every shard fits into the room of all. */
static int build_molecules(struct built *b, struct wl_graph *g, struct wl_err *e)
{
    const struct wl_molecule *m = rule_molecules(1, MOLECULES, b->a);
    const struct wl_molecule_model_opts o = { "tiny", room_for(b->workload->molecules, "tiny", m, MOLECULES, 2) };
    return b->workload->molecules->build(g, &o, &b->net.molecules, e);
}

static void fill_molecule_batch(const struct built *b, struct wl_plan *p, uint64_t shard)
{
    const struct wl_molecule *m = rule_molecules(1, MOLECULES, b->a);
    const size_t n = MOLECULES - shard % 2;
    fill_molecules(p, &b->net.molecules, b->workload->molecules->cutoff("tiny"), m, n, shard);
}

static int build_fields(struct built *b, struct wl_graph *g, struct wl_err *e)
{
    const struct wl_fourcastnet_opts o = {
        .size = "tiny", .batch = 2, .channels = 3, .height = 32, .width = 64, .steps = b->workload->steps
    };
    return wl_fourcastnet_build(g, &o, &b->net.fields, e);
}

static void fill_fields(const struct built *b, struct wl_plan *p, uint64_t shard)
{
    fill_normal(p, b->net.fields.fields, shard);
    for (int i = 0; i < b->workload->steps; i++) fill_normal(p, b->net.fields.target[i], shard);
}

static const struct workload workloads[] = {
    { "resnet50", build_images, fill_images, .pixels = 32 },
    { "vgg16", build_images, fill_images, .pixels = 32 },
    { "inception3", build_images, fill_images, .pixels = 96 },
    { "bert", build_tokens, fill_tokens, .pixels = 0 },
    { "schnet", build_molecules, fill_molecule_batch, .molecules = &wl_schnet },
    { "dimenet", build_molecules, fill_molecule_batch, .molecules = &wl_dimenet },
    { "fourcastnet", build_fields, fill_fields, .steps = 1 },
    { "fourcastnet of two steps", build_fields, fill_fields, .steps = 2 },
};

/* ---- a training -------------------------------------------------------------------------------------------------- */

enum { MOST = 1 << 22 };

/* What it left: the gradients of each update, then every state. */
struct result {
    struct outcome outcome;
    struct wl_plan_info info;
    struct wl_counts train, eval;
    size_t n;
    float x[MOST];
};

static int keep(struct wl_plan *p, bool gradients, struct result *r, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < wl_plan_state_count(p) && !rc; i++) {
        const struct wl_state s = wl_plan_state(p, i);
        if (gradients && s.kind != WL_STATE_PARAM) continue;
        WL_CHECK(r->n + s.count <= MOST);
        rc = gradients ? wl_plan_gradient_read(p, i, r->x + r->n, e) : wl_plan_state_read(p, i, r->x + r->n, e);
        r->n += s.count;
    }
    return rc;
}

struct task {
    const struct workload *workload;
    struct wl_plan_opts how;
};

static int train(const void *task, struct wl_comm *c, void *found, struct wl_arena *a, struct wl_err *e)
{
    const struct task *t = task;
    const struct workload *w = t->workload;
    struct wl_plan_opts how = t->how;
    struct result *r = found;
    struct built b = { .a = a, .workload = w };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_plan *p;
    how.seed = 3;
    how.slow_bf16 = true;
    how.optim = (struct wl_optim) { .momentum = 0.9 };
    int rc = w->build(&b, g, e);
    if (!rc) rc = wl_plan_new(&p, g, &how, c, a, e);
    if (rc) return rc;
    r->info = wl_plan_info(p);
    const int micros = how.micro_batches ? how.micro_batches : 1, rank = c ? c->rank : 0;
    const int updates = how.backend ? 1 : 2; /* plain C is slow */
    for (int u = 0; u < updates && !rc; u++) {
        for (int m = 0; m < micros && !rc; m++) {
            w->fill(&b, p, (uint64_t)(1 + u + 10 * m + 100 * rank));
            rc = wl_plan_train(p, m == 0, m == micros - 1, &r->train, e);
        }
        if (!rc) rc = keep(p, true, r, e);
        if (!rc) rc = wl_plan_update(p, 0.01, e);
    }
    if (!rc) rc = wl_plan_eval(p, &r->eval, e);
    return rc ? rc : keep(p, false, r, e);
}

/* The result of each worker. */
static struct result *run(const struct workload *w, struct wl_plan_opts how, int workers)
{
    struct result *results = run_ranks(workers, train, &(struct task) { w, how }, sizeof *results);
    for (int k = 0; k < workers; k++) {
        const struct outcome *o = &results[k].outcome;
        if (o->rc == WL_EUNAVAIL) skip();
        if (o->rc) fail_msg("%s, rank %d: %s", w->name, k, o->msg);
    }
    return results;
}

static void same_bits(const struct workload *w, const struct result *x, const struct result *y)
{
    assert_true(x->n > 1000);
    assert_int_equal(x->n, y->n);
    for (size_t i = 0; i < x->n; i++)
        if (memcmp(&x->x[i], &y->x[i], sizeof(float)))
            fail_msg("%s: number %zu of %zu is %.9g, and %.9g when values are computed again", w->name, i, x->n,
                     (double)x->x[i], (double)y->x[i]);
    assert_memory_equal(&x->train, &y->train, sizeof x->train);
    assert_memory_equal(&x->eval, &y->eval, sizeof x->eval);
}

static void compare(const struct workload *w, struct wl_plan_opts how, int workers)
{
    struct result *plain = run(w, how, workers);
    assert_true(plain->info.segments == 0 && plain->info.keeping_bytes == plain->info.total_bytes);
    how.recompute = true;
    struct result *least = run(w, how, workers);
    assert_true(least->info.segments > 0 && least->info.keeping_bytes == plain->info.total_bytes);
    assert_true(least->info.value_bytes < plain->info.value_bytes);
    how.recompute = false;
    how.memory_bytes = (least->info.total_bytes + plain->info.total_bytes) / 2;
    struct result *fit = run(w, how, workers);
    assert_true(fit->info.segments > 0 && fit->info.total_bytes <= how.memory_bytes);
    assert_false(fit->info.recompute_flops > least->info.recompute_flops); /* of molecules they are not known */
    for (int k = 0; k < workers; k++) {
        same_bits(w, &plain[k], &least[k]);
        same_bits(w, &plain[k], &fit[k]);
    }
    struct result *const all[] = { plain, least, fit };
    for (size_t i = 0; i < WL_COUNT(all); i++) free_found(all[i], workers, sizeof **all);
}

static void test_f32(void **state)
{
    compare(*state, (struct wl_plan_opts) { .threads = 2 }, 1);
    compare(*state, (struct wl_plan_opts) { .threads = 1, .micro_batches = 2 }, 1);
}

static void test_bf16(void **state)
{
    compare(*state, (struct wl_plan_opts) { .threads = 1, .micro_batches = 2, .precision = WL_BF16 }, 1);
}

static void test_ref(void **state) { compare(*state, (struct wl_plan_opts) { .backend = "ref" }, 1); }

static void test_ref_bf16(void **state)
{
    compare(*state, (struct wl_plan_opts) { .backend = "ref", .precision = WL_BF16 }, 1);
}

static void test_winograd(void **state)
{
    compare(*state, (struct wl_plan_opts) { .threads = 1, .conv = WL_CONV_WINOGRAD }, 1);
}

static void test_ranks(void **state) { compare(*state, (struct wl_plan_opts) { .threads = 1, .micro_batches = 2 }, 2); }

#define ON(i, test)                                                                     \
    {                                                                                   \
        .name = #test "/" #i, .test_func = test, .initial_state = (void *)&workloads[i] \
    }
/* The workloads by their place in the table. */
#define ON_ALL(test) \
    ON(0, test), ON(1, test), ON(2, test), ON(3, test), ON(4, test), ON(5, test), ON(6, test), ON(7, test)

/* The tests whose names begin with the argument. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_f32),
        ON_ALL(test_bf16),
        /* VGG16's memory is that of its first convolution, so nothing is to be gained here; DimeNet has SchNet's rules
         */
        ON(0, test_ref),
        ON(2, test_ref),
        ON(3, test_ref),
        ON(4, test_ref),
        ON(6, test_ref),
        ON(3, test_ref_bf16),
        ON(1, test_winograd),
        ON(2, test_winograd),
        ON(0, test_ranks),
        ON(3, test_ranks),
    };
    char filter[32];
    if (argc > 1) {
        snprintf(filter, sizeof filter, "%s*", argv[1]);
        cmocka_set_test_filter(filter);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
