/* V = B'dB of tiles in 16-bit integers, by scales from the norms of pixels. */
#include "nn/cpu/winograd_3x3_int16.h"

#ifdef __x86_64__
#include "nn/threads.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#include "nn/cpu/winograd_3x3_avx512.h"

#include <float.h>
#include <math.h>

static const float most_norm = 32700;

/* ---- norms of pixels ---- */

enum { PIXELS = 16 }; /* at once */

/* Adds the squares of two pixels of a block: eight lanes each. */
INLINE __m512 add_squares(__m512i two, __m512 sum)
{
    const __m512 even = _mm512_castsi512_ps(_mm512_slli_epi32(two, 16));
    const __m512 odd = _mm512_castsi512_ps(_mm512_and_si512(two, _mm512_set1_epi32((int)0xffff0000)));
    return _mm512_fmadd_ps(odd, odd, _mm512_fmadd_ps(even, even, sum));
}

/* Pixels 0 to 7 of four pairs: in each 128 bits the sums of half a pixel's lanes, of the pairs in their order. */
INLINE __m512 quarter_sums(const __m512 s[4])
{
    const __m512 a = _mm512_add_ps(_mm512_unpacklo_ps(s[0], s[1]), _mm512_unpackhi_ps(s[0], s[1]));
    const __m512 b = _mm512_add_ps(_mm512_unpacklo_ps(s[2], s[3]), _mm512_unpackhi_ps(s[2], s[3]));
    return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee));
}

/* Sums of 8 pixels in their order. */
INLINE __m256 pixel_sums(const __m512 s[4])
{
    const __m512 q = quarter_sums(s);
    const __m128 even = _mm_add_ps(_mm512_castps512_ps128(q), _mm512_extractf32x4_ps(q, 1));
    const __m128 odd = _mm_add_ps(_mm512_extractf32x4_ps(q, 2), _mm512_extractf32x4_ps(q, 3));
    return _mm256_set_m128(_mm_unpackhi_ps(even, odd), _mm_unpacklo_ps(even, odd));
}

/* The norm of a pixel whose square is not a normal number, by a power of two; that of zeros is not zero, which would
 * have no scale. */
TARGET static float careful_norm(const uint16_t *at, int64_t blocks, int64_t step)
{
    __m512 most = _mm512_setzero_ps(), sum = _mm512_setzero_ps();
    for (int64_t b = 0; b < blocks; b++) most = _mm512_max_ps(most, _mm512_abs_ps(widened(at + b * step)));
    const float largest = _mm512_reduce_max_ps(most);
    int e = 0;
    if (largest > 0 && largest <= FLT_MAX) frexpf(largest, &e);
    const __m512 up = _mm512_set1_ps((float)e);
    for (int64_t b = 0; b < blocks; b++) {
        const __m512 x = _mm512_scalef_ps(widened(at + b * step), _mm512_sub_ps(_mm512_setzero_ps(), up));
        sum = _mm512_fmadd_ps(x, x, sum);
    }
    const float norm = ldexpf(sqrtf(_mm512_reduce_add_ps(sum)), e - WL_WINOGRAD_NORM_BITS);
    return norm < 0x1p-126F ? 0x1p-126F : norm;
}

/* n <= PIXELS pixels of a slice; `step` from a block of channels to the next one. */
TARGET static void some_norms(const uint16_t *at, int64_t n, int64_t blocks, int64_t step, float *norms)
{
    __m512 sums[PIXELS / 2];
    float squares[PIXELS];
    const uint16_t *v = at;
    UNROLL
    for (int i = 0; i < PIXELS / 2; i++) sums[i] = _mm512_setzero_ps();
    for (int64_t b = 0; b < blocks; b++, v += step) {
        if (n == PIXELS) {
            UNROLL
            for (int i = 0; i < PIXELS / 2; i++) sums[i] = add_squares(_mm512_loadu_si512(v + i * 2 * LANES), sums[i]);
        } else {
            UNROLL
            for (int i = 0; i < PIXELS / 2; i++) {
                const __mmask16 two = 2 * i + 1 < n ? 0xffff : 2 * i < n ? 0xff : 0;
                sums[i] = add_squares(_mm512_maskz_loadu_epi32(two, v + i * 2 * LANES), sums[i]);
            }
        }
    }
    _mm256_storeu_ps(squares, pixel_sums(sums));
    _mm256_storeu_ps(squares + PIXELS / 2, pixel_sums(sums + 4));
    for (int64_t i = 0; i < n; i++)
        norms[i] = squares[i] > 0x1p-100F && squares[i] < 0x1p120F
                       ? sqrtf(squares[i]) * (1.0F / (1 << WL_WINOGRAD_NORM_BITS))
                       : careful_norm(at + i * LANES, blocks, step);
}

