/* Batch norm's kernels in plain C. */
#include "nn/cpu/batch_norm_kernels.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline)) /* so that `bf16` is a constant of each kernel */

INLINE float get(const void *v, bool bf16, int64_t i)
{
    if (!bf16) return ((const float *)v)[i];
    uint32_t bits = (uint32_t)((const uint16_t *)v)[i] << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* To the nearest, ties to even. A NAN stays one. */
INLINE uint16_t to_bf16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(f != f ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

INLINE void put(void *v, bool bf16, int64_t i, float f)
{
    if (bf16)
        ((uint16_t *)v)[i] = to_bf16(f);
    else
        ((float *)v)[i] = f;
}

INLINE float rounded(float f)
{
    const uint16_t half = to_bf16(f);
    return get(&half, true, 0);
}

INLINE float value_of(const struct wl_batch_norm_affine *l, int i, float x)
{
    return (x - l->mean[i]) * l->scale[i] + l->beta[i];
}

INLINE void moments(const struct wl_batch_norm_row *r, bool bf16, const void *x, struct wl_batch_norm_sums *sums)
{
    *sums = (struct wl_batch_norm_sums) { { { 0 } } };
    for (int64_t p = 0; p < r->pixels; p++)
        for (int i = 0; i < r->lanes; i++) {
            const double v = get(x, bf16, p * r->stride + i);
            sums->v[0][i] += v;
            sums->v[1][i] += v * v;
        }
}

INLINE void apply(const struct wl_batch_norm_row *r, const struct wl_batch_norm_affine *l, bool relu, bool bf16,
                  const void *x, const void *z, void *y)
{
    for (int64_t p = 0; p < r->pixels; p++)
        for (int i = 0; i < r->lanes; i++) {
            const int64_t at = p * r->stride + i;
            float v = value_of(l, i, get(x, bf16, at));
            if (z) v = (bf16 ? rounded(v) : v) + get(z, bf16, at);
            put(y, bf16, at, relu && v <= 0 ? 0 : v);
        }
}

INLINE void reduce(const struct wl_batch_norm_row *r, const struct wl_batch_norm_affine *l,
                   enum wl_batch_norm_relu relu, bool bf16, const void *x, const void *y, const void *dy,
                   const void *more, void *d, struct wl_batch_norm_sums *sums)
{
    *sums = (struct wl_batch_norm_sums) { { { 0 } } };
    for (int64_t p = 0; p < r->pixels; p++)
        for (int i = 0; i < r->lanes; i++) {
            const int64_t at = p * r->stride + i;
            const float v = get(x, bf16, at);
            float g = get(dy, bf16, at);
            if (more) g = bf16 ? rounded(g + get(more, bf16, at)) : g + get(more, bf16, at);
            if (relu == WL_BATCH_NORM_RELU_FROM_X && !(value_of(l, i, v) > 0)) g = 0;
            if (relu == WL_BATCH_NORM_RELU_FROM_Y && !(get(y, bf16, at) > 0)) g = 0;
            if (relu == WL_BATCH_NORM_RELU_FROM_Y) put(d, bf16, at, g);
            sums->v[0][i] += (double)g;
            sums->v[1][i] += (double)g * (double)(v - l->mean[i]);
        }
}

INLINE void spread(const struct wl_batch_norm_row *r, const struct wl_batch_norm_affine *l,
                   const struct wl_batch_norm_gradient *s, enum wl_batch_norm_relu relu, bool bf16, const void *x,
                   const void *d, void *dx)
{
    for (int64_t p = 0; p < r->pixels; p++)
        for (int i = 0; i < r->lanes; i++) {
            const int64_t at = p * r->stride + i;
            const float v = get(x, bf16, at);
            float g = get(d, bf16, at);
            if (relu == WL_BATCH_NORM_RELU_FROM_X && !(value_of(l, i, v) > 0)) g = 0;
            put(dx, bf16, at, s->of_d[i] * g + (s->of_x[i] * (v - l->mean[i]) + s->shift[i]));
        }
}

#define KERNELS(TYPE, BF16)                                                                                        \
    static void moments_##TYPE(const struct wl_batch_norm_row *r, const void *x, struct wl_batch_norm_sums *sums)  \
    {                                                                                                              \
        moments(r, BF16, x, sums);                                                                                 \
    }                                                                                                              \
    static void apply_##TYPE(const struct wl_batch_norm_row *r, const struct wl_batch_norm_affine *l, bool relu,   \
                             const void *x, const void *z, void *y)                                                \
    {                                                                                                              \
        apply(r, l, relu, BF16, x, z, y);                                                                          \
    }                                                                                                              \
    static void reduce_##TYPE(const struct wl_batch_norm_row *r, const struct wl_batch_norm_affine *l,             \
                              enum wl_batch_norm_relu relu, const void *x, const void *y, const void *dy,          \
                              const void *more, void *d, struct wl_batch_norm_sums *sums)                          \
    {                                                                                                              \
        reduce(r, l, relu, BF16, x, y, dy, more, d, sums);                                                         \
    }                                                                                                              \
    static void spread_##TYPE(const struct wl_batch_norm_row *r, const struct wl_batch_norm_affine *l,             \
                              const struct wl_batch_norm_gradient *s, enum wl_batch_norm_relu relu, const void *x, \
                              const void *d, void *dx)                                                             \
    {                                                                                                              \
        spread(r, l, s, relu, BF16, x, d, dx);                                                                     \
    }                                                                                                              \
    static const struct wl_batch_norm_kernels kernels_##TYPE = { "plain C", moments_##TYPE, apply_##TYPE,          \
                                                                 reduce_##TYPE, spread_##TYPE };

KERNELS(f32, false)
KERNELS(bf16, true)

const struct wl_batch_norm_kernels *wl_batch_norm_plain(enum wl_dtype type)
{
    return type == WL_BF16 ? &kernels_bf16 : &kernels_f32;
}
