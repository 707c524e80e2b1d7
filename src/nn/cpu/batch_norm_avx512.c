/* Batch norm's kernels with AVX-512, for rows of whole vectors. Sums run in f32 over a few pixels, those of squares
 * around the first of them, and in double over those sums. */
#include "nn/cpu/batch_norm_kernels.h"

#ifdef __x86_64__
#include <immintrin.h>

enum { LANES = WL_BATCH_NORM_LANES };
enum { CHAINS = 4 }; /* independent sums, since each addition waits for the one before */
enum { PIECE = 64 }; /* pixels that are summed in f32, 16 per chain, before doubles take over */

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define INLINE TARGET static inline __attribute__((always_inline)) /* so that flags are constants of each kernel */

INLINE __m512 widened(__m256i bf16) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16)); }

INLINE __m256i rounded(__m512 x) { return (__m256i)_mm512_cvtneps_pbh(x); }

INLINE __m512 load(const void *v, bool bf16, int64_t at)
{
    if (!bf16) return _mm512_loadu_ps((const float *)v + at);
    return widened(_mm256_loadu_si256((const void *)((const uint16_t *)v + at)));
}

INLINE void store(void *v, bool bf16, int64_t at, __m512 x)
{
    if (bf16)
        _mm256_storeu_si256((void *)((uint16_t *)v + at), rounded(x));
    else
        _mm512_storeu_ps((float *)v + at, x);
}

/* Two sums of some pixels' lanes, a of one term and b of one of second order. */
struct chain {
    __m512 a, b;
};

INLINE struct chain none(void) { return (struct chain) { _mm512_setzero_ps(), _mm512_setzero_ps() }; }

INLINE struct chain joined(struct chain s, struct chain t)
{
    return (struct chain) { _mm512_add_ps(s.a, t.a), _mm512_add_ps(s.b, t.b) };
}

/* The same in double, in two vectors each. */
struct total {
    __m512d a[2], b[2];
};

INLINE struct total nothing(void)
{
    const __m512d zero = _mm512_setzero_pd();
    return (struct total) { { zero, zero }, { zero, zero } };
}

INLINE __m512d half(__m512 x, int h)
{
    return _mm512_cvtps_pd(h ? _mm512_extractf32x8_ps(x, 1) : _mm512_castps512_ps256(x));
}

/* The sums of n terms less `center` become those of the terms themselves: of x^2 = (x - c)^2 + 2c (x - c) + c^2. */
INLINE struct total with_squares(struct total t, struct chain s, __m512 center, int64_t n)
{
    for (int h = 0; h < 2; h++) {
        const __m512d c = half(center, h), a = half(s.a, h), all = _mm512_set1_pd((double)n);
        const __m512d twice = _mm512_fmadd_pd(all, c, _mm512_add_pd(a, a));
        t.a[h] = _mm512_add_pd(t.a[h], _mm512_fmadd_pd(all, c, a));
        t.b[h] = _mm512_add_pd(t.b[h], _mm512_fmadd_pd(c, twice, half(s.b, h)));
    }
    return t;
}

INLINE struct total with(struct total t, struct chain s)
{
    for (int h = 0; h < 2; h++) {
        t.a[h] = _mm512_add_pd(t.a[h], half(s.a, h));
        t.b[h] = _mm512_add_pd(t.b[h], half(s.b, h));
    }
    return t;
}

INLINE void store_sums(struct total t, struct wl_batch_norm_sums *out)
{
    for (int h = 0; h < 2; h++) {
        _mm512_storeu_pd(out->v[0] + h * LANES / 2, t.a[h]);
        _mm512_storeu_pd(out->v[1] + h * LANES / 2, t.b[h]);
    }
}

INLINE struct chain squared(struct chain s, __m512 center, __m512 x)
{
    const __m512 d = _mm512_sub_ps(x, center);
    return (struct chain) { _mm512_add_ps(s.a, d), _mm512_fmadd_ps(d, d, s.b) };
}

INLINE void moments(const struct wl_batch_norm_row *r, bool bf16, const void *x, struct wl_batch_norm_sums *sums)
{
    const int64_t end = r->pixels * r->stride, step = r->stride;
    struct total t = nothing();
    for (int64_t from = 0, to; from < end; from = to) {
        to = from + PIECE * step < end ? from + PIECE * step : end;
        const __m512 c = load(x, bf16, from);
        struct chain s0 = none(), s1 = none(), s2 = none(), s3 = none();
        int64_t i = from;
        for (; i + CHAINS * step <= to; i += CHAINS * step) {
            s0 = squared(s0, c, load(x, bf16, i));
            s1 = squared(s1, c, load(x, bf16, i + step));
            s2 = squared(s2, c, load(x, bf16, i + 2 * step));
            s3 = squared(s3, c, load(x, bf16, i + 3 * step));
        }
        for (; i < to; i += step) s0 = squared(s0, c, load(x, bf16, i));
        t = with_squares(t, joined(joined(s0, s1), joined(s2, s3)), c, (to - from) / step);
    }
    store_sums(t, sums);
}

