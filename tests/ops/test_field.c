/* Identities of Fourier transforms on nn/cpu, and what operations on fields refuse. */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- identities ---- */

/* All modes of real fields: |s|^2 with mirror images counted twice is |x|^2, and the inverse gives x back. */
static void test_inverse_restores_the_field(void **state)
{
    (void)state;
    const int64_t sizes[][2] = { { 90, 180 }, { 45, 75 }, { 1, 15 }, { 27, 1 }, { 25, 9 }, { 16, 30 } };
    for (size_t i = 0; i < WL_COUNT(sizes); i++) {
        const int64_t h = sizes[i][0], w = sizes[i][1], f = 5;
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_graph *g = wl_graph_new(a);
        struct wl_fourier fourier = { .height = h, .width = w, .modes = w / 2 + 1, .blocks = 1 };
        struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(h * w, f)), *s = wl_fft2(g, "s", x, fourier);
        struct wl_tensor *back = wl_inverse_fft2(g, "back", s, fourier);
        struct wl_plan *p;
        struct wl_err e = { 0 };
        if (wl_plan_new(&p, g, &(struct wl_plan_opts) { .backend = "cpu", .eval_only = true, .keep_values = true },
                        NULL, a, &e))
            fail_msg("%s", e.msg);
        fill_inputs(p, g, i, 0);
        assert_int_equal(wl_plan_eval(p, &(struct wl_counts) { 0 }, NULL), 0);
        struct floats in = { wl_plan_input(p, x), (size_t)(h * w * f) }, modes = read_tensor(wl_plan_value, p, s, a);
        compare("inverse of the transform", read_tensor(wl_plan_value, p, back, a), in, 1e-12, "round trip");
        double energy = 0, spectrum = 0;
        for (size_t k = 0; k < in.n; k++) energy += (double)in.v[k] * (double)in.v[k];
        for (size_t k = 0; k < modes.n; k++) {
            const int64_t column = (int64_t)k / (2 * f) % fourier.modes;
            spectrum += (double)modes.v[k] * (double)modes.v[k] * (column && 2 * column != w ? 2 : 1);
        }
        assert_float_equal(spectrum / energy, 1, 1e-5);
        wl_arena_free(a);
    }
}

/* <F x, y> = <x, F* y> for any numbers, with F* the backward pass of F: the loss's gradient by x is F* of that by y. */
static void test_backward_is_the_adjoint(void **state)
{
    (void)state;
    static const char *const transforms[] = { "fft2", "inverse_fft2" };
    for (uint64_t i = 0; i < field_ops.cases; i++)
        for (size_t k = 0; k < WL_COUNT(transforms); k++) {
            struct wl_arena *a = wl_arena_new(NULL);
            const struct wl_plan_opts opts = { .backend = "cpu", .threads = 2 };
            struct twin t = case_twin(&field_ops, find_case(&field_ops, transforms[k]), i, opts, a);
            train(t.plan);
            struct floats x = { wl_plan_input(t.plan, t.x), (size_t)wl_dims_count(wl_tensor_dims(t.x)) };
            struct floats fx = read_tensor(wl_plan_value, t.plan, t.y, a);
            struct floats y = read_tensor(wl_plan_value_gradient, t.plan, t.y, a);
            struct floats back = read_tensor(wl_plan_value_gradient, t.plan, t.x, a);
            double left = 0, right = 0, scale = 0;
            for (size_t j = 0; j < fx.n; j++) {
                left += (double)fx.v[j] * (double)y.v[j];
                scale += fabs((double)fx.v[j] * (double)y.v[j]);
            }
            for (size_t j = 0; j < x.n; j++) right += (double)x.v[j] * (double)back.v[j];
            if (!(fabs(left - right) <= 1e-6 * scale))
                fail_msg("<F x, y> = %.9g, <x, F* y> = %.9g; %s %llu", left, right, transforms[k],
                         (unsigned long long)i);
            wl_arena_free(a);
        }
}

/* ---- what does not fit ---- */

static void expect_error(struct wl_graph *g, const char *text)
{
    struct wl_err e = { 0 };
    assert_int_equal(wl_graph_check(g, &e), WL_EINVAL);
    if (!strstr(e.msg, text)) fail_msg("'%s' does not say '%s'", e.msg, text);
}

