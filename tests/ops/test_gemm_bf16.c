/* Products of bf16 by AVX-512's instruction for pairs against sums in double: rows that fill no tile, several parts of
 * rows, whatever follows the sum; and the same bits for any number of threads. */
#include "nn/cpu/gelu_bf16.h"
#include "nn/cpu/gemm_bf16.h"
#include "nn/nn.h"
#include "nn/threads.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 5, ALIGN = 64 };

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
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float *floats(struct wl_arena *a, int64_t n, uint64_t stream)
{
    float *v = wl_new_array(a, float, (size_t)n);
    for (int64_t i = 0; i < n; i++) v[i] = (float)wl_random_normal(SEED, stream, (uint64_t)i);
    return v;
}

static uint16_t *halves(struct wl_arena *a, int64_t n, uint64_t stream)
{
    const float *from = floats(a, n, stream);
    uint16_t *v = wl_new_array(a, uint16_t, (size_t)n);
    for (int64_t i = 0; i < n; i++) v[i] = rounded(from[i]);
    return v;
}

static void need(void)
{
    if (wl_gemm_bf16()) return;
    printf("SKIP: the processor has no AVX512_BF16, or AMX beside it\n");
    skip();
}

/* Squares of the differences by those of what is wanted. */
struct apart {
    double differences, squares;
};

static void add(struct apart *d, double got, double want)
{
    d->differences += (got - want) * (got - want);
    d->squares += want * want;
}

static void check(struct apart d, double limit, const char *what, int64_t m, int64_t f, int64_t k)
{
    if (!(d.differences <= limit * d.squares))
        fail_msg("%s of %lld x %lld x %lld is %.1e off, more than %.0e", what, (long long)m, (long long)f, (long long)k,
                 d.differences / d.squares, limit);
}

/* ---- rows ---- */

enum end { PLAIN, BIAS, ADD, SCALE, GELU, ENDS };

/* What element i of y should be, from its sum; and its slope. */
static double wanted(const struct wl_gemm_bf16_rows *c, const uint16_t *before, int64_t i, double sum, double *slope)
{
    if (c->bias) sum += c->bias[i % c->width];
    if (c->add) sum += widened(before[i]);
    if (c->scale) sum *= widened(c->scale[i]);
    if (!c->gelu) return sum;
    const double u = widened(rounded((float)sum)), phi = erfc(-u / sqrt(2)) / 2;
    *slope = phi + u * exp(-u * u / 2) / sqrt(2 * acos(-1));
    return u * phi;
}

/* Numbers on a cache line. */
static uint32_t *lines(struct wl_arena *a, int64_t n)
{
    char *at = wl_new_array(a, char, (size_t)n * sizeof(uint32_t) + ALIGN);
    return (uint32_t *)(void *)(at + ALIGN - (uintptr_t)at % ALIGN);
}

/* In tiles of all widths, the last ones first. */
static void pack(const struct wl_gemm_bf16_matrix *m)
{
    for (int64_t i = m->k; (i -= WL_GEMM_BF16_PANEL) >= 0;)
        for (int64_t j = 0, n = WL_GEMM_BF16_PANEL; j < m->f; j += n, n = m->f - j) wl_gemm_bf16()->pack(m, i, j, n);
}

/* The way back reads the same matrix the other way round. */
static void rows(int64_t m, int64_t f, int64_t k, bool back, enum end end)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const int64_t depth = back ? k : f, width = back ? f : k;
    const float *w = floats(a, k * f, 1);
    const uint16_t *x = halves(a, m * depth, 2), *before = halves(a, m * width, 3);
    uint32_t *packed = lines(a, k * f / 2);
    uint16_t *y = wl_new_array(a, uint16_t, (size_t)(m * width + 1)), *slope = NULL;
    struct wl_gemm_bf16_rows c = { .m = m, .depth = depth, .width = width, .x = x, .w = packed, .y = y };
    if (end == BIAS || end == GELU) c.bias = floats(a, width, 4);
    if (end == SCALE) c.scale = halves(a, m * width, 5);
    if (end == GELU) c.slope = slope = wl_new_array(a, uint16_t, (size_t)(m * width));
    c.add = end == ADD;
    c.gelu = end == GELU;
    memcpy(y, before, (size_t)(m * width) * sizeof *y);
    y[m * width] = 0x1234; /* nothing is written after the last row */
    pack(&(struct wl_gemm_bf16_matrix) {
        .k = k, .f = f, .w = w, .forward = back ? NULL : packed, .back = back ? packed : NULL });
    wl_gemm_bf16()->rows(&c);

    struct apart results = { 0 }, slopes = { 0 };
    for (int64_t i = 0; i < m * width; i++) {
        double sum = 0, s = 0;
        for (int64_t d = 0; d < depth; d++) {
            const float v = back ? w[d * f + i % width] : w[i % width * f + d];
            sum += (double)widened(x[i / width * depth + d]) * widened(rounded(v));
        }
        add(&results, widened(y[i]), wanted(&c, before, i, sum, &s));
        if (slope) add(&slopes, widened(slope[i]), s);
    }
    check(results, 4e-6, "result", m, f, k); /* a rounding to bf16 is 3.8e-6 at most */
    check(slopes, 4e-6, "slope", m, f, k);
    assert_int_equal(y[m * width], 0x1234);
    wl_arena_free(a);
}