/* A line in registers. */
struct line {
    __m512 mean, scale, beta;
};

INLINE struct line line_of(const struct wl_batch_norm_affine *l)
{
    return (struct line) { _mm512_loadu_ps(l->mean), _mm512_loadu_ps(l->scale), _mm512_loadu_ps(l->beta) };
}

INLINE __m512 value_of(struct line l, __m512 x) { return _mm512_fmadd_ps(_mm512_sub_ps(x, l.mean), l.scale, l.beta); }

INLINE void apply(const struct wl_batch_norm_row *r, const struct wl_batch_norm_affine *line, bool relu, bool sum,
                  bool bf16, const void *x, const void *z, void *y)
{
    const int64_t end = r->pixels * r->stride, step = r->stride;
    const struct line l = line_of(line);
#pragma GCC unroll 4
    for (int64_t i = 0; i < end; i += step) {
        __m512 v = value_of(l, load(x, bf16, i));
        if (sum) v = _mm512_add_ps(bf16 ? widened(rounded(v)) : v, load(z, bf16, i));
        if (relu) v = _mm512_max_ps(_mm512_setzero_ps(), v); /* NAN stays: the second one is taken */
        store(y, bf16, i, v);
    }
}

/* dy where the relu passed, else 0. */
INLINE __m512 passed(struct line l, enum wl_batch_norm_relu relu, __m512 x, __m512 y, __m512 dy)
{
    if (relu == WL_BATCH_NORM_NO_RELU) return dy;
    const __m512 kept = relu == WL_BATCH_NORM_RELU_FROM_X ? value_of(l, x) : y;
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(kept, _mm512_setzero_ps(), _CMP_GT_OQ), dy);
}

/* dy + more; NULL: dy. */
INLINE __m512 gradient_of(bool bf16, int64_t i, const void *dy, const void *more)
{
    const __m512 g = load(dy, bf16, i);
    if (!more) return g;
    const __m512 sum = _mm512_add_ps(g, load(more, bf16, i));
    return bf16 ? widened(rounded(sum)) : sum;
}

INLINE struct chain reduced(struct chain s, struct line l, enum wl_batch_norm_relu relu, bool bf16, int64_t i,
                            const void *x, const void *y, const void *dy, const void *more, void *d)
{
    const __m512 v = load(x, bf16, i), of_y = relu == WL_BATCH_NORM_RELU_FROM_Y ? load(y, bf16, i) : v;
    const __m512 g = passed(l, relu, v, of_y, gradient_of(bf16, i, dy, more));
    if (relu == WL_BATCH_NORM_RELU_FROM_Y) store(d, bf16, i, g);
    return (struct chain) { _mm512_add_ps(s.a, g), _mm512_fmadd_ps(g, _mm512_sub_ps(v, l.mean), s.b) };
}

INLINE void reduce(const struct wl_batch_norm_row *r, const struct wl_batch_norm_affine *line,
                   enum wl_batch_norm_relu relu, bool bf16, const void *x, const void *y, const void *dy,
                   const void *more, void *d, struct wl_batch_norm_sums *sums)
{
    const int64_t end = r->pixels * r->stride, step = r->stride;
    const struct line l = line_of(line);
    struct total t = nothing();
    for (int64_t i = 0, to; i < end;) {
        struct chain s0 = none(), s1 = none(), s2 = none(), s3 = none();
        to = i + PIECE * step < end ? i + PIECE * step : end;
        for (; i + CHAINS * step <= to; i += CHAINS * step) {
            s0 = reduced(s0, l, relu, bf16, i, x, y, dy, more, d);
            s1 = reduced(s1, l, relu, bf16, i + step, x, y, dy, more, d);
            s2 = reduced(s2, l, relu, bf16, i + 2 * step, x, y, dy, more, d);
            s3 = reduced(s3, l, relu, bf16, i + 3 * step, x, y, dy, more, d);
        }
        for (; i < to; i += step) s0 = reduced(s0, l, relu, bf16, i, x, y, dy, more, d);
        t = with(t, joined(joined(s0, s1), joined(s2, s3)));
    }
    store_sums(t, sums);
}

