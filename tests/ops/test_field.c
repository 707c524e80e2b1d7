/* Operations on fields: nn/cpu against nn/ref, the identities of Fourier transforms, and equal bits. A failure prints
 * the line that runs its case alone: test_field OPERATION NUMBER [bf16]. */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CASES = 24 };

static int64_t size(struct draw *d)
{
    const int64_t sizes[] = { 1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 25 };
    return sizes[below(d, WL_COUNT(sizes))];
}

/* Block sizes that fill no vector, fill some, and fill them with a rest. */
static int64_t channels(struct draw *d)
{
    const int64_t sizes[] = { 1, 3, 15, 16, 17, 32, 33, 40 };
    return sizes[below(d, WL_COUNT(sizes))];
}

static struct wl_tensor *input(struct wl_graph *g, struct wl_dims dims)
{
    struct wl_tensor *x = wl_input(g, "x", WL_F32, dims);
    wl_want_gradient(g, x);
    return x;
}

static struct wl_tensor *build_patches(struct wl_graph *g, struct draw *d)
{
    int64_t side = 1 + below(d, 4);
    return wl_patches(g, "op",
                      input(g,
                            WL_DIMS(1 + below(d, 3), channels(d), side * (1 + below(d, 4)), side * (1 + below(d, 4)))),
                      side);
}

static struct wl_tensor *build_from_patches(struct wl_graph *g, struct draw *d)
{
    int64_t side = 1 + below(d, 4), n = 1 + below(d, 3), down = 1 + below(d, 4), across = 1 + below(d, 4),
            c = channels(d);
    struct wl_tensor *x = input(g, WL_DIMS(n * down * across, side * side * c));
    return wl_from_patches(g, "op", x,
                           (struct wl_patch) {
                               .side = side, .channels = c, .height = side * down, .width = side * across });
}

static struct wl_tensor *build_position(struct wl_graph *g, struct draw *d)
{
    int64_t points = 1 + below(d, 30);
    return wl_position(g, "op", input(g, WL_DIMS((1 + below(d, 3)) * points, channels(d))), points);
}

/* Rows that stay f32 between two sums, and come out in the plan's precision. */
static struct wl_tensor *build_stream(struct wl_graph *g, struct draw *d)
{
    int64_t points = 1 + below(d, 200);
    struct wl_tensor *x = wl_position(g, "from", input(g, WL_DIMS((1 + below(d, 3)) * points, channels(d))), points);
    wl_keep_f32(g, x);
    struct wl_tensor *y = wl_layer_norm(g, "norm", x, NULL, (struct wl_layer_norm) { .eps = 1e-3 });
    x = below(d, 2) ? wl_add(g, "sum", x, y) : wl_add(g, "sum", y, x);
    wl_keep_f32(g, x);
    return wl_add(g, "op", wl_layer_norm(g, "norm2", x, NULL, (struct wl_layer_norm) { .eps = 1e-3 }), x);
}

static struct wl_fourier fourier(struct draw *d)
{
    struct wl_fourier f = { .height = size(d), .width = size(d), .blocks = 1 + below(d, 3) };
    f.modes = 1 + below(d, f.width / 2 + 1);
    return f;
}

static struct wl_tensor *build_fft2(struct wl_graph *g, struct draw *d)
{
    struct wl_fourier f = fourier(d);
    return wl_fft2(g, "op", input(g, WL_DIMS((1 + below(d, 2)) * f.height * f.width, f.blocks * channels(d))), f);
}

static struct wl_tensor *build_inverse(struct wl_graph *g, struct draw *d)
{
    struct wl_fourier f = fourier(d);
    return wl_inverse_fft2(g, "op",
                           input(g, WL_DIMS((1 + below(d, 2)) * f.height * f.modes, 2 * f.blocks * channels(d))), f);
}

static struct wl_tensor *build_complex(struct wl_graph *g, struct draw *d)
{
    int64_t blocks = 1 + below(d, 3), rows = below(d, 3) ? 1 + below(d, 20) : 1000 + below(d, 200);
    struct wl_complex c = { .features = blocks * channels(d), .blocks = blocks, .relu = below(d, 2) };
    if (!c.relu) c.shrink = 0.5;
    return wl_complex_linear(g, "op", input(g, WL_DIMS(rows, 2 * blocks * channels(d))), c);
}

/* Sums of some hundred terms in f32 are near 1e-7 off. What passes on numbers is exact; in bf16 inputs and results are
 * rounded alike, but those that lie between two numbers may fall to either side. */
