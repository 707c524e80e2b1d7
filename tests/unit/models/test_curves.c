/* Optimizer steps of each network at its tiny size against PyTorch's, whose losses tools/oracle/curves.py stored:
 * same first weights, images, dropout masks and SGD. Inception v3's loss has .4 of the auxiliary head's in it.
 *
 * Training multiplies rounding, so two correct curves part. How far is what PyTorch's own f32 (bf16) curve parts from
 * its double one: ours may lie ten times (bf16: three times) as far from double as theirs did at most until then, and
 * AHEAD steps later, since a rectifier that tips over does so at another step. Added is a floor, for the first steps:
 * 1e-4 (bf16: 2e-2), of losses of 2 to 4. And two ranks draw the curve of one that accumulates their shards.
 *
 * Twenty steps, which have the sharpest tolerances, or with `test_curves all` the fifty that are stored.
 *
 * Where WATTLAW_CURVES names a file, the curves are added to it, for curves.py --plot.
 */
#include "oracle.h"
#include "ranks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS = 50, SOME_STEPS = 20, MODELS = 3, AHEAD = 5 };

static int64_t steps = SOME_STEPS;

/* What the golden file says about all curves and about one. */
struct task {
    const struct wl_json *all, *one;
    const char *model;
    int64_t batch, batches, classes;
    enum wl_dtype precision;
    int parts; /* micro-batches of each rank */
};

struct curve {
    struct outcome outcome;
    double loss[STEPS];
};

static struct task open_task(int model, enum wl_dtype precision, struct wl_arena *a)
{
    struct task t = { .all = oracle_open("curves", a), .precision = precision };
    t.one = wl_json_at(wl_json_get(t.all, "curves"), (size_t)model);
    t.model = wl_json_str(wl_json_get(t.one, "model"));
    t.batch = wl_json_int(wl_json_get(t.all, "batch"), 0);
    t.batches = wl_json_int(wl_json_get(t.all, "batches"), 0);
    t.classes = wl_json_int(wl_json_get(t.all, "classes"), 0);
    return t;
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* Norms' biases start at norm_shift, linear layers' weights at linear_gain times what the engine gives them. */
static int set_weights(const struct task *t, const struct wl_graph *g, struct wl_plan *p, struct wl_arena *a,
                       struct wl_err *e)
{
    const float shift = (float)oracle_real(t->all, "norm_shift"), gain = (float)oracle_real(t->one, "linear_gain");
    int rc = 0;
    for (size_t i = 0; i < wl_plan_state_count(p) && !rc; i++) {
        struct wl_state s = wl_plan_state(p, i);
        if (s.kind != WL_STATE_PARAM) continue;
        float *values = wl_new_array(a, float, s.count);
        bool bias = oracle_is_norm_bias(g, s.name);
        rc = wl_plan_state_read(p, i, values, e);
        for (size_t k = 0; k < s.count; k++) values[k] = bias ? shift : values[k] * (s.dims.n == 2 ? gain : 1);
        if (!rc) rc = wl_plan_state_write(p, i, values, e);
    }
    return rc;
}

static int make(const struct task *t, struct wl_comm *c, int parts, struct wl_plan **p, struct wl_image_model_io *net,
                struct wl_arena *a, struct wl_err *e)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_image_model_opts opts = { "tiny", t->batch / (parts * c->size),
                                        wl_json_int(wl_json_get(t->one, "pixels"), 0), t->classes };
    struct wl_plan_opts plan_opts = { .threads = 1,
                                      .seed = (uint64_t)oracle_real(t->all, "seed"),
                                      .precision = t->precision,
                                      .slow_bf16 = true,
                                      .micro_batches = parts,
                                      .optim = { .momentum = oracle_real(t->all, "momentum"),
                                                 .weight_decay = oracle_real(t->all, "weight_decay") } };
    int rc = wl_image_model_find(t->model)->build(g, &opts, net, e);
    if (!rc) rc = wl_plan_new(p, g, &plan_opts, c, a, e);
    return rc ? rc : set_weights(t, g, *p, a, e);
}

