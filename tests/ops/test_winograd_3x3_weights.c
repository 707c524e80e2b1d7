/* Gradients of 3x3 weights by Winograd's algorithm in 16-bit integers against sums in double: as near to them as 1.6
 * times direct convolution in bf16, for any shape; whatever the values are; the same bits for any number of threads. */
#include "nn/cpu/winograd_3x3_weights.h"
#include "nn/nn.h"
#include "nn/ref/ref.h"
#include "nn/threads.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 154, LANES = 16, TAPS = 9, ALIGN = 64 };

static const struct wl_conv_custom *const kernel = &wl_conv_winograd_3x3_weights;

static float widened(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint16_t rounded(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return isnan(f) ? 0x7fc0 : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* ---- a convolution: f32 values, which the kernel reads rounded, and its gradients ---- */

struct shape {
    int64_t n, c, k, h, w, pad;
};

struct problem {
    struct wl_arena *arena;
    struct wl_window v;
    float *x, *dy; /* [N,C,H,W], [N,K,P,Q] */
    int64_t x_count, dy_count;
};

static struct problem problem_of(struct wl_arena *a, struct shape s)
{
    struct problem o = { .arena = a, .v = { .n = s.n, .c = s.c, .h = s.h, .w = s.w, .k = s.k, .r = 3, .s = 3 } };
    o.v.p = s.h + 2 * s.pad - 2;
    o.v.q = s.w + 2 * s.pad - 2;
    for (int i = 0; i < 2; i++) {
        o.v.stride[i] = 1;
        o.v.pad[i] = s.pad;
    }
    o.x_count = s.n * s.c * s.h * s.w;
    o.dy_count = s.n * s.k * o.v.p * o.v.q;
    o.x = wl_new_array(a, float, (size_t)o.x_count);
    o.dy = wl_new_array(a, float, (size_t)o.dy_count);
    for (int64_t i = 0; i < o.x_count; i++) { /* as after a relu */
        const double x = wl_random_normal(SEED, 1, (uint64_t)i);
        o.x[i] = x > 0 ? (float)x : 0;
    }
    for (int64_t i = 0; i < o.dy_count; i++) o.dy[i] = (float)wl_random_normal(SEED, 2, (uint64_t)i);
    return o;
}

static void *aligned(struct wl_arena *a, size_t bytes)
{
    char *at = wl_new_array(a, char, bytes + ALIGN);
    memset(at, 0xff, bytes + ALIGN); /* NaN: whatever was there */
    return at + ALIGN - (uintptr_t)at % ALIGN;
}

/* [N,C,area] to [N,C/16,area,16] of bf16. */
static uint16_t *blocked(const struct problem *o, const float *from, int64_t channels, int64_t area)
{
    uint16_t *to = wl_new_array(o->arena, uint16_t, (size_t)(o->v.n * channels * area));
    for (int64_t i = 0; i < o->v.n * channels; i++)
        for (int64_t p = 0; p < area; p++) to[(i / LANES * area + p) * LANES + i % LANES] = rounded(from[i * area + p]);
    return to;
}

/* The kernel's gradients: dw [K,C,3,3], then db [K]. */
static float *gradients(const struct problem *o)
{
    const struct wl_window *v = &o->v;
    const size_t weights = (size_t)(v->k * v->c * TAPS), filters = (size_t)v->k;
    const size_t scratch = kernel->scratch_bytes(v, WL_PASS_WEIGHTS);
    float *dw = aligned(o->arena, weights * sizeof *dw), *out = wl_new_array(o->arena, float, weights + filters);
    struct wl_conv_call call = { .v = *v, .pass = WL_PASS_WEIGHTS, .dw = dw, .db = out + weights };
    call.x = blocked(o, o->x, v->c, v->h * v->w);
    call.dy = blocked(o, o->dy, v->k, v->p * v->q);
    call.scratch = aligned(o->arena, scratch + 1);
    kernel->run(&call);
    if (((unsigned char *)call.scratch)[scratch] != 0xff) fail_msg("more scratch memory was written than asked for");
    for (int64_t k = 0; k < v->k; k++)
        for (int64_t c = 0; c < v->c; c++)
            for (int64_t t = 0; t < TAPS; t++)
                out[(k * v->c + c) * TAPS + t] =
                    dw[((k / LANES * (v->c / LANES) + c / LANES) * TAPS + t) * LANES * LANES + c % LANES * LANES +
                       k % LANES];
    return out;
}

static void round_values(struct problem *o)
{
    for (int64_t i = 0; i < o->x_count; i++) o->x[i] = widened(rounded(o->x[i]));
    for (int64_t i = 0; i < o->dy_count; i++) o->dy[i] = widened(rounded(o->dy[i]));
}

/* The reference's, whose sums are of doubles. */
static float *expected(const struct problem *o)
{
    const struct wl_window *v = &o->v;
    const size_t weights = (size_t)(v->k * v->c * TAPS);
    float *out = wl_new_array(o->arena, float, weights + (size_t)v->k);
    wl_ref_conv_backward_weights(v, o->x, o->dy, out);
    wl_ref_channel_sum((struct wl_channels) { v->n, v->k, v->p * v->q }, o->dy, out + weights);
    return out;
}

/* Relative, in the L2 norm. */
static double distance(const float *got, const float *want, int64_t n)
{
    double differences = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        differences += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        squares += (double)want[i] * want[i];
    }
    return sqrt(differences / squares);
}

static int64_t weights_of(const struct problem *o) { return o->v.k * o->v.c * TAPS; }

static void need(void)
{
    const struct problem o = { .v = {
                                   .n = 1, .c = LANES, .k = LANES, .h = 4, .w = 4, .p = 2, .q = 2, .r = 3, .s = 3 } };
    struct wl_window v = o.v;
    v.stride[0] = v.stride[1] = 1;
    if (kernel->applies(&v, WL_PASS_WEIGHTS)) return;
    printf("SKIP: the processor has no AVX512_VNNI\n");
    skip();
}

static struct wl_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = wl_arena_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wl_arena_free(arena);
    return 0;
}

