/* V = B'dB of tiles in 16-bit integers, by scales from the norms of pixels. */
#include "nn/cpu/winograd_3x3_int16.h"

#ifdef __x86_64__
#include "nn/threads.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
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
#pragma GCC unroll 8
    for (int i = 0; i < PIXELS / 2; i++) sums[i] = _mm512_setzero_ps();
    if (n == PIXELS)
        for (int64_t b = 0; b < blocks; b++)
#pragma GCC unroll 8
            for (int i = 0; i < PIXELS / 2; i++)
                sums[i] = add_squares(_mm512_loadu_si512(at + b * step + i * 2 * LANES), sums[i]);
    else
        for (int64_t b = 0; b < blocks; b++)
            for (int i = 0; 2 * i < n; i++) {
                const __mmask16 two = 2 * i + 1 < n ? 0xffff : 0xff;
                sums[i] = add_squares(_mm512_maskz_loadu_epi32(two, at + b * step + i * 2 * LANES), sums[i]);
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

/* |B'|: rows of a and -a are one, and those of b and -b. */
enum { ROWS = 4 };
static const int row_of[SIDE] = { 0, 1, 1, 2, 2, 3 }, first_of[ROWS] = { 0, 1, 3, 5 };

/* The norms of a tile's pixels, 0 beyond the border; their maximum. */
static float tile_norms(const struct image *m, const float *norms, float d[SIDE][SIDE])
{
    float most = 0;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            const int64_t row = m->row + i, column = m->column + j;
            const bool inside = row >= 0 && row < m->h && column >= 0 && column < m->w;
            d[i][j] = inside ? norms[row * m->w + column] : 0;
            if (!(d[i][j] <= most)) most = d[i][j];
        }
    return most;
}

/* Bounds of the norms at all points: sums of |B'_ai| |B'_bj| d_ij. */
static void bounds(float d[SIDE][SIDE], float out[ROWS][ROWS])
{
    for (int a = 0; a < ROWS; a++) {
        float line[SIDE] = { 0 };
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++) line[j] += fabsf(wl_winograd_into[first_of[a]][i]) * d[i][j];
        for (int b = 0; b < ROWS; b++) {
            out[a][b] = 0;
            for (int j = 0; j < SIDE; j++) out[a][b] += fabsf(wl_winograd_into[first_of[b]][j]) * line[j];
        }
    }
}

/* 2^(2 j) that brings a maximum to between 1/4 and 4; 1 for usual ones, and for those that are not finite. */
static int half_exponent(float most)
{
    int e = 0;
    if (most > 0x1p-40F && most < 0x1p60F) return 0;
    if (most > 0 && most <= FLT_MAX) frexpf(most, &e);
    return e < -120 ? 60 : e > 120 ? -60 : -e / 2;
}

/* What the numbers of a slice of a tile are multiplied with, and what undoes it, of values times `factor`. */
static void scales(const struct image *m, const float *norms, float factor, float scale[POINTS], float *undo,
                   int64_t undo_step)
{
    float d[SIDE][SIDE], bound[ROWS][ROWS], s[ROWS][ROWS], u[ROWS][ROWS];
    tile_norms(m, norms, d);
    bounds(d, bound);
    for (int a = 0; a < ROWS; a++)
        for (int b = 0; b < ROWS; b++) {
            const float n = bound[a][b] * factor * (1 << WL_WINOGRAD_NORM_BITS) + 0x1p-60F; /* not zero */
            s[a][b] = most_norm / n;
            u[a][b] = n <= FLT_MAX ? n / most_norm : NAN;
        }
    for (int p = 0; p < POINTS; p++) {
        scale[p] = s[row_of[p / SIDE]][row_of[p % SIDE]];
        undo[p * undo_step] = u[row_of[p / SIDE]][row_of[p % SIDE]];
    }
}

/* ---- numbers ---- */

INLINE void block_numbers(const struct image *m, bool inner, float factor, const float scale[POINTS],
                          wl_winograd_pair *to, int64_t step)
{
    __m512 v[SIDE][SIDE];
    tile_into(m, inner, factor, v);
#pragma GCC unroll 36
    for (int p = 0; p < POINTS; p++) {
        const __m512 x = _mm512_mul_ps(v[p / SIDE][p % SIDE], _mm512_set1_ps(scale[p]));
        _mm256_storeu_si256((void *)(to + p * step), _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(x)));
    }
}

/* Channels of a slice; blocks lie `area` pixels apart. */
TARGET static void slice_numbers(struct image m, int64_t blocks, float factor, const float scale[POINTS],
                                 wl_winograd_pair *to, int64_t step)
{
    const bool inner = is_inner(&m);
    for (int64_t b = 0; b < blocks; b++, m.at += m.h * m.w * LANES, to += LANES / 2) {
        if (inner && factor == 1)
            block_numbers(&m, true, 1, scale, to, step);
        else
            block_numbers(&m, inner, factor, scale, to, step);
    }
}

/* The power of two of a tile, by the largest norm of all slices. */
static int tile_exponent(const struct wl_winograd_int16 *o, const struct image *m, const float *norms, int64_t image)
{
    float d[SIDE][SIDE], most = 0;
    for (int64_t s = 0; s < o->slices; s++) {
        const float one = tile_norms(m, norms + (s * o->g.n + image) * m->h * m->w, d);
        if (!(one <= most)) most = one;
    }
    return half_exponent(most);
}

static void tile_numbers(const struct wl_winograd_int16 *o, const uint16_t *in, const float *norms, int64_t tile,
                         int64_t row, const struct wl_winograd_values *to)
{
    const struct wl_winograd_tile t = wl_winograd_tile(&o->g, tile);
    const int64_t area = o->g.h * o->g.w;
    struct image m = { .h = o->g.h, .w = o->g.w, .row = t.row - o->g.pad[0], .column = t.column - o->g.pad[1] };
    const int e = tile_exponent(o, &m, norms, t.image);
    to->back[row] = ldexpf(1, -e);
    for (int64_t s = 0; s < o->slices; s++) {
        const int64_t from = wl_winograd_slice_from(o, s), blocks = wl_winograd_slice_from(o, s + 1) - from;
        float scale[POINTS];
        scales(&m, norms + (s * o->g.n + t.image) * area, ldexpf(1, 2 * e), scale,
               to->undo + s * POINTS * o->undo_step + row, o->undo_step);
        m.at = in + (t.image * o->g.c / LANES + from) * area * LANES;
        slice_numbers(m, blocks, ldexpf(1, 2 * e), scale, to->v + s * POINTS * o->v_step + row * blocks * (LANES / 2),
                      o->v_step);
    }
}

void wl_winograd_values(const struct wl_winograd_int16 *o, const uint16_t *in, const float *norms, int64_t from,
                        int64_t to, const struct wl_winograd_values *values)
{
    for (int64_t tile = from; tile < to; tile++) tile_numbers(o, in, norms, tile, tile - from, values);
}
#endif