static void test_bad_shapes_are_refused(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_graph *g = wl_graph_new(a);
    wl_patches(g, "p", wl_input(g, "x", WL_F32, WL_DIMS(1, 2, 9, 8)), 4);
    expect_error(g, "p: patches of 4 x 4 points does not divide images of 9 x 8");
    g = wl_graph_new(a);
    wl_fft2(g, "f", wl_input(g, "x", WL_F32, WL_DIMS(14 * 8, 4)),
            (struct wl_fourier) { .height = 14, .width = 8, .modes = 5, .blocks = 1 });
    expect_error(g, "14 x 8 points; sizes are products of 2, 3 and 5");
    g = wl_graph_new(a);
    wl_fft2(g, "f", wl_input(g, "x", WL_F32, WL_DIMS(8 * 8, 4)),
            (struct wl_fourier) { .height = 8, .width = 8, .modes = 6, .blocks = 1 });
    expect_error(g, "keeps 6 columns, expected 1 to 5");
    g = wl_graph_new(a);
    wl_complex_linear(g, "c", wl_input(g, "x", WL_F32, WL_DIMS(8, 12)), (struct wl_complex) { 6, 4, true, 0 });
    expect_error(g, "c: complex_linear in 4 blocks to 6 features of x [8,12]");
    g = wl_graph_new(a);
    wl_position(g, "p", wl_input(g, "x", WL_F32, WL_DIMS(8, 12)), 3);
    expect_error(g, "position of 3 points in x [8,12]");
    g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(8, 12));
    wl_keep_f32(g, x);
    expect_error(g, "x: only rows of an add or a position can be kept in f32");
    g = wl_graph_new(a);
    x = wl_input(g, "x", WL_F32, WL_DIMS(8, 12));
    x = wl_add(g, "sum", x, x);
    wl_keep_f32(g, x);
    wl_project(g, "next", x, (struct wl_project) { .features = 3 });
    expect_error(g, "next: project does not read sum, which is kept in f32");
    wl_arena_free(a);
}

/* A target of zeros has no relative distance; one that begins with NAN is padding. */
static void test_relative_l2_refuses_zeros_and_skips_padding(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(3, 4)), *t = wl_input(g, "t", WL_F32, WL_DIMS(3, 4));
    wl_want_gradient(g, x);
    wl_relative_l2(g, "loss", x, t, (struct wl_loss) { 0 });
    struct wl_plan *p;
    struct wl_err e = { 0 };
    if (wl_plan_new(&p, g, &(struct wl_plan_opts) { .backend = "cpu", .keep_values = true }, NULL, a, &e))
        fail_msg("%s", e.msg);
    memcpy(wl_plan_input(p, x), (const float[]) { 1, 0, 0, 0, 0, 2, 0, 0, 9, 9, 9, 9 }, 12 * sizeof(float));
    float *to = wl_plan_input(p, t);
    memcpy(to, (const float[]) { 0, 0, 0, 2, 0, 2, 0, 0, NAN, 9, 9, 9 }, 12 * sizeof(float));
    struct wl_counts c = { 0 };
    if (wl_plan_train(p, true, true, &c, &e)) fail_msg("%s", e.msg);
    assert_int_equal(c.samples, 2);
    assert_float_equal(c.loss_sum, sqrt(5) / 2, 1e-12);
    struct floats dx = read_tensor(wl_plan_value_gradient, p, x, a);
    const double unit = 1 / (sqrt(5) * 2 * 2); /* |x - t| |t| samples */
    const double expected[] = { unit, 0, 0, -2 * unit, 0, 0, 0, 0, 0, 0, 0, 0 };
    for (size_t i = 0; i < 12; i++) assert_float_equal(dx.v[i], expected[i], 1e-7);
    memset(to, 0, 4 * sizeof(float));
    assert_int_equal(wl_plan_train(p, true, true, &c, &e), WL_EINVAL);
    assert_string_equal(e.msg, "loss (forward): a target is 0 everywhere");
    wl_arena_free(a);
}

int main(void)
{
    struct wl_err e = { 0 };
    if (wl_backend_precision("cpu", WL_F32, false, &e)) {
        printf("SKIP: %s\n", e.msg);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inverse_restores_the_field),
        cmocka_unit_test(test_backward_is_the_adjoint),
        cmocka_unit_test(test_bad_shapes_are_refused),
        cmocka_unit_test(test_relative_l2_refuses_zeros_and_skips_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
