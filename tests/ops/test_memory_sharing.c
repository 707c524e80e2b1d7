/* Random networks. Planned twice, once with values that share memory and are overwritten in place, once with a place of
 * its own for everything, every gradient must have the same bits, since both run the same kernels. The loss is that of
 * the reference back-end, and it rises along the gradient as steeply as the gradient is long, so the lowering of
 * branches and sums is right too. A failure prints the line that runs the case alone: test_sharing NUMBER. */
#include "backend_compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 30, MICRO_EVERY = 5, BATCH = 3, OPS = 14, MAX_VALUES = OPS + 1, CLASSES = 5 };

struct draw {
    struct wl_graph *g;
    uint64_t number, i;
    struct wl_tensor *values[MAX_VALUES];
    int n;
};

static int64_t below(struct draw *d, int64_t n) { return (int64_t)wl_random_below(8, d->number, d->i++, (uint64_t)n); }

/* Late values more often than early ones: deep networks with some long ways around. */
static struct wl_tensor *pick(struct draw *d)
{
    int64_t a = below(d, d->n), b = below(d, d->n);
    return d->values[a > b ? a : b];
}

static struct wl_tensor *pick_like(struct draw *d, const struct wl_tensor *x)
{
    for (int tries = 0; tries < 20; tries++) {
        struct wl_tensor *y = pick(d);
        if (wl_dims_equal(wl_tensor_dims(x), wl_tensor_dims(y))) return y;
    }
    return NULL;
}

static struct wl_tensor *convolution(struct draw *d, const char *name, struct wl_tensor *x)
{
    const int64_t channels[] = { 8, 16, 20, 32 };
    int64_t kernel = 1 + 2 * below(d, 2), stride = below(d, 5) ? 1 : 2;
    struct wl_conv c = { .channels = channels[below(d, 4)],
                         .kernel = { kernel, kernel },
                         .stride = { stride, stride },
                         .pad = { kernel / 2, kernel / 2 },
                         .bias = below(d, 3) == 0 };
    return wl_conv2d(d->g, name, x, c);
}

static struct wl_tensor *operation(struct draw *d, const char *name)
{
    const struct wl_pool window = { .kernel = { 3, 3 }, .pad = { 1, 1 } };
    struct wl_tensor *x = pick(d), *y;
    switch (below(d, 10)) {
    case 0: return wl_batch_norm(d->g, name, x, (struct wl_batch_norm_opts) { .relu = true });
    case 1: return wl_batch_norm(d->g, name, x, (struct wl_batch_norm_opts) { 0 });
    case 2: return wl_relu(d->g, name, x);
    case 3: return (y = pick_like(d, x)) ? wl_add(d->g, name, x, y) : convolution(d, name, x);
    case 4: return (y = pick_like(d, x)) ? wl_add_relu(d->g, name, x, y) : convolution(d, name, x);
    case 5: return below(d, 2) ? wl_max_pool(d->g, name, x, window) : wl_avg_pool(d->g, name, x, window);
    case 6: return wl_dropout(d->g, name, x, 0.2);
    case 7: {
        struct wl_tensor *both[] = { x, pick(d) };
        bool fit = wl_tensor_dims(x)->d[2] == wl_tensor_dims(both[1])->d[2] &&
                   wl_tensor_dims(x)->d[3] == wl_tensor_dims(both[1])->d[3];
        return fit ? wl_concat(d->g, name, both, 2) : convolution(d, name, x);
    }
    default: return convolution(d, name, x);
    }
}

static void add(struct draw *d, struct wl_tensor *value)
{
    WL_CHECK(d->n < MAX_VALUES);
    d->values[d->n++] = value;
}

/* Each value that nobody reads ends in a loss. */
static struct wl_graph *network(struct wl_arena *a, uint64_t number)
{
    struct draw d = { .g = wl_graph_new(a), .number = number };
    struct wl_tensor *images = wl_input(d.g, "images", WL_F32, WL_DIMS(BATCH, 3, 9, 8));
    struct wl_tensor *labels = wl_input(d.g, "labels", WL_I32, WL_DIMS(BATCH));
    add(&d, convolution(&d, "stem", images));
    for (int i = 0; i < OPS; i++) add(&d, operation(&d, wl_strf(a, "op%d", i)));
    for (int i = 0, n = d.n; i < n; i++) {
        if (d.values[i]->readers) continue;
        struct wl_tensor *y = wl_linear(d.g, wl_strf(a, "head%d", i), d.values[i], CLASSES);
        wl_cross_entropy(d.g, wl_strf(a, "loss%d", i), y, labels, (struct wl_loss) { 0 });
    }
    return d.g;
}