static const struct op {
    const char *name;
    struct wl_tensor *(*build)(struct wl_graph *g, struct draw *d);
    double tolerance, tolerance_bf16; /* NMSE */
} ops[] = {
    { "patches", build_patches, 0, 0 },
    { "from_patches", build_from_patches, 0, 0 },
    { "position", build_position, 1e-13, 1.5e-5 },
    { "fft2", build_fft2, 1e-12, 1e-12 },
    { "inverse_fft2", build_inverse, 1e-12, 1.5e-5 },
    { "complex_linear", build_complex, 1e-12, 1e-12 },
    { "stream", build_stream, 1e-11, 2e-5 },
};

struct twin {
    struct wl_graph *graph;
    struct wl_tensor *x, *y;
    struct wl_plan *plan;
};

static struct twin build(const struct op *op, uint64_t number, const char *backend, int threads,
                         enum wl_dtype precision, struct wl_arena *a)
{
    struct draw d = { 3, number ^ wl_hash_fnv1a(op->name), 0 };
    struct twin t = { .graph = wl_graph_new(a) };
    t.y = op->build(t.graph, &d);
    t.x = t.graph->tensors[0];
    struct wl_tensor *target = wl_input(t.graph, "target", WL_F32, *wl_tensor_dims(t.y));
    wl_mean_square(t.graph, "loss", t.y, target, (struct wl_loss) { .weight = 100 });
    struct wl_plan_opts o = {
        .backend = backend, .keep_values = true, .threads = threads, .precision = precision, .slow_bf16 = true
    };
    struct wl_err e = { 0 };
    if (wl_plan_new(&t.plan, t.graph, &o, NULL, a, &e)) fail_msg("%s", e.msg);
    fill_inputs(t.plan, t.graph, number, 0);
    fill_state(t.plan, number);
    return t;
}

static void run_case(const void *of, uint64_t number, enum wl_dtype precision)
{
    const struct op *op = of;
    struct wl_arena *a = wl_arena_new(NULL);
    struct twin cpu = build(op, number, "cpu", 1, precision, a), two = build(op, number, "cpu", 2, precision, a);
    struct twin ref = build(op, number, "ref", 1, precision, a);
    const char *line = repeat_line(a, "test_field", op->name, number, precision, cpu.x, cpu.y);
    train(cpu.plan);
    train(two.plan);
    train(ref.plan);
    const double own = precision == WL_BF16 ? op->tolerance_bf16 : op->tolerance;
    const double near = precision == WL_BF16 ? 5e-5 : 1e-9; /* output and target may be close */
    struct floats y = read_tensor(wl_plan_value, cpu.plan, cpu.y, a);
    struct floats dx = read_tensor(wl_plan_value_gradient, cpu.plan, cpu.x, a), dw = all_gradients(cpu.plan, a);
    compare("output", y, read_tensor(wl_plan_value, ref.plan, ref.y, a), own, line);
    compare("gradient of x", dx, read_tensor(wl_plan_value_gradient, ref.plan, ref.x, a), near, line);
    compare("gradients of parameters", dw, all_gradients(ref.plan, a), near, line);
    same_bits("two threads", y, read_tensor(wl_plan_value, two.plan, two.y, a), line);
    same_bits("two threads", dx, read_tensor(wl_plan_value_gradient, two.plan, two.x, a), line);
    same_bits("two threads", dw, all_gradients(two.plan, a), line);
    train(cpu.plan);
    same_bits("a second run", dw, all_gradients(cpu.plan, a), line);
    wl_arena_free(a);
}

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
        struct wl_fourier how = { .height = h, .width = w, .modes = w / 2 + 1, .blocks = 1 };
        struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(h * w, f)), *s = wl_fft2(g, "s", x, how);
        struct wl_tensor *back = wl_inverse_fft2(g, "back", s, how);
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
            const int64_t column = (int64_t)k / (2 * f) % how.modes;
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
    for (uint64_t i = 0; i < CASES; i++)
        for (size_t k = 3; k < 5; k++) {
            struct wl_arena *a = wl_arena_new(NULL);
            struct twin t = build(&ops[k], i, "cpu", 2, WL_F32, a);
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
                fail_msg("<F x, y> = %.9g, <x, F* y> = %.9g; repeat: test_field %s %llu", left, right, ops[k].name,
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

int main(int argc, char **argv)
{
    struct wl_err e = { 0 };
    if (wl_backend_precision("cpu", WL_F32, false, &e)) {
        printf("SKIP: %s\n", e.msg);
        return 77;
    }
    const struct CMUnitTest others[] = {
        cmocka_unit_test(test_inverse_restores_the_field),
        cmocka_unit_test(test_backward_is_the_adjoint),
        cmocka_unit_test(test_bad_shapes_are_refused),
        cmocka_unit_test(test_relative_l2_refuses_zeros_and_skips_padding),
    };
    const struct cases cases = { ops, WL_COUNT(ops), sizeof *ops, CASES, run_case, others, WL_COUNT(others) };
    return cases_main(&cases, argc, argv);
}