INLINE void spread(const struct wl_batch_norm_row *r, const struct wl_batch_norm_affine *line,
                   const struct wl_batch_norm_gradient *slope, enum wl_batch_norm_relu relu, bool bf16, const void *x,
                   const void *d, void *dx)
{
    const int64_t end = r->pixels * r->stride, step = r->stride;
    const struct line l = line_of(line);
    const __m512 of_d = _mm512_loadu_ps(slope->of_d), of_x = _mm512_loadu_ps(slope->of_x),
                 shift = _mm512_loadu_ps(slope->shift);
#pragma GCC unroll 4
    for (int64_t i = 0; i < end; i += step) {
        const __m512 v = load(x, bf16, i), g = load(d, bf16, i);
        const __m512 through = relu == WL_BATCH_NORM_RELU_FROM_X ? passed(l, relu, v, v, g) : g;
        const __m512 rest = _mm512_fmadd_ps(of_x, _mm512_sub_ps(v, l.mean), shift);
        store(dx, bf16, i, _mm512_fmadd_ps(of_d, through, rest));
    }
}

/* Each kernel once for each of its flags. */
#define KERNELS(TYPE, BF16)                                                                                            \
    TARGET static void moments_##TYPE(const struct wl_batch_norm_row *r, const void *x,                                \
                                      struct wl_batch_norm_sums *sums)                                                 \
    {                                                                                                                  \
        moments(r, BF16, x, sums);                                                                                     \
    }                                                                                                                  \
    TARGET static void apply_##TYPE(const struct wl_batch_norm_row *r, const struct wl_batch_norm_affine *l,           \
                                    bool relu, const void *x, const void *z, void *y)                                  \
    {                                                                                                                  \
        if (z)                                                                                                         \
            relu ? apply(r, l, true, true, BF16, x, z, y) : apply(r, l, false, true, BF16, x, z, y);                   \
        else                                                                                                           \
            relu ? apply(r, l, true, false, BF16, x, z, y) : apply(r, l, false, false, BF16, x, z, y);                 \
    }                                                                                                                  \
    TARGET static void reduce_##TYPE(const struct wl_batch_norm_row *r, const struct wl_batch_norm_affine *l,          \
                                     enum wl_batch_norm_relu relu, const void *x, const void *y, const void *dy,       \
                                     const void *more, void *d, struct wl_batch_norm_sums *sums)                       \
    {                                                                                                                  \
        switch (relu) {                                                                                                \
        case WL_BATCH_NORM_NO_RELU: reduce(r, l, WL_BATCH_NORM_NO_RELU, BF16, x, y, dy, NULL, d, sums); break;         \
        case WL_BATCH_NORM_RELU_FROM_X: reduce(r, l, WL_BATCH_NORM_RELU_FROM_X, BF16, x, y, dy, NULL, d, sums); break; \
        case WL_BATCH_NORM_RELU_FROM_Y:                                                                                \
            more ? reduce(r, l, WL_BATCH_NORM_RELU_FROM_Y, BF16, x, y, dy, more, d, sums)                              \
                 : reduce(r, l, WL_BATCH_NORM_RELU_FROM_Y, BF16, x, y, dy, NULL, d, sums);                             \
            break;                                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET static void spread_##TYPE(const struct wl_batch_norm_row *r, const struct wl_batch_norm_affine *l,          \
                                     const struct wl_batch_norm_gradient *s, enum wl_batch_norm_relu relu,             \
                                     const void *x, const void *d, void *dx)                                           \
    {                                                                                                                  \
        if (relu == WL_BATCH_NORM_RELU_FROM_X)                                                                         \
            spread(r, l, s, WL_BATCH_NORM_RELU_FROM_X, BF16, x, d, dx);                                                \
        else                                                                                                           \
            spread(r, l, s, WL_BATCH_NORM_NO_RELU, BF16, x, d, dx);                                                    \
    }                                                                                                                  \
    static const struct wl_batch_norm_kernels kernels_##TYPE = { "avx512", moments_##TYPE, apply_##TYPE,               \
                                                                 reduce_##TYPE, spread_##TYPE };

KERNELS(f32, false)
KERNELS(bf16, true)

const struct wl_batch_norm_kernels *wl_batch_norm_avx512(enum wl_dtype type)
{
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512bf16"))
        return NULL;
    return type == WL_BF16 ? &kernels_bf16 : &kernels_f32;
}
#else
const struct wl_batch_norm_kernels *wl_batch_norm_avx512(enum wl_dtype type)
{
    (void)type;
    return NULL;
}
#endif
