/* Numbers of the type that a source of this folder is built for: f32, or bf16 with WL_SIMD_BF16. */
#ifndef WL_NN_SIMD_ELEMENT_H
#define WL_NN_SIMD_ELEMENT_H

#include "nn/simd/levels.h"

#include <string.h>

#ifdef WL_SIMD_BF16
#define WL_SIMD_LOOPS_NAME(name) WL_SIMD_NAME(name##_bf16)
typedef uint16_t wl_element;
#else
#define WL_SIMD_LOOPS_NAME(name) WL_SIMD_NAME(name##_f32)
typedef float wl_element;
#endif

static inline uint32_t wl_f32_bits(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static inline float wl_f32_from_bits(uint32_t b)
{
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

#ifdef WL_SIMD_BF16
static inline float wl_element_load(wl_element x) { return wl_f32_from_bits((uint32_t)x << 16); }

/* To the nearest, of two as near the even one. A NAN stays one. */
static inline wl_element wl_element_store(float x)
{
    uint32_t b = wl_f32_bits(x), rounded = (b + 0x7fff + (b >> 16 & 1)) >> 16;
    return (wl_element)(x != x ? 0x7fc0 : rounded);
}
#else
static inline float wl_element_load(wl_element x) { return x; }

static inline wl_element wl_element_store(float x) { return x; }
#endif

/* e^x, 1.2e-7 relative (Cephes' polynomial); below -87 about 1e-38 instead of less. */
static inline float wl_fast_exp(float x)
{
    const float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f, round = 12582912; /* 1.5 * 2^23 */
    x = x < -87 ? -87 : x > 88 ? 88 : x;
    float n = x * 1.44269504f + round; /* its lowest bits are the nearest integer */
    float k = n - round, r = x - k * ln2_high - k * ln2_low;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1;
    return wl_f32_from_bits(wl_f32_bits(p) + (wl_f32_bits(n) << 23));
}

/* The functions of rows.c's table. */
void WL_SIMD_LOOPS_NAME(wl_layer_norm)(const struct wl_layer_norm_rows *o, int64_t from, int64_t to, const void *x,
                                       const void *branch, void *y);
void WL_SIMD_LOOPS_NAME(wl_layer_norm_backward)(const struct wl_layer_norm_rows *o, int64_t from, int64_t to,
                                                const void *dy, void *dz, void *dbranch, float *dgamma, float *dbeta);
void WL_SIMD_LOOPS_NAME(wl_softmax)(const struct wl_softmax_rows *o, float *scores, void *p, float *log_sum);
void WL_SIMD_LOOPS_NAME(wl_softmax_backward)(const struct wl_softmax_rows *o, float *scores, float *dp,
                                             const float *log_sum, void *p, void *ds);
float WL_SIMD_LOOPS_NAME(wl_cross_entropy_row)(int64_t k, const void *x, int64_t label, float *log_sum);
int64_t WL_SIMD_LOOPS_NAME(wl_label_rank)(int64_t k, const void *x, int64_t label);
void WL_SIMD_LOOPS_NAME(wl_cross_entropy_row_backward)(int64_t k, const void *x, float log_sum, int64_t label,
                                                       float scale, void *dx);

#endif
