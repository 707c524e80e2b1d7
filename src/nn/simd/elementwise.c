/* The short loops, and the table of all. */
#include "nn/simd/element.h"

/* Abramowitz and Stegun 7.1.26: (1 - erf(z))/2 of z = |u|/sqrt 2 to 1e-7, with the exponential that the derivative
 * needs too. */
static inline float phi(float u, float *density)
{
    const float z = (u < 0 ? -u : u) * 0.707106781f, t = 1 / (1 + 0.3275911f * z), e = wl_fast_exp(-z * z);
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
    const wl_element *x = u;
    wl_element *restrict to = y, *d = slope;
    float density;
    if (!d) {
#pragma omp simd private(density)
        for (int64_t i = 0; i < n; i++)
            to[i] = wl_element_store(wl_element_load(x[i]) * phi(wl_element_load(x[i]), &density));
        return;
    }
#pragma omp simd private(density)
    for (int64_t i = 0; i < n; i++) {
        float v = wl_element_load(x[i]), share = phi(v, &density);
        to[i] = wl_element_store(v * share);
        d[i] = wl_element_store(share + v * density);
    }
}

static void multiply(int64_t n, const void *a, const void *b, void *y)
{
    const wl_element *u = a, *v = b;
    wl_element *to = y;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) to[i] = wl_element_store(wl_element_load(u[i]) * wl_element_load(v[i]));
}

static void add(int64_t n, const void *a, const void *b, void *y)
{
    const wl_element *u = a, *v = b;
    wl_element *to = y;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) to[i] = wl_element_store(wl_element_load(u[i]) + wl_element_load(v[i]));
}

static void sum3(int64_t f, const float *a, const float *b, const float *c, void *y)
{
    wl_element *restrict to = y;
#pragma omp simd
    for (int64_t j = 0; j < f; j++) to[j] = wl_element_store(a[j] + b[j] + c[j]);
}

static void add_row(int64_t f, const void *row, float *restrict to)
{
    const wl_element *restrict x = row;
#pragma omp simd
    for (int64_t j = 0; j < f; j++) to[j] += wl_element_load(x[j]);
}

static void narrow(int64_t f, const float *restrict row, void *to)
{
    wl_element *restrict y = to;
#pragma omp simd
    for (int64_t j = 0; j < f; j++) y[j] = wl_element_store(row[j]);
}

static void dropout(const struct wl_dropout_mask *m, int64_t sample, int64_t from, int64_t n, const void *x, void *y,
                    uint16_t *scratch)
{
    const uint16_t *numbers = WL_SIMD_NAME(wl_dropout_mask_numbers)(m, sample, from, n, scratch);
    const uint32_t drop = m->drop;
    const float scale = m->scale;
    const wl_element *u = x;
    wl_element *to = y;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        float kept = wl_element_load(u[i]) * scale;
        to[i] = wl_element_store(numbers[i] < drop ? 0 : kept);
    }
}

const struct wl_simd_loops WL_SIMD_LOOPS_NAME(wl_loops) = {
    .layer_norm = WL_SIMD_LOOPS_NAME(wl_layer_norm),
    .layer_norm_backward = WL_SIMD_LOOPS_NAME(wl_layer_norm_backward),
    .gelu = gelu,
    .multiply = multiply,
    .add = add,
    .softmax = WL_SIMD_LOOPS_NAME(wl_softmax),
    .softmax_backward = WL_SIMD_LOOPS_NAME(wl_softmax_backward),
    .sum3 = sum3,
    .add_row = add_row,
    .narrow = narrow,
    .entropy = WL_SIMD_LOOPS_NAME(wl_cross_entropy_row),
    .rank = WL_SIMD_LOOPS_NAME(wl_label_rank),
    .entropy_backward = WL_SIMD_LOOPS_NAME(wl_cross_entropy_row_backward),
    .dropout = dropout,
};