void wl_winograd_norms(const struct wl_winograd_int16 *o, const uint16_t *in, float *norms)
{
    const int64_t area = o->g.h * o->g.w, parts = (area + PIXELS - 1) / PIXELS, blocks = o->g.c / LANES;
    for (int64_t s = 0; s < o->slices; s++) {
        const int64_t from = wl_winograd_slice_from(o, s), to = wl_winograd_slice_from(o, s + 1);
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < o->g.n * parts; i++) {
            const int64_t image = i / parts, first = i % parts * PIXELS;
            some_norms(in + ((image * blocks + from) * area + first) * LANES,
                       area - first < PIXELS ? area - first : PIXELS, to - from, area * LANES,
                       norms + (s * o->g.n + image) * area + first);
        }
    }
}

/* ---- scales of a tile ---- */

/* |B'|: its rows of a and -a are one, and those of b and -b. */
enum { ROWS = 4 };

/* The norms of a tile's pixels as six rows of six, 0 beyond the border. */
INLINE void tile_norms(const struct image *m, const float *norms, __m256 rows[SIDE])
{
    const int64_t left = m->column < 0 ? -m->column : 0, right = m->w - m->column;
    const __mmask8 columns = (__mmask8)(0x3f << left & (right < SIDE ? (1 << right) - 1 : 0x3f));
    UNROLL
    for (int i = 0; i < SIDE; i++) {
        const int64_t row = m->row + i;
        const bool inside = row >= 0 && row < m->h;
        rows[i] = _mm256_maskz_loadu_ps(inside ? columns : 0, norms + (inside ? row * m->w + m->column : 0));
    }
}

/* 2^(2 j) that brings a maximum to between 1/4 and 4: j; 0 for usual maxima, and for those that are not finite. */
static int half_exponent(float most)
{
    int e = 0;
    if (most > 0x1p-40F && most < 0x1p60F) return 0;
    if (most > 0 && most <= FLT_MAX) frexpf(most, &e);
    return e < -120 ? 60 : e > 120 ? -60 : -e / 2;
}

/* j of a tile, by the largest norm of all slices. */
TARGET static int exponent_of(const struct wl_winograd_int16 *o, const struct image *m, const float *norms,
                              int64_t image)
{
    __m256 rows[SIDE], most = _mm256_setzero_ps();
    for (int64_t s = 0; s < o->slices; s++) {
        tile_norms(m, norms + (s * o->g.n + image) * m->h * m->w, rows);
        UNROLL
        for (int i = 0; i < SIDE; i++) most = _mm256_max_ps(rows[i], most);
    }
    return half_exponent(_mm512_reduce_max_ps(_mm512_zextps256_ps512(most)));
}

/* Bounds of the norms at points (a,b), in lane 4 a + b: sums of |B'_ai| |B'_bj| d_ij. */
INLINE __m512 bounds(const __m256 d[SIDE])
{
    const __m512i four = _mm512_set_epi32(24, 24, 24, 24, 16, 16, 16, 16, 8, 8, 8, 8, 0, 0, 0, 0);
    static const int line_of[ROWS] = { 0, 1, 3, 5 };
    __m256 lines[ROWS];
    __m512 sum = _mm512_setzero_ps();
    UNROLL
    for (int a = 0; a < ROWS; a++) {
        lines[a] = _mm256_setzero_ps();
        UNROLL
        for (int i = 0; i < SIDE; i++)
            lines[a] = _mm256_fmadd_ps(_mm256_set1_ps(fabsf(wl_winograd_into[line_of[a]][i])), d[i], lines[a]);
    }
    const __m512 low = _mm512_insertf32x8(_mm512_castps256_ps512(lines[0]), lines[1], 1);
    const __m512 high = _mm512_insertf32x8(_mm512_castps256_ps512(lines[2]), lines[3], 1);
    UNROLL
    for (int j = 0; j < SIDE; j++) {
        const __m128 column = _mm_set_ps(fabsf(wl_winograd_into[5][j]), fabsf(wl_winograd_into[3][j]),
                                         fabsf(wl_winograd_into[1][j]), fabsf(wl_winograd_into[0][j]));
        const __m512 of_lines = _mm512_permutex2var_ps(low, _mm512_add_epi32(four, _mm512_set1_epi32(j)), high);
        sum = _mm512_fmadd_ps(_mm512_broadcast_f32x4(column), of_lines, sum);
    }
    return sum;
}

/* From lanes 4 a + b to all points. */
INLINE void spread(__m512 x, float to[WL_WINOGRAD_SCALES])
{
    static const int32_t lane_of[WL_WINOGRAD_SCALES] = { 0, 1, 1, 2,  2,  3,  4,  5,  5,  6,  6,  7,
                                                         4, 5, 5, 6,  6,  7,  8,  9,  9,  10, 10, 11,
                                                         8, 9, 9, 10, 10, 11, 12, 13, 13, 14, 14, 15 };
    UNROLL
    for (int i = 0; i < WL_WINOGRAD_SCALES; i += LANES)
        _mm512_storeu_ps(to + i, _mm512_permutexvar_ps(_mm512_loadu_si512(lane_of + i), x));
}

