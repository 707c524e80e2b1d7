/* U = G g G' of all filters in 16-bit integers, pairs of channels side by side. */
#include "nn/cpu/winograd_3x3_int16.h"

#ifdef __x86_64__
#include "nn/cpu/chunks.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#include "nn/cpu/winograd_3x3_avx512.h"

#include <float.h>
#include <math.h>

enum { SQUARE = LANES * LANES, BLOCK = TAPS * SQUARE }; /* weights of 16 channels and 16 filters, in f32 */

static const float most_norm = 65400, most_number = 32700;

/* Filters that take more are not in a core's cache when they are read; written past it, they need not be read first. */
static const size_t cached_bytes = 2 << 20;

/* ---- 16 filters with all their channels, [C/16][9][16 c][16 k] ---- */

INLINE void transpose(__m512 v[LANES])
{
    const __m512i at = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    UNROLL
    for (int h = LANES / 2; h > 0; h /= 2) {
        const __mmask16 upper = _mm512_test_epi32_mask(at, _mm512_set1_epi32(h));
        const __m512i low = _mm512_mask_add_epi32(at, upper, at, _mm512_set1_epi32(LANES - h));
        const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(h));
        UNROLL
        for (int i = 0; i < LANES; i++) {
            if (i & h) continue;
            const __m512 a = v[i], b = v[i + h];
            v[i] = _mm512_permutex2var_ps(a, low, b);
            v[i + h] = _mm512_permutex2var_ps(a, high, b);
        }
    }
}

/* Backward by data the filters of channel c are what is multiplied with dy's channel k, turned by half a turn. */
TARGET static void turn(const struct wl_winograd_int16 *o, const float *w, int64_t block, float *to)
{
    const int64_t channels = o->g.c / LANES, filters = o->g.k / LANES;
    for (int64_t c = 0; c < channels; c++)
        for (int t = 0; t < TAPS; t++) {
            const float *from = w + (c * filters + block) * BLOCK + (TAPS - 1 - t) * SQUARE;
            __m512 v[LANES];
            UNROLL
            for (int i = 0; i < LANES; i++) v[i] = _mm512_loadu_ps(from + i * LANES);
            transpose(v);
            UNROLL
            for (int i = 0; i < LANES; i++) _mm512_storeu_ps(to + c * BLOCK + t * SQUARE + i * LANES, v[i]);
        }
}

/* ---- scales ---- */

/* Of each tap the maximum over channels [from, to). NaN may be lost: norms keep it. */
INLINE void maxima(const float *w, int64_t from, int64_t to, __m512 most[TAPS])
{
    UNROLL
    for (int t = 0; t < TAPS; t++) most[t] = _mm512_setzero_ps();
    for (int64_t c = from; c < to; c++) {
        UNROLL
        for (int t = 0; t < TAPS; t++) {
            const __m512 g = _mm512_loadu_ps(w + c / LANES * BLOCK + t * SQUARE + c % LANES * LANES);
            most[t] = _mm512_max_ps(most[t], _mm512_abs_ps(g));
        }
    }
}

/* ... and the norm, after multiplication with `factor`. */
INLINE void tap_norms(const float *w, int64_t from, int64_t to, __m512 factor, __m512 norm[TAPS])
{
    UNROLL
    for (int t = 0; t < TAPS; t++) norm[t] = _mm512_setzero_ps();
    for (int64_t c = from; c < to; c++) {
        UNROLL
        for (int t = 0; t < TAPS; t++) {
            const __m512 g = _mm512_loadu_ps(w + c / LANES * BLOCK + t * SQUARE + c % LANES * LANES);
            const __m512 x = _mm512_mul_ps(g, factor);
            norm[t] = _mm512_fmadd_ps(x, x, norm[t]);
        }
    }
    UNROLL
    for (int t = 0; t < TAPS; t++) norm[t] = _mm512_sqrt_ps(norm[t]);
}

/* 2^-e for a maximum in [2^e, 2^(e+1)), as far as both are normal numbers. */
INLINE __m512 power_for(const __m512 most[TAPS])
{
    __m512 all = most[0];
    UNROLL
    for (int t = 1; t < TAPS; t++) all = _mm512_max_ps(all, most[t]);
    __m512 e = _mm512_getexp_ps(all);
    e = _mm512_min_ps(_mm512_max_ps(e, _mm512_set1_ps(-126)), _mm512_set1_ps(126));
    return _mm512_scalef_ps(_mm512_set1_ps(1), _mm512_sub_ps(_mm512_setzero_ps(), e));
}

/* The sum over taps of |G_ai| |G_bj| x_ij. */
INLINE __m512 bound(int a, int b, const __m512 x[TAPS])
{
    __m512 sum = _mm512_setzero_ps();
    UNROLL
    for (int t = 0; t < TAPS; t++) {
        const float by = fabsf(wl_winograd_filter[a][t / 3]) * fabsf(wl_winograd_filter[b][t % 3]);
        sum = _mm512_fmadd_ps(_mm512_set1_ps(by), x[t], sum);
    }
    return sum;
}

/* Of a slice, with those maxima, at all points: what numbers of filters times `factor` are multiplied with, and what
 * undoes it. */