/* ---- usual values ---- */

static const struct shape shapes[] = {
    { 2, 32, 48, 14, 14, 1 },  /* tiles that the border cuts; a panel of 3 vectors */
    { 3, 80, 32, 9, 10, 0 },   /* an odd number of tiles, no padding */
    { 1, 16, 16, 3, 3, 0 },    /* one result */
    { 2, 16, 112, 6, 5, 2 },   /* wide padding; panels of 3 and 4 */
    { 9, 48, 64, 22, 23, 1 },  /* several pieces */
    { 1, 160, 160, 7, 7, 1 },  /* numbers past the caches */
    { 1990, 16, 16, 3, 3, 0 }, /* two groups of pieces */
};

/* How much further from double than a direct convolution of bf16 values, which only their rounding makes inexact. */
static void test_error_is_that_of_direct_bf16(void **state)
{
    (void)state;
    need();
    for (size_t i = 0; i < WL_COUNT(shapes); i++) {
        struct problem o = problem_of(arena, shapes[i]);
        const int64_t n = weights_of(&o);
        const float *got = gradients(&o), *exact = expected(&o);
        round_values(&o);
        const float *direct = expected(&o);
        const double ours = distance(got, exact, n), theirs = distance(direct, exact, n);
        if (!(ours <= 1.6 * theirs)) fail_msg("shape %zu is %.2e from double, direct bf16 %.2e", i, ours, theirs);
        if (!(distance(got, direct, n) < 1.5e-3)) fail_msg("shape %zu is %.2e off", i, distance(got, direct, n));
        assert_true(distance(got + n, direct + n, o.v.k) < 1e-6);
    }
}

static void test_threads_do_not_change_bits(void **state)
{
    (void)state;
    need();
    const int threads = omp_get_max_threads();
    for (size_t i = 0; i < WL_COUNT(shapes); i++) {
        const struct problem o = problem_of(arena, shapes[i]);
        const size_t bytes = (size_t)(weights_of(&o) + o.v.k) * sizeof(float);
        omp_set_num_threads(1);
        const float *one = gradients(&o);
        for (int n = 2; n <= 4; n++) {
            omp_set_num_threads(n);
            if (memcmp(one, gradients(&o), bytes)) fail_msg("shape %zu differs with %d threads", i, n);
        }
        omp_set_num_threads(threads);
    }
}

static void test_shapes_that_others_compute(void **state)
{
    (void)state;
    need();
    const struct problem o = problem_of(arena, shapes[0]);
    assert_true(kernel->applies(&o.v, WL_PASS_WEIGHTS));
    assert_false(kernel->applies(&o.v, WL_PASS_FORWARD));
    struct wl_window v = o.v;
    v.stride[1] = 2;
    assert_false(kernel->applies(&v, WL_PASS_WEIGHTS));
    v = o.v;
    v.c = 3;
    assert_false(kernel->applies(&v, WL_PASS_WEIGHTS));
    v = o.v;
    v.r = 1;
    assert_false(kernel->applies(&v, WL_PASS_WEIGHTS));
}