/* What the numbers of a slice of a tile are multiplied with, and what undoes it, of values times `factor`. */
TARGET static void scales(const struct image *m, const float *norms, float factor, float *scale, float *undo)
{
    const __m512 up = _mm512_set1_ps(1 << WL_WINOGRAD_NORM_BITS), least = _mm512_set1_ps(0x1p-60F); /* not zero */
    const __m512 most = _mm512_set1_ps(most_norm), largest = _mm512_set1_ps(FLT_MAX);
    __m256 d[SIDE];
    tile_norms(m, norms, d);
    const __m512 n = _mm512_fmadd_ps(_mm512_mul_ps(bounds(d), _mm512_set1_ps(factor)), up, least);
    const __mmask16 finite = _mm512_cmp_ps_mask(n, largest, _CMP_LE_OQ);
    spread(_mm512_div_ps(most, n), scale);
    spread(_mm512_mask_div_ps(_mm512_set1_ps(NAN), finite, n, most), undo);
}

/* ---- numbers ---- */

/* The tile in its image's first block of channels. */
static struct image image_of(const struct wl_winograd_int16 *o, const uint16_t *in, struct wl_winograd_tile t)
{
    return (struct image) { .at = in + t.image * o->g.c * o->g.h * o->g.w,
                            .h = o->g.h,
                            .w = o->g.w,
                            .row = t.row - o->g.pad[0],
                            .column = t.column - o->g.pad[1] };
}

INLINE void block_numbers(const struct image *m, bool inner, float factor, const float *scale, wl_winograd_pair *to,
                          int64_t step)
{
    __m512 v[SIDE][SIDE];
    tile_into(m, inner, factor, v);
    UNROLL
    for (int p = 0; p < POINTS; p++) {
        const __m512 x = _mm512_mul_ps(v[p / SIDE][p % SIDE], _mm512_set1_ps(scale[p]));
        _mm256_storeu_si256((void *)(to + p * step), _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(x)));
    }
}

/* Prefetches what a tile reads of a block of channels and the tile before it, in the same row, does not. */
INLINE void fetch(const struct image *m)
{
    if (m->row < 0 || m->row + SIDE > m->h || m->column + SIDE > m->w) return;
    UNROLL
    for (int i = 0; i < SIDE; i++) {
        const uint16_t *at = m->at + ((m->row + i) * m->w + m->column + SIDE - RESULTS) * LANES;
        _mm_prefetch((const void *)at, _MM_HINT_T0);
        _mm_prefetch((const void *)(at + 2 * LANES), _MM_HINT_T0);
    }
}

/* Blocks of a slice, which lie an image's area apart. */
TARGET static void slice_numbers(const struct image *tile, int64_t first, int64_t blocks, float factor,
                                 const float *scale, wl_winograd_pair *v, int64_t step)
{
    const int64_t area = tile->h * tile->w * LANES;
    const bool usual = is_inner(tile, SIDE) && factor == 1;
    struct image m = *tile, next = *tile;
    next.column += RESULTS;
    m.at += first * area;
    for (int64_t b = 0; b < blocks; b++, m.at += area, v += LANES / 2) {
        next.at = m.at;
        fetch(&next);
        if (usual)
            block_numbers(&m, true, 1, scale, v, step);
        else
            block_numbers(&m, false, factor, scale, v, step);
    }
}

void wl_winograd_values(const struct wl_winograd_int16 *o, const uint16_t *in, const float *norms, int64_t from,
                        int64_t to, const struct wl_winograd_values *values)
{
    for (int64_t row = 0; row < to - from; row++) {
        const struct wl_winograd_tile t = wl_winograd_tile(&o->g, from + row);
        const struct image m = image_of(o, in, t);
        const int e = exponent_of(o, &m, norms, t.image);
        values->back[row] = ldexpf(1, -e);
        for (int64_t s = 0; s < o->slices; s++) {
            const int64_t first = wl_winograd_slice_from(o, s), blocks = wl_winograd_slice_from(o, s + 1) - first;
            float scale[WL_WINOGRAD_SCALES];
            scales(&m, norms + (s * o->g.n + t.image) * m.h * m.w, ldexpf(1, 2 * e), scale,
                   values->undo + (s * o->undo_step + row) * WL_WINOGRAD_SCALES);
            slice_numbers(&m, first, blocks, ldexpf(1, 2 * e), scale,
                          values->v + s * POINTS * o->v_step + row * blocks * (LANES / 2), o->v_step);
        }
    }
}
#endif
