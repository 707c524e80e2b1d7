/* The seven networks, tiny, train on simulated GPUs as in nn/ref: three optimizer steps of two micro-batches, so that
 * captured graphs are replayed. Batch norm of few values multiplies rounding, so gradients and losses may lie as far
 * from ref's in f32 as a multiple of what another correct implementation does: cpu in f32, ref in bf16.
 * Of the networks every second one trains in bf16, the others in f32: tests/ops has each operation in both.
 * `test_models all` trains all in both; `test_models NAME` runs the networks whose names begin so, `test_models f16
 * [NAME]` in f16; `test_models fused [NAME]` those that have fused steps, forced, in bf16. */
#include "backend_compare.h"
#include "workloads.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { UPDATES = 3, MICRO_BATCHES = 2, F16_SCALE = 64 /* cuDNN writes weights' gradients in f16: to 300 here */ };

struct trained {
    double loss[UPDATES]; /* mean over the samples */
    struct floats gradients;
};

static void check(int rc, const struct workload *w, const char *backend, const struct wl_err *e)
{
    if (rc) fail_msg("%s on %s: %s", w->name, backend, e->msg);
}

static int update(const struct built *b, struct wl_plan *p, int u, struct trained *t, struct wl_err *e)
{
    struct wl_counts counts = { 0 };
    int rc = 0;
    for (int m = 0; m < MICRO_BATCHES && !rc; m++) {
        b->workload->fill(b, p, (uint64_t)(1 + u + 10 * m));
        rc = wl_plan_train(p, m == 0, m == MICRO_BATCHES - 1, &counts, e);
    }
    t->loss[u] = counts.loss_sum / (double)counts.samples;
    if (!rc && u == 0) t->gradients = all_gradients(p, b->a);
    return rc ? rc : wl_plan_update(p, 0.001, e);
}

static struct trained train_as(const struct workload *w, const char *backend, enum wl_dtype precision,
                               enum wl_fuse fuse, struct wl_arena *a)
{
    struct trained t = { 0 };
    struct built b = { .a = a, .workload = w };
    struct wl_graph *g = wl_graph_new(a);
    const struct wl_plan_opts opts = { .backend = backend,
                                       .seed = 3,
                                       .precision = precision,
                                       .fuse = fuse,
                                       .micro_batches = MICRO_BATCHES,
                                       .optim = { .kind = w->pixels ? "sgd" : "adamw", .momentum = 0.9 } };
    struct wl_plan *p = NULL;
    struct wl_err e = { 0 };
    int rc = w->build(&b, g, &e);
    if (!rc) rc = wl_plan_new(&p, g, &opts, NULL, a, &e);
    if (!rc) wl_plan_set_loss_scale(p, &(struct wl_loss_scale) { .scale = F16_SCALE });
    for (int u = 0; u < UPDATES && !rc; u++) rc = update(&b, p, u, &t, &e);
    check(rc, w, backend, &e);
    assert_int_equal(wl_plan_loss_scale(p).skipped, 0);
    return t;
}

static struct trained train(const struct workload *w, const char *backend, enum wl_dtype precision, struct wl_arena *a)
{
    return train_as(w, backend, precision, WL_FUSE_MEASURED, a);
}

/* How far results may lie from the exact ones: `times` as far as `other` does, and `floor` of the exact ones. */
struct allowance {
    struct trained other;
    double times, floor;
    double loss_times, loss_floor; /* of losses: training multiplies rounding further */
};

/* Relative L2. */
static double distance(struct trained x, struct trained y) { return sqrt(nmse(x.gradients, y.gradients)); }

static void check_near(const char *what, const struct trained *x, const struct trained *exact,
                       const struct allowance *by)
{
    const double found = distance(*x, *exact), other = distance(by->other, *exact);
    if (!(found <= by->times * other + by->floor))
        fail_msg("%s: gradients are %.3g from ref's in f32, the other's %.3g", what, found, other);
    double most = 0;
    for (int u = 0; u < UPDATES; u++) {
        const double want = exact->loss[u];
        most = fmax(most, fabs(by->other.loss[u] - want));
        if (!(fabs(x->loss[u] - want) <= by->loss_times * most + by->loss_floor * fabs(want)))
            fail_msg("%s: update %d: loss %.9g, ref's in f32 %.9g; the other's distance %.3g", what, u + 1, x->loss[u],
                     want, most);
    }
}

static void check_f32(const struct workload *w, const struct trained *exact, struct wl_arena *a)
{
    const struct trained f32 = train(w, "gpu", WL_F32, a);
    const struct allowance by_cpu = { train(w, "cpu", WL_F32, a), 3, 1e-4, 10, 1e-4 };
    check_near(wl_strf(a, "%s f32", w->name), &f32, exact, &by_cpu);
}

static void check_bf16(const struct workload *w, const struct trained *exact, struct wl_arena *a)
{
    const struct trained bf16 = train(w, "gpu", WL_BF16, a);
    const struct allowance by_rounding = { train(w, "ref", WL_BF16, a), 1.5, 1e-4, 3, 2e-2 };
    check_near(wl_strf(a, "%s bf16", w->name), &bf16, exact, &by_rounding);
}

static bool in_both; /* precisions */

static void test_network(void **state)
{
    const struct workload *w = *state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct trained exact = train(w, "ref", WL_F32, a);
    const bool odd = (w - workloads) % 2;
    if (in_both || !odd) check_f32(w, &exact, a);
    if (in_both || odd) check_bf16(w, &exact, a);
    wl_arena_free(a);
}

static void test_f16(void **state)
{
    const struct workload *w = *state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct trained exact = train(w, "ref", WL_F32, a), f16 = train(w, "gpu", WL_F16, a);
    const struct allowance by_rounding = { train(w, "ref", WL_F16, a), 1.5, 1e-4, 3, 2e-2 };
    check_near(wl_strf(a, "%s f16", w->name), &f16, &exact, &by_rounding);
    wl_arena_free(a);
}

static void test_fused(void **state)
{
    const struct workload *w = *state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct trained exact = train(w, "ref", WL_F32, a), fused = train_as(w, "gpu", WL_BF16, WL_FUSE_ALWAYS, a),
                         separate = train_as(w, "gpu", WL_BF16, WL_FUSE_NEVER, a);
    const struct allowance by_rounding = { train(w, "ref", WL_BF16, a), 1.5, 1e-4, 3, 2e-2 };
    check_near(wl_strf(a, "%s, fused", w->name), &fused, &exact, &by_rounding);
    assert_true(distance(fused, separate) > 0);
    wl_arena_free(a);
}

/* Batch norms, or projections with gelu. */
static bool has_fusions(const struct workload *w) { return !w->molecules && strcmp(w->name, "vgg16"); }

static CMUnitTestFunction test_of(const char *kind)
{
    if (!strcmp(kind, "f16")) return test_f16;
    return !strcmp(kind, "fused") ? test_fused : test_network;
}

int main(int argc, char **argv)
{
    const CMUnitTestFunction test = test_of(argc > 1 ? argv[1] : "");
    const char *only = argv[test == test_network ? 1 : 2]; /* argv ends with NULL */
    in_both = argc > 1;
    if (in_both && !strcmp(argv[1], "all")) only = NULL;
    struct CMUnitTest tests[WORKLOADS] = { 0 };
    for (int i = 0; i < WORKLOADS; i++)
        if (test != test_fused || has_fusions(&workloads[i]))
            tests[i] = (struct CMUnitTest) { workloads[i].name, test, NULL, NULL, (void *)&workloads[i] };
    if (argc > 1 && only && !select_cases(tests, WL_COUNT(tests), only)) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
