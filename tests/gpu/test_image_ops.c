/* Back-end gpu, over the fakes: what is computed together of batch norms, sums and concatenations has the bits of each
 * operation by itself, is near nn/ref, and is there at all; also where values are recomputed. And pooling where numbers
 * are equal, and masks of dropout in later micro-batches and updates. */
#include "nn/graph/graph.h"
#include "nn/nn.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backend_compare.h"

enum { SEED = 5, IMAGES = 2, HEIGHT = 5, WIDTH = 3 };

static struct wl_tensor *image(struct wl_graph *g, const char *name, int64_t channels)
{
    struct wl_tensor *x = wl_input(g, name, WL_F32, WL_DIMS(IMAGES, channels, HEIGHT, WIDTH));
    return wl_batch_norm(g, wl_strf(g->arena, "%s.front", name), x, (struct wl_batch_norm_opts) { .relu = true });
}

static struct wl_tensor *norm(struct wl_graph *g, const char *name, struct wl_tensor *x, bool relu)
{
    return wl_batch_norm(g, name, x, (struct wl_batch_norm_opts) { .relu = relu, .eps = 1e-3 });
}

/* Sums with and without a relu, of a norm on either side, and of two norms. */
static struct wl_tensor *sums(struct wl_graph *g)
{
    enum { CHANNELS = 20 };
    struct wl_tensor *x = image(g, "x", CHANNELS), *y = image(g, "y", CHANNELS);
    x = wl_add_relu(g, "add1", norm(g, "bn1", y, false), x);
    x = wl_add(g, "add2", x, norm(g, "bn2", y, false));
    return wl_add_relu(g, "add3", norm(g, "bn3", x, false), norm(g, "bn4", y, false));
}

/* Branches that end in a norm, one in a pooling and one in a concatenation of its own. */
static struct wl_tensor *branches(struct wl_graph *g)
{
    struct wl_tensor *x = image(g, "x", 16), *y = image(g, "y", 24);
    struct wl_tensor *inner =
        wl_concat(g, "inner", (struct wl_tensor *[]) { norm(g, "bn1", x, true), norm(g, "bn2", y, false) }, 2);
    struct wl_tensor *pool = wl_max_pool(g, "pool", x, (struct wl_pool) { .kernel = { 3, 3 }, .pad = { 1, 1 } });
    return norm(g, "after", wl_concat(g, "outer", (struct wl_tensor *[]) { norm(g, "bn3", y, true), inner, pool }, 3),
                true);
}

/* Channels that fill no group of eight, so that every input is copied. */
static struct wl_tensor *odd_branches(struct wl_graph *g)
{
    struct wl_tensor *x = image(g, "x", 5), *y = image(g, "y", 12);
    return wl_concat(g, "outer", (struct wl_tensor *[]) { norm(g, "bn1", x, true), norm(g, "bn2", y, false), y }, 3);
}

typedef struct wl_tensor *build_fn(struct wl_graph *g);

/* How many steps there are of an operation and a pass; NULL: any. */
struct subject {
    build_fn *build;
    const char *operation, *pass;
    int steps;
};
static const struct subject subjects[] = {
    { sums, "batch_norm", "backward, add", 3 },
    { branches, "concat", NULL, 2 }, /* the pooling alone is copied, and its gradient */
    { odd_branches, "concat", NULL, 6 },
};

struct trained {
    struct wl_plan *plan;
    struct floats gradients, statistics;
};

static struct trained train(build_fn *build, struct wl_plan_opts o, struct wl_arena *a)
{
    struct trained t = { 0 };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *y = build(g), *target = wl_input(g, "target", WL_F32, *wl_tensor_dims(y));
    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    wl_mean_square(g, "loss", y, target, (struct wl_loss) { .weight = 10 });
    o.seed = SEED;
    o.slow_bf16 = true;
    if (wl_plan_new(&t.plan, g, &o, NULL, a, &e)) fail_msg("%s", e.msg);
    fill_inputs(t.plan, g, SEED, 2);
    fill_state(t.plan, SEED);
    if (wl_plan_train(t.plan, true, true, &c, &e)) fail_msg("%s", e.msg);
    t.gradients = all_gradients(t.plan, a);
    if (wl_plan_update(t.plan, 1e-3, &e)) fail_msg("%s", e.msg);
    t.statistics = all_states(t.plan, WL_STATE_STATISTIC, a);
    return t;
}

static void same_bits(struct floats x, struct floats y)
{
    assert_int_equal(x.n, y.n);
    assert_memory_equal(x.v, y.v, x.n * sizeof(float));
}

static int steps_of(const struct wl_plan *p, const struct subject *t, struct wl_arena *a)
{
    int n = 0;
    for (size_t i = 0; i < wl_plan_step_count(p); i++) {
        const struct wl_plan_step s = wl_plan_step(p, i, a);
        n += wl_str_eq(s.operation, t->operation) && (!t->pass || wl_str_eq(s.pass, t->pass));
    }
    return n;
}