/* ---- values that an algorithm with scales might not survive ---- */

static struct problem usual(void)
{
    struct problem o = problem_of(arena, (struct shape) { 3, 32, 16, 18, 17, 1 });
    round_values(&o);
    return o;
}

static float *channel(const struct problem *o, float *value, int64_t channels, int64_t area, int64_t image, int64_t c)
{
    (void)o;
    return value + (image * channels + c) * area;
}

static float *x_channel(const struct problem *o, int64_t image, int64_t c)
{
    return channel(o, o->x, o->v.c, o->v.h * o->v.w, image, c);
}

static float *dy_channel(const struct problem *o, int64_t image, int64_t k)
{
    return channel(o, o->dy, o->v.k, o->v.p * o->v.q, image, k);
}

static void multiply(float *v, int64_t n, float by)
{
    for (int64_t i = 0; i < n; i++) v[i] *= by;
}

static void check_close(const struct problem *o, const char *what)
{
    const double off = distance(gradients(o), expected(o), weights_of(o));
    if (!(off < 1.5e-3)) fail_msg("%s: %.2e off", what, off);
}

/* Sums reach their bound: all tiles are alike, so are both factors, and none has rounding errors to hide in. */
static void test_equal_values(void **state)
{
    (void)state;
    need();
    struct problem o = problem_of(arena, (struct shape) { 3, 16, 16, 34, 34, 0 });
    for (int64_t i = 0; i < o.x_count; i++) o.x[i] = 1;
    for (int64_t i = 0; i < o.dy_count; i++) o.dy[i] = 1;
    check_close(&o, "ones");
    multiply(o.dy, o.dy_count, -1);
    check_close(&o, "minus ones");
}

/* A norm that comes from one number. */
static void test_single_value(void **state)
{
    (void)state;
    need();
    struct problem o = usual();
    memset(o.x, 0, (size_t)o.x_count * sizeof(float));
    memset(o.dy, 0, (size_t)o.dy_count * sizeof(float));
    for (int64_t c = 0; c < o.v.c; c++) x_channel(&o, 1, c)[5 * o.v.w + 6] = (float)(c + 1);
    for (int64_t k = 0; k < o.v.k; k++) dy_channel(&o, 1, k)[6 * o.v.q + 6] = (float)-(k + 1);
    check_close(&o, "one pixel");
}

static void test_zeros(void **state)
{
    (void)state;
    need();
    struct problem o = usual();
    for (int64_t i = 0; i < o.v.n; i++) multiply(x_channel(&o, i, 3), o.v.h * o.v.w, 0);
    const float *got = gradients(&o);
    for (int64_t k = 0; k < o.v.k; k++)
        for (int64_t t = 0; t < TAPS; t++) assert_true(got[(k * o.v.c + 3) * TAPS + t] == 0);
    check_close(&o, "a channel of zeros");
    memset(o.dy, 0, (size_t)o.dy_count * sizeof(float));
    got = gradients(&o);
    for (int64_t i = 0; i < weights_of(&o) + o.v.k; i++) assert_true(got[i] == 0);
}

/* Other channels do not notice. */
static void test_huge_channel(void **state)
{
    (void)state;
    need();
    struct problem o = usual();
    const float *before = gradients(&o);
    for (int64_t i = 0; i < o.v.n; i++) multiply(x_channel(&o, i, 7), o.v.h * o.v.w, 0x1p100F);
    const float *after = gradients(&o), *want = expected(&o);
    for (int64_t k = 0; k < o.v.k; k++)
        for (int64_t c = 0; c < o.v.c; c++) {
            const int64_t at = (k * o.v.c + c) * TAPS;
            if (c == 7)
                assert_true(distance(after + at, want + at, TAPS) < 1e-2);
            else
                assert_memory_equal(after + at, before + at, TAPS * sizeof(float));
        }
}

/* The error is relative to a channel's largest values in a piece: where those are multiplied with zeros of dy, the
 * others are less exact than by direct convolution; docs/reference/training.md says how much. */
