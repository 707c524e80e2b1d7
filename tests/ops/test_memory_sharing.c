/* Random networks. Planned twice, once with values that share memory and are overwritten in place, once with a place of
 * its own for everything, every gradient must have the same bits, since both run the same kernels. The loss is that of
 * the reference back-end, and it rises along the gradient as steeply as the gradient is long, so the lowering of
 * branches and sums is right too. A failure prints the line that runs the case alone: test_sharing NUMBER.
 *
 * One network is not random: it has what passes do on the way where values need not be whole, the relu before a
 * convolution's gradient by data and the sum of a residual join's two gradients. */
#include "backend_compare.h"

#include "nn/plan/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 30, ON_THE_WAY = CASES, MICRO_EVERY = 5, BATCH = 3, OPS = 14, MAX_VALUES = OPS + 1, CLASSES = 5 };

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

static void end_in_loss(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_tensor *labels,
                        struct wl_arena *a)
{
    struct wl_tensor *y = wl_linear(g, wl_strf(a, "head of %s", name), x, CLASSES);
    wl_cross_entropy(g, wl_strf(a, "loss of %s", name), y, labels, (struct wl_loss) { 0 });
}

/* Relus, one of them before a pool; joins that several nodes read. The last part of one's gradient is that of a relu's
 * result too, which takes its place. */
static struct wl_graph *network_on_the_way(struct wl_arena *a)
{
    struct wl_graph *g = wl_graph_new(a);
    const struct wl_conv conv = { .channels = 32, .kernel = { 3, 3 }, .pad = { 1, 1 }, .bias = true };
    const struct wl_pool pool = { .kernel = { 3, 3 }, .stride = { 2, 2 }, .pad = { 1, 1 } };
    struct wl_tensor *images = wl_input(g, "images", WL_F32, WL_DIMS(BATCH, 3, 9, 8));
    struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(BATCH)), *x = images;
    for (int i = 0; i < 3; i++) x = wl_relu(g, wl_strf(a, "relu%d", i), wl_conv2d(g, wl_strf(a, "conv%d", i), x, conv));
    x = wl_conv2d(g, "conv3", wl_max_pool(g, "pool", x, pool), conv);
    for (int i = 0; i < 4; i++) {
        struct wl_tensor *y = wl_conv2d(g, wl_strf(a, "side%d", i), x, conv);
        y = wl_batch_norm(g, wl_strf(a, "norm%d", i), y, (struct wl_batch_norm_opts) { 0 });
        x = wl_add_relu(g, wl_strf(a, "join%d", i), y, x);
        if (i % 2) end_in_loss(g, wl_strf(a, "%d", i), x, labels, a);
    }
    struct wl_tensor *last = wl_relu(g, "last relu", wl_conv2d(g, "last conv", x, conv));
    end_in_loss(g, "sum", wl_add(g, "sum", x, last), labels, a);
    end_in_loss(g, "last", x, labels, a);
    return g;
}

/* Each value that nobody reads ends in a loss. */
static struct wl_graph *network(struct wl_arena *a, uint64_t number)
{
    if (number == ON_THE_WAY) return network_on_the_way(a);
    struct draw d = { .g = wl_graph_new(a), .number = number };
    struct wl_tensor *images = wl_input(d.g, "images", WL_F32, WL_DIMS(BATCH, 3, 9, 8));
    struct wl_tensor *labels = wl_input(d.g, "labels", WL_I32, WL_DIMS(BATCH));
    add(&d, convolution(&d, "stem", images));
    for (int i = 0; i < OPS; i++) add(&d, operation(&d, wl_strf(a, "op%d", i)));
    for (int i = 0, n = d.n; i < n; i++) {
        if (!d.values[i]->readers) end_in_loss(d.g, wl_strf(a, "%d", i), d.values[i], labels, a);
    }
    return d.g;
}

struct run {
    struct floats gradients;
    double loss;
    int sums;     /* of gradients: steps */
    size_t relus; /* bytes that the backward passes of relus write */
};

static void look_at_steps(struct run *r, const struct wl_program *p)
{
    for (size_t i = 0; i < p->n_steps; i++) {
        const struct wl_step *s = p->steps[i];
        r->sums += wl_str_eq(s->pass, "sum of gradients");
        if (s->node->op != WL_OP_RELU || !wl_str_eq(s->pass, "backward")) continue;
        for (int u = 0; u < s->n_uses; u++) r->relus += s->uses[u].write ? s->uses[u].buf->bytes : 0;
    }
}

static struct run run(struct wl_arena *a, uint64_t number, const char *backend, enum wl_dtype precision, bool keep)
{
    struct wl_graph *g = network(a, number);
    struct wl_plan *p;
    struct wl_counts c = { 0 }, ignored = { 0 };
    struct wl_err e = { 0 };
    struct wl_plan_opts o = {
        .backend = backend, .precision = precision, .slow_bf16 = true, .keep_values = keep, .micro_batches = 2
    };
    if (number == ON_THE_WAY) o.conv = WL_CONV_WINOGRAD;
    int rc = wl_plan_new(&p, g, &o, NULL, a, &e);
    if (rc) fail_msg("%s", e.msg);
    fill_inputs(p, g, number + 1, CLASSES);
    rc = wl_plan_train(p, true, false, &ignored, &e); /* leaves its values all over the shared memory */
    if (!rc) rc = wl_plan_eval(p, &ignored, &e);
    fill_inputs(p, g, number, CLASSES);
    if (!rc) rc = wl_plan_train(p, false, true, &c, &e);
    if (rc) fail_msg("%s", e.msg);
    struct run r = { .gradients = all_gradients(p, a), .loss = c.loss_sum };
    look_at_steps(&r, &p->program);
    return r;
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

/* Four joins add the last part of their gradients themselves; the gradient of a relu is masked before it goes through
 * the pool, from 5 x 4 maxima to 9 x 8 numbers. */
static void test_passes_on_the_way_give_the_same_bits(void **state)
{
    (void)state;
    run_case(ON_THE_WAY);
    const bool bf16 = !wl_backend_precision("cpu", WL_BF16, true, NULL);
    for (int i = 0; i < (bf16 ? 2 : 1); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        const enum wl_dtype precision = i ? WL_BF16 : WL_F32;
        const struct run shared = run(a, ON_THE_WAY, "cpu", precision, false);
        const struct run kept = run(a, ON_THE_WAY, "cpu", precision, true);
        same_bits(shared.gradients, kept.gradients, ON_THE_WAY);
        assert_int_equal(kept.sums - shared.sums, 4);
        assert_int_equal(kept.relus - shared.relus, (9 * 8 - 5 * 4) * 32 * BATCH * wl_dtype_bytes(precision));
        wl_arena_free(a);
    }
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
    const struct CMUnitTest all[] = { cmocka_unit_test(test_random_networks_give_the_same_bits),
                                      cmocka_unit_test(test_passes_on_the_way_give_the_same_bits) };
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
