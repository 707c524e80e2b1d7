/* Winograd's algorithm along lines: every pass is the reference's to rounding, in each mix with direct convolution, on
 * maps whose lines are not a whole number of tiles. */
#include "backend_compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 11, CLASSES = 5 };

static const struct shape {
    int64_t n, h, w, in, out, kernel[2];
} shapes[] = {
    { 2, 17, 17, 32, 48, { 1, 7 } }, { 2, 17, 17, 48, 32, { 7, 1 } }, { 3, 8, 8, 16, 32, { 1, 3 } },
    { 1, 8, 9, 32, 16, { 3, 1 } },   { 2, 5, 4, 16, 16, { 7, 1 } },   { 2, 3, 1, 16, 16, { 1, 3 } },
    { 1, 40, 3, 16, 16, { 7, 1 } },  { 1, 3, 5, 16, 32, { 1, 7 } },
};

/* The convolution after another one, so that values are in blocks. */
static struct wl_graph *network(struct wl_arena *a, const struct shape *s)
{
    struct wl_conv conv = { .channels = s->out, .kernel = { s->kernel[0], s->kernel[1] } };
    for (int i = 0; i < 2; i++) conv.pad[i] = conv.kernel[i] / 2;
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "images", WL_F32, WL_DIMS(s->n, 3, s->h, s->w));
    struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(s->n));
    x = wl_conv2d(g, "front", x, (struct wl_conv) { .channels = s->in, .kernel = { 1, 1 } });
    x = wl_conv2d(g, "line", x, conv);
    wl_cross_entropy(g, "loss", wl_linear(g, "head", x, CLASSES), labels, (struct wl_loss) { 0 });
    return g;
}

static struct wl_plan *trained(struct wl_arena *a, const struct shape *s, const struct wl_plan_opts *opts)
{
    struct wl_plan *p = NULL;
    struct wl_graph *g = network(a, s);
    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    struct wl_plan_opts o = *opts;
    o.seed = SEED;
    if (wl_plan_new(&p, g, &o, NULL, a, &e)) fail_msg("%s", e.msg);
    fill_inputs(p, g, SEED, CLASSES);
    if (wl_plan_train(p, true, true, &c, &e)) fail_msg("%s", e.msg);
    return p;
}

static int steps_by(const struct wl_plan *p, const char *implementation, struct wl_arena *a)
{
    int n = 0;
    for (size_t i = 0; i < wl_plan_step_count(p); i++)
        n += wl_str_eq(wl_plan_step(p, i, a).implementation, implementation);
    return n;
}

static bool has_winograd_1d(struct wl_arena *a)
{
    const struct wl_plan_opts o = { .backend = "cpu", .conv = WL_CONV_WINOGRAD };
    return !wl_backend_precision("cpu", WL_F32, false, NULL) && steps_by(trained(a, &shapes[0], &o), "winograd", a);
}

static void need_winograd_1d(struct wl_arena *a)
{
    if (has_winograd_1d(a)) return;
    printf("SKIP: oneDNN has no blocks of 16 channels here\n");
    skip();
}

static void test_each_pass_equals_ref(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    need_winograd_1d(a);
    for (size_t i = 0; i < WL_COUNT(shapes); i++) {
        struct wl_plan *line =
            trained(a, &shapes[i], &(struct wl_plan_opts) { .backend = "cpu", .conv = WL_CONV_WINOGRAD });
        struct wl_plan *ref = trained(a, &shapes[i], &(struct wl_plan_opts) { .backend = "ref" });
        if (steps_by(line, "winograd", a) != 9) fail_msg("shape %zu: %d steps", i, steps_by(line, "winograd", a));
        const struct floats got = all_gradients(line, a);
        const double d = nmse(got, all_gradients(ref, a));
        if (!(d < 1e-10)) fail_msg("shape %zu: NMSE %.3g", i, d);
        struct wl_counts c = { 0 };
        assert_int_equal(wl_plan_train(line, true, true, &c, NULL), 0);
        assert_memory_equal(got.v, all_gradients(line, a).v, got.n * sizeof(float));
    }
    wl_arena_free(a);
}

/* Images whose tiles would not stay in the cache are taken three at a time, but for the pass by weights. */
static void test_images_in_parts_equal_ref(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    need_winograd_1d(a);
    const struct shape large = { 6, 17, 17, 256, 256, { 1, 7 } };
    struct wl_plan *line = trained(a, &large, &(struct wl_plan_opts) { .backend = "cpu", .conv = WL_CONV_WINOGRAD });
    struct wl_plan *direct = trained(a, &large, &(struct wl_plan_opts) { .backend = "cpu" });
    assert_int_equal(steps_by(line, "winograd", a), 5 + 3 + 5);
    assert_true(nmse(all_gradients(line, a), all_gradients(direct, a)) < 1e-10);
    wl_arena_free(a);
}

/* Each pass chooses for itself. */
static void test_mixes_with_direct_convolution_equal_ref(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    need_winograd_1d(a);
    for (size_t i = 0; i < 4; i++) {
        struct wl_choices *c = wl_choices_new(a);
        const struct wl_plan_opts o = { .backend = "cpu", .conv = WL_CONV_AUTO, .choices = c };
        const struct floats measured = all_gradients(trained(a, &shapes[i], &o), a);
        assert_int_equal(c->added, 3);
        assert_memory_equal(measured.v, all_gradients(trained(a, &shapes[i], &o), a).v, measured.n * sizeof(float));
        const struct wl_plan_opts plain = { .backend = "cpu" };
        const struct floats direct = all_gradients(trained(a, &shapes[i], &plain), a);
        for (unsigned mix = 0; mix < 8; mix++) {
            for (unsigned k = 0; k < 3; k++) c->v[k].answer = mix >> k & 1 ? "winograd" : "direct";
            const struct floats got = all_gradients(trained(a, &shapes[i], &o), a);
            if (!(nmse(got, direct) < 1e-10)) fail_msg("shape %zu, mix %u: NMSE %.3g", i, mix, nmse(got, direct));
            assert_int_equal(mix == 0, !memcmp(got.v, direct.v, got.n * sizeof(float)));
        }
        assert_int_equal(c->added, 3);
    }
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_pass_equals_ref),
                                        cmocka_unit_test(test_images_in_parts_equal_ref),
                                        cmocka_unit_test(test_mixes_with_direct_convolution_equal_ref) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
