/* Winograd's transforms F(4x4,3x3) of vectors of 16 channels (winograd_3x3.h), and tiles as they are read. For files
 * that are compiled for AVX-512 function by function: TARGET names the extensions before this is included. */
#ifndef WL_NN_CPU_WINOGRAD_3X3_AVX512_H
#define WL_NN_CPU_WINOGRAD_3X3_AVX512_H

#include "nn/cpu/winograd_3x3.h"

#include <immintrin.h>

#define INLINE TARGET static inline __attribute__((always_inline))

/* Before a loop over vectors in registers, which is unrolled whole. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 36")
#endif

enum {
    LANES = WL_WINOGRAD_LANES,
    SIDE = WL_WINOGRAD_SIDE,
    RESULTS = WL_WINOGRAD_RESULTS,
    POINTS = WL_WINOGRAD_POINTS,
    TAPS = WL_WINOGRAD_TAPS
};

/* k x, and k x + y. */
INLINE __m512 times(double k, __m512 x) { return _mm512_mul_ps(_mm512_set1_ps((float)k), x); }
INLINE __m512 plus(double k, __m512 x, __m512 y) { return _mm512_fmadd_ps(_mm512_set1_ps((float)k), x, y); }

/* ---- along a line ---- */

#define A  WL_WINOGRAD_A
#define B  WL_WINOGRAD_B
#define A2 WL_WINOGRAD_A2
#define B2 WL_WINOGRAD_B2

/* r = B' d: rows of a and -a have their even and odd parts in common, those of b and -b too. */
INLINE void line_into(const __m512 d[SIDE], __m512 r[SIDE])
{
    const __m512 even_a = plus(-B2, d[2], d[4]), odd_a = plus(-B2, d[1], d[3]);
    const __m512 even_b = plus(-A2, d[2], d[4]), odd_b = plus(-A2, d[1], d[3]);
    r[0] = plus(A2 * B2, d[0], plus(-(A2 + B2), d[2], d[4]));
    r[1] = plus(A, odd_a, even_a);
    r[2] = plus(-A, odd_a, even_a);
    r[3] = plus(B, odd_b, even_b);
    r[4] = plus(-B, odd_b, even_b);
    r[5] = plus(A2 * B2, d[1], plus(-(A2 + B2), d[3], d[5]));
}

/* y = A' m. */
INLINE void line_from(const __m512 m[SIDE], __m512 y[RESULTS])
{
    const __m512 even_a = _mm512_add_ps(m[1], m[2]), odd_a = _mm512_sub_ps(m[1], m[2]);
    const __m512 even_b = _mm512_add_ps(m[3], m[4]), odd_b = _mm512_sub_ps(m[3], m[4]);
    y[0] = _mm512_add_ps(m[0], _mm512_add_ps(even_a, even_b));
    y[1] = plus(B, odd_b, times(A, odd_a));
    y[2] = plus(B2, even_b, times(A2, even_a));
    y[3] = plus(B2 * B, odd_b, plus(A2 * A, odd_a, m[5]));
}

/* r = A d: the transpose. */
INLINE void line_back(const __m512 d[RESULTS], __m512 r[SIDE])
{
    const __m512 even_a = plus(A2, d[2], d[0]), odd_a = plus(A2, d[3], d[1]);
    const __m512 even_b = plus(B2, d[2], d[0]), odd_b = plus(B2, d[3], d[1]);
    r[0] = d[0];
    r[1] = plus(A, odd_a, even_a);
    r[2] = plus(-A, odd_a, even_a);
    r[3] = plus(B, odd_b, even_b);
    r[4] = plus(-B, odd_b, even_b);
    r[5] = d[3];
}

#undef A
#undef B
#undef A2
#undef B2

/* u = G g, with even and odd parts in common too. */
INLINE void line_filter(const __m512 g[3], __m512 u[SIDE])
{
    const float *const of_a = wl_winograd_filter[1], *const of_b = wl_winograd_filter[3];
    const __m512 even_a = plus(of_a[2], g[2], times(of_a[0], g[0])), even_b = plus(of_b[2], g[2], times(of_b[0], g[0]));
    u[0] = times(wl_winograd_filter[0][0], g[0]);
    u[1] = plus(of_a[1], g[1], even_a);
    u[2] = plus(-of_a[1], g[1], even_a);
    u[3] = plus(of_b[1], g[1], even_b);
    u[4] = plus(-of_b[1], g[1], even_b);
    u[5] = g[2];
}

/* ---- tiles ---- */

/* One instruction: each number goes to the upper half of a lane, 0 to the lower. */
INLINE __m512 widened(const uint16_t *at)
{
    const __m512i upper = _mm512_set_epi16(15, 0, 14, 0, 13, 0, 12, 0, 11, 0, 10, 0, 9, 0, 8, 0, 7, 0, 6, 0, 5, 0, 4, 0,
                                           3, 0, 2, 0, 1, 0, 0, 0);
    const __m512i x = _mm512_castsi256_si512(_mm256_loadu_si256((const void *)at));
    return _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(0xaaaaaaaa, upper, x));
}

/* A block of 16 channels of an image [h,w,16], and where a tile begins in it: before it, where the image is padded. */
struct image {
    const uint16_t *at;
    int64_t h, w, row, column;
};

/* All of a tile of side x side pixels. */
INLINE bool is_inner(const struct image *m, int side)
{
    return m->row >= 0 && m->column >= 0 && m->row + side <= m->h && m->column + side <= m->w;
}

/* Pixels beyond the border are 0. */
INLINE __m512 pixel(const struct image *m, bool inner, int i, int j)
{
    const int64_t row = m->row + i, column = m->column + j;
    if (!inner && (row < 0 || row >= m->h || column < 0 || column >= m->w)) return _mm512_setzero_ps();
    return widened(m->at + (row * m->w + column) * LANES);
}

/* B' (d factor) B of a tile; factor 1 is not multiplied with. */
INLINE void tile_into(const struct image *m, bool inner, float factor, __m512 v[SIDE][SIDE])
{
    __m512 lines[SIDE][SIDE];
    UNROLL
    for (int j = 0; j < SIDE; j++) {
        __m512 d[SIDE], r[SIDE];
        UNROLL
        for (int i = 0; i < SIDE; i++) {
            d[i] = pixel(m, inner, i, j);
            if (factor != 1) d[i] = _mm512_mul_ps(_mm512_set1_ps(factor), d[i]);
        }
        line_into(d, r);
        UNROLL
        for (int i = 0; i < SIDE; i++) lines[i][j] = r[i];
    }
    UNROLL
    for (int i = 0; i < SIDE; i++) line_into(lines[i], v[i]);
}

#endif