static void compare(const struct subject *t, enum wl_dtype precision)
{
    const double gradients = precision == WL_BF16 ? 1e-4 : 1e-9, statistics = precision == WL_BF16 ? 1e-4 : 1e-11;
    struct wl_plan_opts o = { .backend = "gpu", .precision = precision };
    struct wl_arena *a = wl_arena_new(NULL);
    const struct trained fused = train(t->build, o, a);
    o.keep_values = true;
    const struct trained apart = train(t->build, o, a);
    o.keep_values = false;
    o.recompute = true;
    const struct trained again = train(t->build, o, a);
    const struct trained ref = train(t->build, (struct wl_plan_opts) { .backend = "ref", .precision = precision }, a);
    same_bits(fused.gradients, apart.gradients);
    same_bits(fused.gradients, again.gradients);
    same_bits(fused.statistics, apart.statistics);
    assert_true(nmse(fused.gradients, ref.gradients) <= gradients);
    assert_true(nmse(fused.statistics, ref.statistics) <= statistics);
    assert_int_equal(steps_of(fused.plan, t, a), t->steps);
    wl_arena_free(a);
}

static void test_fused_operations_have_the_bits_of_single_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < WL_COUNT(subjects); i++) {
        compare(&subjects[i], WL_F32);
        compare(&subjects[i], WL_BF16);
    }
}

/* The gradient by an image of few different numbers. */
static struct floats gradient_of_ties(const char *backend, struct wl_arena *a)
{
    const struct wl_plan_opts o = { .backend = backend, .keep_values = true };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(IMAGES, 9, HEIGHT, WIDTH));
    wl_want_gradient(g, x);
    struct wl_tensor *y = wl_max_pool(g, "pool", x, (struct wl_pool) { .kernel = { 3, 3 }, .pad = { 1, 1 } });
    wl_mean_square(g, "loss", y, wl_input(g, "target", WL_F32, *wl_tensor_dims(y)), (struct wl_loss) { .weight = 1 });
    struct wl_plan *p = NULL;
    struct wl_counts c = { 0 };
    assert_int_equal(wl_plan_new(&p, g, &o, NULL, a, NULL), 0);
    fill_inputs(p, g, SEED, 2);
    const size_t n = (size_t)wl_dims_count(wl_tensor_dims(x));
    float *images = wl_plan_input(p, x);
    for (size_t i = 0; i < n; i++) images[i] = (float)wl_random_below(SEED, 0, i, 3);
    assert_int_equal(wl_plan_train(p, true, true, &c, NULL), 0);
    struct floats d = { wl_new_array(a, float, n), n };
    assert_int_equal(wl_plan_value_gradient(p, x, d.v, NULL), 0);
    return d;
}

static void test_of_equal_numbers_the_first_is_the_maximum(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    assert_true(nmse(gradient_of_ties("gpu", a), gradient_of_ties("ref", a)) <= 1e-12);
    wl_arena_free(a);
}

/* The gradient by an image of 1s, which shows the mask, in micro-batch `micro` of update `update`. The samples have
 * `channels` * HEIGHT * WIDTH elements. */
static struct floats mask(const char *backend, int64_t channels, int64_t update, int micro, struct wl_arena *a)
{
    const struct wl_plan_opts o = { .backend = backend, .keep_values = true, .micro_batches = micro + 1, .seed = SEED };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(IMAGES, channels, HEIGHT, WIDTH));
    wl_want_gradient(g, x);
    struct wl_tensor *y = wl_dropout(g, "drop", x, .5);
    wl_mean_square(g, "loss", y, wl_input(g, "target", WL_F32, *wl_tensor_dims(y)), (struct wl_loss) { .weight = 1 });
    struct wl_plan *p = NULL;
    struct wl_counts c = { 0 };
    assert_int_equal(wl_plan_new(&p, g, &o, NULL, a, NULL), 0);
    wl_plan_set_updates(p, update);
    const size_t n = (size_t)wl_dims_count(wl_tensor_dims(x));
    for (size_t i = 0; i < n; i++) ((float *)wl_plan_input(p, x))[i] = 1;
    for (int m = 0; m <= micro; m++) assert_int_equal(wl_plan_train(p, m == 0, m == micro, &c, NULL), 0);
    struct floats d = { wl_new_array(a, float, n), n };
    assert_int_equal(wl_plan_value_gradient(p, x, d.v, NULL), 0);
    return d;
}

static void test_masks_follow_the_sample_and_the_update(void **state)
{
    (void)state;
    const int64_t channels[] = { 24, 3 }; /* samples of a multiple of eight elements, and others */
    for (size_t i = 0; i < WL_COUNT(channels); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        const struct floats first = mask("gpu", channels[i], 0, 0, a);
        for (int later = 0; later < 2; later++) {
            const int64_t update = later ? 7 : 0;
            const int micro = later ? 0 : 3;
            const struct floats got = mask("gpu", channels[i], update, micro, a);
            assert_true(nmse(got, mask("ref", channels[i], update, micro, a)) <= 1e-12);
            assert_true(nmse(got, first) > .1);
        }
        wl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fused_operations_have_the_bits_of_single_ones),
        cmocka_unit_test(test_of_equal_numbers_the_first_is_the_maximum),
        cmocka_unit_test(test_masks_follow_the_sample_and_the_update),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