struct run {
    struct floats gradients;
    double loss;
};

static struct run run(struct wl_arena *a, uint64_t number, const char *backend, enum wl_dtype precision, bool keep)
{
    struct wl_graph *g = network(a, number);
    struct wl_plan *p;
    struct wl_counts c = { 0 }, ignored = { 0 };
    struct wl_err e = { 0 };
    struct wl_plan_opts o = {
        .backend = backend, .precision = precision, .slow_bf16 = true, .keep_values = keep, .micro_batches = 2
    };
    int rc = wl_plan_new(&p, g, &o, NULL, a, &e);
    if (rc) fail_msg("%s", e.msg);
    fill_inputs(p, g, number + 1, CLASSES);
    rc = wl_plan_train(p, true, false, &ignored, &e); /* leaves its values all over the shared memory */
    if (!rc) rc = wl_plan_eval(p, &ignored, &e);
    fill_inputs(p, g, number, CLASSES);
    if (!rc) rc = wl_plan_train(p, false, true, &c, &e);
    if (rc) fail_msg("%s", e.msg);
    return (struct run) { all_gradients(p, a), c.loss_sum };
}

static void same_bits(struct floats shared, struct floats kept, uint64_t number)
{
    for (size_t i = 0; i < kept.n; i++)
        if (memcmp(&shared.v[i], &kept.v[i], sizeof(float)))
            fail_msg("gradient element %zu is %g with shared memory, %g without; repeat: test_sharing %llu", i,
                     (double)shared.v[i], (double)kept.v[i], (unsigned long long)number);
}

static void check_slope(struct wl_arena *a, uint64_t number)
{
    struct wl_graph *g = network(a, number);
    struct wl_plan *p;
    struct wl_err e = { 0 };
    int rc = wl_plan_new(&p, g, &(struct wl_plan_opts) { .backend = "cpu" }, NULL, a, &e);
    if (rc) fail_msg("%s", e.msg);
    fill_inputs(p, g, number, CLASSES);
    const struct slope s = slope_along_gradient(p, a);
    if (!(fabs(s.rise - s.length) <= 0.02 * s.length))
        fail_msg("the loss rises by %.6g a length, the gradient is %.6g long; repeat: test_sharing %llu", s.rise,
                 s.length, (unsigned long long)number);
}

static void run_case(uint64_t number)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct run shared = run(a, number, "cpu", WL_F32, false);
    same_bits(shared.gradients, run(a, number, "cpu", WL_F32, true).gradients, number);
    check_slope(a, number);
    if (number % 3 == 0 && !wl_backend_precision("cpu", WL_BF16, true, NULL))
        same_bits(run(a, number, "cpu", WL_BF16, false).gradients, run(a, number, "cpu", WL_BF16, true).gradients,
                  number);
    if (number % MICRO_EVERY == 0) { /* the reference is slow */
        double want = run(a, number, "ref", WL_F32, false).loss;
        if (!(fabs(shared.loss - want) <= 1e-4 * want))
            fail_msg("loss %.9g, reference %.9g; repeat: test_sharing %llu", shared.loss, want,
                     (unsigned long long)number);
    }
    wl_arena_free(a);
}

static uint64_t alone;

static void test_single_operations_give_the_same_bits(void **state)
{
    (void)state;
    run_case(alone);
}

static void test_random_networks_give_the_same_bits(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES; i++) run_case(i);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest all[] = { cmocka_unit_test(test_random_networks_give_the_same_bits) };
    const struct CMUnitTest one[] = { cmocka_unit_test(test_single_operations_give_the_same_bits) };
    for (size_t i = 0; wl_backend_row(i); i++)
        if (!strcmp(wl_backend_row(i)->name, "cpu") && wl_backend_row(i)->unavailable) {
            printf("SKIP: %s\n", wl_backend_row(i)->unavailable);
            return 77;
        }
    if (argc < 2) return cmocka_run_group_tests(all, NULL, NULL);
    alone = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests(one, NULL, NULL);
}