static void test_rows_equal_sums_in_double(void **state)
{
    (void)state;
    need();
    const int64_t m[] = { 1, 6, 13, 100 };
    for (size_t i = 0; i < WL_COUNT(m); i++)
        for (int end = 0; end < ENDS; end++)
            for (int back = 0; back < 2; back++) rows(m[i], 192, 64, back, (enum end)end);
    rows(1030, 64, 128, false, GELU);
}

/* ---- gradients of weights ---- */

/* dw, then db. */
static const float *columns(int64_t m, int64_t k, int64_t f, struct wl_arena *a)
{
    const size_t bytes = wl_gemm_bf16()->scratch_bytes(m, f);
    char *scratch = wl_new_array(a, char, bytes + ALIGN);
    scratch += ALIGN - (uintptr_t)scratch % ALIGN;
    struct wl_gemm_bf16_columns c = { .m = m, .k = k, .f = f, .dy = halves(a, m * k, 1), .x = halves(a, m * f, 2) };
    c.dw = wl_new_array(a, float, (size_t)((f + 1) * k));
    c.db = c.dw + k * f;
    c.scratch = scratch;
    for (int64_t i = 0; i < (f + 1) * k; i++) c.dw[i] = NAN; /* whatever was there */
    wl_gemm_bf16()->columns(&c);

    struct apart d = { 0 }, sums = { 0 };
    for (int64_t i = 0; i < k; i++) {
        double sum = 0;
        for (int64_t r = 0; r < m; r++) sum += widened(c.dy[r * k + i]);
        add(&sums, c.db[i], sum);
    }
    check(sums, 1e-12, "sum of rows", m, f, k);
    for (int64_t i = 0; i < k * f; i++) {
        double sum = 0;
        for (int64_t r = 0; r < m; r++) sum += (double)widened(c.dy[r * k + i / f]) * widened(c.x[r * f + i % f]);
        add(&d, c.dw[i], sum);
    }
    check(d, 1e-12, "gradient", m, f, k);
    return c.dw;
}

static void test_columns_equal_sums_in_double(void **state)
{
    (void)state;
    need();
    const int64_t m[] = { 1, 2, 77, 2049, 4101 }, threads = omp_get_max_threads();
    for (size_t i = 0; i < WL_COUNT(m); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        const int64_t k = 192, f = 64;
        const float *some = columns(m[i], k, f, a);
        columns(m[i], f, k, a);
        for (int n = 1; n <= 5; n += 2) {
            omp_set_num_threads(n);
            assert_memory_equal(some, columns(m[i], k, f, a), (size_t)((f + 1) * k) * sizeof *some);
        }
        omp_set_num_threads((int)threads);
        wl_arena_free(a);
    }
}

/* Every number of bf16. One of results is half a unit in its last place off, 2^-8 of it, and what the pieces are; they
 * end where 8e-8 is left of the distribution. */
static void test_gelu_of_all_numbers(void **state)
{
    (void)state;
    need();
    enum { ALL = 1 << 16, ROW = 64 };
    static uint16_t u[ALL], y[ALL], slope[ALL], alone[ALL];
    for (int i = 0; i < ALL; i++) u[i] = (uint16_t)i;
    wl_gelu_bf16(ALL / ROW, ROW, u, y, slope, ROW);
    wl_gelu_bf16(1, ALL, u, alone, NULL, ALL);
    assert_memory_equal(y, alone, sizeof y);
    for (int i = 0; i < ALL; i++) {
        const double x = widened(u[i]), phi = erfc(-x / sqrt(2)) / 2, got = widened(y[i]), by = widened(slope[i]);
        if (isnan(x) || isinf(x)) {
            assert_true(isnan(got) ? isnan(x) || x < 0 : got == x); /* -infinity times 0 is a NAN */
            continue;
        }
        const double want = x * phi, want_slope = phi + x * exp(-x * x / 2) / sqrt(2 * acos(-1));
        if (!(fabs(got - want) <= fabs(want) / 256 + 1e-6)) fail_msg("gelu of %g is %g: expected %g", x, got, want);
        if (!(fabs(by - want_slope) <= fabs(want_slope) / 256 + 1e-4))
            fail_msg("slope of %g is %g: expected %g", x, by, want_slope);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows_equal_sums_in_double),
                                        cmocka_unit_test(test_columns_equal_sums_in_double),
                                        cmocka_unit_test(test_gelu_of_all_numbers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
