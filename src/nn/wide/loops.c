/* The short loops, and the table of all. */
#include "nn/wide/number.h"

/* Abramowitz and Stegun 7.1.26: (1 - erf(z))/2 of z = |u|/sqrt 2 to 1e-7, with the exponential that the derivative
 * needs too. */
static inline float phi(float u, float *density)
{
    const float z = (u < 0 ? -u : u) * 0.707106781f, t = 1 / (1 + 0.3275911f * z), e = wl_exp(-z * z);
    float p = 1.061405429f;
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    const float tail = 0.5f * p * t * e;
    *density = 0.398942280f * e;
    return u < 0 ? tail : 1 - tail;
}

static void gelu(int64_t n, const void *u, void *y, void *slope)
{
    const wl_num *x = u;
    wl_num *restrict to = y, *d = slope;
    float density;
    if (!d) {
#pragma omp simd private(density)
        for (int64_t i = 0; i < n; i++) to[i] = wl_put(wl_get(x[i]) * phi(wl_get(x[i]), &density));
        return;
    }
#pragma omp simd private(density)
    for (int64_t i = 0; i < n; i++) {
        float v = wl_get(x[i]), share = phi(v, &density);
        to[i] = wl_put(v * share);
        d[i] = wl_put(share + v * density);
    }
}

static void multiply(int64_t n, const void *a, const void *b, void *y)
{
    const wl_num *u = a, *v = b;
    wl_num *to = y;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) to[i] = wl_put(wl_get(u[i]) * wl_get(v[i]));
}

static void add(int64_t n, const void *a, const void *b, void *y)
{
    const wl_num *u = a, *v = b;
    wl_num *to = y;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) to[i] = wl_put(wl_get(u[i]) + wl_get(v[i]));
}

static void sum3(int64_t f, const float *a, const float *b, const float *c, void *y)
{
    wl_num *restrict to = y;
#pragma omp simd
    for (int64_t j = 0; j < f; j++) to[j] = wl_put(a[j] + b[j] + c[j]);
}

static void add_row(int64_t f, const void *row, float *restrict to)
{
    const wl_num *restrict x = row;
#pragma omp simd
    for (int64_t j = 0; j < f; j++) to[j] += wl_get(x[j]);
}

static void narrow(int64_t f, const float *restrict row, void *to)
{
    wl_num *restrict y = to;
#pragma omp simd
    for (int64_t j = 0; j < f; j++) y[j] = wl_put(row[j]);
}

static void dropout(const struct wl_mask *m, int64_t sample, int64_t from, int64_t n, const void *x, void *y,
                    uint16_t *scratch)
{
    const uint16_t *numbers = WL_WIDE_NAME(wl_mask_numbers)(m, sample, from, n, scratch);
    const uint32_t drop = m->drop;
    const float scale = m->scale;
    const wl_num *u = x;
    wl_num *to = y;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        float kept = wl_get(u[i]) * scale;
        to[i] = wl_put(numbers[i] < drop ? 0 : kept);
    }
}

const struct wl_wide_loops WL_LOOPS_NAME(wl_loops) = {
    .layer_norm = WL_LOOPS_NAME(wl_layer_norm),
    .layer_norm_backward = WL_LOOPS_NAME(wl_layer_norm_backward),
    .gelu = gelu,
    .multiply = multiply,
    .add = add,
    .softmax = WL_LOOPS_NAME(wl_softmax),
    .softmax_backward = WL_LOOPS_NAME(wl_softmax_backward),
    .sum3 = sum3,
    .add_row = add_row,
    .narrow = narrow,
    .entropy = WL_LOOPS_NAME(wl_entropy),
    .rank = WL_LOOPS_NAME(wl_rank),
    .entropy_backward = WL_LOOPS_NAME(wl_entropy_backward),
    .dropout = dropout,
};