static void test_huge_pixel_that_no_result_reads(void **state)
{
    (void)state;
    need();
    static const struct {
        float by;
        double most; /* error by direct convolution's */
    } cases[] = { { 0x1p6F, 1.6 }, { 0x1p9F, 9 } };
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct problem o = problem_of(arena, (struct shape) { 3, 32, 16, 18, 17, 1 });
        for (int64_t c = 0; c < o.v.c; c++) {
            float *x = x_channel(&o, 1, c) + 5 * o.v.w + 6;
            *x = (*x == 0 ? 1 : *x) * cases[i].by;
        }
        for (int64_t k = 0; k < o.v.k; k++)
            for (int64_t row = 4; row <= 6; row++) memset(dy_channel(&o, 1, k) + row * o.v.q + 5, 0, 3 * sizeof(float));
        const float *got = gradients(&o), *exact = expected(&o);
        round_values(&o);
        const double own = distance(got, exact, weights_of(&o)), direct = distance(expected(&o), exact, weights_of(&o));
        if (!(own <= cases[i].most * direct)) fail_msg("case %zu: %.2e from double, direct %.2e", i, own, direct);
    }
}

/* Where transforms, squares or both norms' product would leave the range of f32. */
static void test_largest_and_smallest_values(void **state)
{
    (void)state;
    need();
    static const float factors[][2] = {
        { 0x1p125F, 0x1p-115F }, { 0x1p-100F, 0x1p125F }, { 0x1p-60F, 0x1p-40F }, { 0x1p-80F, 1 }, { 0x1p70F, 0x1p45F }
    };
    for (size_t i = 0; i < WL_COUNT(factors); i++) {
        struct problem o = usual();
        multiply(o.x, o.x_count, factors[i][0]);
        multiply(o.dy, o.dy_count, factors[i][1]);
        check_close(&o, "extreme values");
    }
    struct problem o = usual();
    const float most = widened(0x7f7f);
    for (int64_t i = 0; i < o.x_count; i++) o.x[i] = i % 3 ? most : -most;
    multiply(o.dy, o.dy_count, 0x1p-100F);
    check_close(&o, "the largest finite values");
}

/* Direct convolution takes denormal numbers for 0. */
static void test_denormals(void **state)
{
    (void)state;
    need();
    struct problem o = usual();
    const float *before = gradients(&o);
    for (int64_t i = 0; i < o.x_count; i++)
        if (o.x[i] == 0) o.x[i] = widened(0x0021);
    assert_true(distance(gradients(&o), before, weights_of(&o)) < 1e-5); /* but ties of roundings */
    for (int64_t i = 0; i < o.x_count; i++) o.x[i] = widened((uint16_t)(i % 0x80));
    const float *got = gradients(&o), *want = expected(&o);
    for (int64_t i = 0; i < weights_of(&o); i++) assert_true(fabsf(got[i]) <= fabsf(want[i]) + 0x1p-110F);
}

/* What is not finite stays so, where it belongs. */
static void test_nan_and_infinity(void **state)
{
    (void)state;
    need();
    static const float values[] = { NAN, INFINITY, -INFINITY };
    for (size_t i = 0; i < WL_COUNT(values); i++)
        for (int in_dy = 0; in_dy < 2; in_dy++) {
            struct problem o = usual();
            const float *before = gradients(&o);
            const int64_t odd = 5;
            *(in_dy ? dy_channel(&o, 2, odd) : x_channel(&o, 2, odd)) = values[i];
            const float *got = gradients(&o), *want = expected(&o);
            for (int64_t w = 0; w < weights_of(&o); w++) {
                const bool touched = (in_dy ? w / TAPS / o.v.c : w / TAPS % o.v.c) == odd;
                if (!isfinite(want[w])) assert_false(isfinite(got[w]));
                if (!touched) assert_true(got[w] == before[w]);
            }
            for (int64_t k = 0; k < o.v.k; k++)
                assert_int_equal(isfinite(got[weights_of(&o) + k]), isfinite(want[weights_of(&o) + k]));
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_error_is_that_of_direct_bf16),
        TEST(test_threads_do_not_change_bits),
        TEST(test_shapes_that_others_compute),
        TEST(test_equal_values),
        TEST(test_single_value),
        TEST(test_zeros),
        TEST(test_huge_channel),
        TEST(test_huge_pixel_that_no_result_reads),
        TEST(test_largest_and_smallest_values),
        TEST(test_denormals),
        TEST(test_nan_and_infinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