TARGET static void scales(const float *w, int64_t from, int64_t to, __m512 most[TAPS], __m512 factor, float *scale,
                          float *undo, int64_t undo_step)
{
    const __m512 least = _mm512_set1_ps(0x1p-60F), largest = _mm512_set1_ps(FLT_MAX);
    __m512 norm[TAPS];
    tap_norms(w, from, to, factor, norm);
    for (int t = 0; t < TAPS; t++) most[t] = _mm512_mul_ps(most[t], factor);
    for (int p = 0; p < POINTS; p++, scale += LANES, undo += undo_step) {
        const __m512 n = _mm512_add_ps(bound(p / SIDE, p % SIDE, norm), least);
        const __m512 m = _mm512_add_ps(bound(p / SIDE, p % SIDE, most), least);
        const __m512 s =
            _mm512_min_ps(_mm512_div_ps(_mm512_set1_ps(most_norm), n), _mm512_div_ps(_mm512_set1_ps(most_number), m));
        const __mmask16 finite = _mm512_cmp_ps_mask(n, largest, _CMP_LE_OQ);
        _mm512_storeu_ps(scale, s);
        _mm512_storeu_ps(undo, _mm512_mask_div_ps(_mm512_set1_ps(NAN), finite, _mm512_set1_ps(1), s));
    }
}

/* ---- numbers ---- */

/* Of a channel at all points: G (g factor) G'. */
INLINE void points_of(const float *w, __m512 factor, __m512 u[SIDE][SIDE])
{
    __m512 lines[3][SIDE];
    UNROLL
    for (int j = 0; j < 3; j++) {
        __m512 g[3];
        UNROLL
        for (int i = 0; i < 3; i++) g[i] = _mm512_mul_ps(factor, _mm512_loadu_ps(w + (3 * i + j) * SQUARE));
        line_filter(g, lines[j]);
    }
    UNROLL
    for (int i = 0; i < SIDE; i++) {
        const __m512 g[3] = { lines[0][i], lines[1][i], lines[2][i] };
        line_filter(g, u[i]);
    }
}

INLINE __m512i pair(__m512 even, __m512 odd, __m512 scale)
{
    const __m512i low = _mm512_cvtps_epi32(_mm512_mul_ps(even, scale)),
                  high = _mm512_cvtps_epi32(_mm512_mul_ps(odd, scale));
    return _mm512_mask_blend_epi16(0xaaaaaaaa, low, _mm512_slli_epi32(high, 16));
}

/* Pairs of a slice's channels; `row` from a pair of channels to the next one. `stream`: past the caches. */
INLINE void numbers(const float *w, int64_t from, int64_t to, __m512 factor, const float *scale, wl_winograd_pair *u,
                    int64_t step, int64_t row, bool stream)
{
    for (int64_t c = from; c < to; c += 2, u += row) {
        __m512 even[SIDE][SIDE], odd[SIDE][SIDE];
        const float *at = w + c / LANES * BLOCK + c % LANES * LANES;
        points_of(at, factor, even);
        points_of(at + LANES, factor, odd);
        UNROLL
        for (int p = 0; p < POINTS; p++) {
            const __m512i x =
                pair(even[p / SIDE][p % SIDE], odd[p / SIDE][p % SIDE], _mm512_loadu_ps(scale + p * LANES));
            if (stream)
                _mm512_stream_si512((void *)(u + p * step), x);
            else
                _mm512_store_si512(u + p * step, x);
        }
    }
}

/* Block `block` of 16 filters, which is vector `block` - `first` of a panel of `vectors`. */
TARGET static void filters(const struct wl_winograd_int16 *o, const float *w, int64_t block,
                           const struct wl_winograd_filters *to)
{
    const bool stream = (size_t)(o->slices * POINTS * o->u_step) * sizeof(wl_winograd_pair) > cached_bytes;
    int64_t panel = 0;
    while (wl_winograd_panel_from(o, panel + 1) <= block) panel++;
    const int64_t first = wl_winograd_panel_from(o, panel), vectors = wl_winograd_panel_from(o, panel + 1) - first;
    __m512 most[TAPS];
    float scale[POINTS * LANES];
    maxima(w, 0, o->g.c, most);
    const __m512 factor = power_for(most);
    _mm512_storeu_ps(to->back + block * LANES, _mm512_div_ps(_mm512_set1_ps(1), factor));
    for (int64_t s = 0; s < o->slices; s++) {
        const int64_t from = wl_winograd_slice_from(o, s) * LANES, end = wl_winograd_slice_from(o, s + 1) * LANES;
        wl_winograd_pair *u =
            to->u + s * POINTS * o->u_step + (end - from) / 2 * LANES * first + (block - first) * LANES;
        if (o->slices > 1) maxima(w, from, end, most);
        scales(w, from, end, most, factor, scale, to->undo + s * POINTS * o->g.k + block * LANES, o->g.k);
        if (stream)
            numbers(w, from, end, factor, scale, u, o->u_step, vectors * LANES, true);
        else
            numbers(w, from, end, factor, scale, u, o->u_step, vectors * LANES, false);
    }
    if (stream) _mm_sfence();
}

size_t wl_winograd_filters_scratch(const struct wl_winograd_int16 *o)
{
    return (size_t)(o->g.c / LANES) * BLOCK * sizeof(float);
}

void wl_winograd_filters(const struct wl_winograd_int16 *o, const float *w, bool turned,
                         const struct wl_winograd_filters *to, float *scratch)
{
    const int64_t column = o->g.c / LANES * BLOCK;
#pragma omp parallel for schedule(static)
    for (int64_t block = 0; block < o->g.k / LANES; block++) {
        float *own = scratch + wl_chunk_thread() * column;
        if (turned) turn(o, w, block, own);
        filters(o, turned ? own : w + block * column, block, to);
    }
}
#endif