/* The whole batch in `parts` micro-batches on each rank. */
static int train(const void *task, struct wl_comm *c, void *found, struct wl_arena *a, struct wl_err *e)
{
    const struct task *t = task;
    const int parts = t->parts;
    struct curve *r = found;
    struct wl_plan *p;
    struct wl_image_model_io net;
    int rc = make(t, c, parts, &p, &net, a, e);
    for (int64_t u = 0; u < steps && !rc; u++) {
        struct wl_counts counts = { 0 };
        for (int m = 0; m < parts && !rc; m++) {
            oracle_fill(p, &net,
                        (struct oracle_inputs) { .seed = (uint64_t)oracle_real(t->all, "seed"),
                                                 .step = u % t->batches,
                                                 .batch = t->batch,
                                                 .from = (m * c->size + c->rank) * t->batch / (parts * c->size),
                                                 .classes = t->classes });
            rc = wl_plan_train(p, m == 0, m == parts - 1, &counts, e);
        }
        if (!rc) rc = wl_plan_update(p, oracle_real(t->one, "rate"), e);
        if (!rc) rc = c->ops->all_reduce_sum_f64(c, &counts.loss_sum, 1, e);
        r->loss[u] = counts.loss_sum / (double)t->batch;
    }
    return rc;
}

/* The curve that all ranks saw. */
static struct curve run(struct task t, int workers, int parts)
{
    t.parts = parts;
    struct curve *found = run_ranks(workers, train, &t, sizeof *found), first = *found;
    free_found(found, workers, sizeof *found);
    if (first.outcome.rc) fail_msg("%s: %s", t.model, first.outcome.msg);
    return first;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static void append_curve(const struct task *t, const struct curve *ours, struct wl_arena *a)
{
    const char *path = getenv("WATTLAW_CURVES");
    FILE *to = path ? fopen(path, "a") : NULL;
    if (!to) return;
    struct wl_json *row = wl_json_root_object(a);
    wl_json_add_str(row, "model", t->model);
    wl_json_add_str(row, "precision", wl_dtype_name(t->precision));
    struct wl_json *loss = wl_json_add_array(row, "loss");
    for (int64_t i = 0; i < steps; i++) wl_json_add_real(loss, NULL, ours->loss[i]);
    fprintf(to, "%s\n", wl_json_text(row, 0, a));
    fclose(to);
}

/* The largest distance of two stored curves in steps 0 .. last. */
static double largest_distance(size_t last, const struct wl_json *a, const struct wl_json *b)
{
    double largest = 0;
    for (size_t i = 0; i <= last && i < STEPS; i++)
        largest = fmax(largest, fabs(wl_json_real(wl_json_at(a, i)) - wl_json_real(wl_json_at(b, i))));
    return largest;
}

static void check_overlay(int model, enum wl_dtype precision, double times, double floor)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct task t = open_task(model, precision, a);
    struct curve ours = run(t, 1, 1);
    const struct wl_json *truth = wl_json_get(t.one, "f64"), *theirs = wl_json_get(t.one, wl_dtype_name(precision));
    append_curve(&t, &ours, a);
    assert_int_equal(wl_json_size(truth), STEPS);
    for (size_t i = 0; i < (size_t)steps; i++) {
        double want = wl_json_real(wl_json_at(truth, i)), distance = largest_distance(i + AHEAD, truth, theirs);
        if (!(fabs(ours.loss[i] - want) <= times * distance + floor))
            fail_msg("%s %s: step %zu: loss %.9g, PyTorch in double %.9g; its own distance %.2g", t.model,
                     wl_dtype_name(precision), i + 1, ours.loss[i], want, distance);
    }
    wl_arena_free(a);
}

static void test_loss_stays_near_double_f32(void **state)
{
    (void)state;
    for (int i = 0; i < MODELS; i++) check_overlay(i, WL_F32, 10, 1e-4);
}

static void test_loss_stays_near_double_bf16(void **state)
{
    (void)state;
    for (int i = 0; i < MODELS; i++) check_overlay(i, WL_BF16, 3, 0.02);
}

/* Each rank's gradients are summed in the order in which one rank adds its micro-batches up, so the curves agree to the
 * last bits of a sum, not merely to what training makes of rounding. */
static void test_two_ranks_follow_one(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct task t = open_task(0, WL_F32, a);
    struct curve one = run(t, 1, 2), two = run(t, 2, 1);
    for (int64_t s = 0; s < steps; s++)
        if (!(fabs(one.loss[s] - two.loss[s]) <= 1e-9 * one.loss[s]))
            fail_msg("%s: step %d: two ranks %.12g, one rank %.12g", t.model, (int)s + 1, two.loss[s], one.loss[s]);
    wl_arena_free(a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss_stays_near_double_f32),
        cmocka_unit_test(test_loss_stays_near_double_bf16),
        cmocka_unit_test(test_two_ranks_follow_one),
    };
    if (argc > 1 && wl_str_eq(argv[1], "all")) steps = STEPS;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
