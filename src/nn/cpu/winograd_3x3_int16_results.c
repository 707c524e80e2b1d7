/* y = A'MA of tiles, with bias and relu, rounded to bf16. */
#include "nn/cpu/winograd_3x3_int16.h"

#ifdef __x86_64__
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#include "nn/cpu/winograd_3x3_avx512.h"

/* To the nearest, ties to even; NaN stays NaN. `native`: by AVX512_BF16's instruction, which makes zeros of denormal
 * numbers; written out, so that the rest needs no more than AVX-512. */
INLINE __m256i rounded(bool native, __m512 x)
{
    if (native) {
        __m256i y;
        __asm__("vcvtneps2bf16 %1, %0" : "=v"(y) : "v"(x));
        return y;
    }
    const __m512i bits = _mm512_castps_si512(x),
                  odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(up, nan, _mm512_set1_epi32(0x7fc0)));
}

/* A'MA. */
INLINE void tile_from(const float *m, int64_t step, __m512 y[RESULTS][RESULTS])
{
    __m512 lines[RESULTS][SIDE];
    UNROLL
    for (int j = 0; j < SIDE; j++) {
        __m512 x[SIDE], r[RESULTS];
        UNROLL
        for (int i = 0; i < SIDE; i++) x[i] = _mm512_loadu_ps(m + (i * SIDE + j) * step);
        line_from(x, r);
        UNROLL
        for (int i = 0; i < RESULTS; i++) lines[i][j] = r[i];
    }
    UNROLL
    for (int i = 0; i < RESULTS; i++) line_from(lines[i], y[i]);
}

/* What follows the sums of 16 filters. */
struct epilogue {
    __m512 filter_back, bias, least;
    float tile_back;
};

/* max(x, least) is x where that is NaN: the second operand. */
INLINE __m256i finished(bool native, const struct epilogue *f, __m512 y)
{
    if (f->tile_back != 1) {
        const __m512 half = _mm512_set1_ps(f->tile_back);
        y = _mm512_mul_ps(_mm512_mul_ps(_mm512_mul_ps(y, half), f->filter_back), half);
        y = _mm512_add_ps(y, f->bias);
    } else {
        y = _mm512_fmadd_ps(y, f->filter_back, f->bias);
    }
    return rounded(native, _mm512_max_ps(f->least, y));
}

/* A tile of 16 filters; `to` is its first pixel, of an image w wide. */
INLINE void tile_results(bool native, const float *m, int64_t step, const struct epilogue *f, int64_t rows,
                         int64_t columns, int64_t w, uint16_t *to)
{
    __m512 y[RESULTS][RESULTS];
    tile_from(m, step, y);
    UNROLL
    for (int i = 0; i < RESULTS; i++) {
        if (i >= rows) continue;
        UNROLL
        for (int j = 0; j < RESULTS; j++)
            if (j < columns) _mm256_storeu_si256((void *)(to + (i * w + j) * LANES), finished(native, f, y[i][j]));
    }
}

/* Prefetches a whole tile of an image w wide, which is to be written. */
INLINE void fetch(const uint16_t *at, int64_t w)
{
    UNROLL
    for (int i = 0; i < RESULTS; i++) {
        _mm_prefetch((const void *)(at + i * w * LANES), _MM_HINT_T0);
        _mm_prefetch((const void *)(at + (i * w + RESULTS / 2) * LANES), _MM_HINT_T0);
    }
}

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

INLINE void one_tile(const struct wl_winograd_int16 *o, const struct wl_winograd_results *r, int64_t i, bool native)
{
    const struct wl_winograd_tile t = wl_winograd_tile(&o->g, r->from + i);
    const int64_t rows = min(RESULTS, o->g.p - t.row), columns = min(RESULTS, o->g.q - t.column);
    const int64_t area = o->g.p * o->g.q, blocks = o->g.k / LANES;
    for (int64_t v = 0; v < r->vectors; v++) {
        const int64_t block = r->first + v;
        const float *m = r->m + (i * r->vectors + v) * LANES;
        const struct epilogue f = { .filter_back = _mm512_loadu_ps(r->filter_back + block * LANES),
                                    .bias = r->bias ? _mm512_loadu_ps(r->bias + block * LANES) : _mm512_setzero_ps(),
                                    .least = _mm512_set1_ps(r->relu ? 0 : -__builtin_inff()),
                                    .tile_back = r->tile_back[i] };
        uint16_t *to = r->out + ((t.image * blocks + block) * area + t.row * o->g.q + t.column) * LANES;
        if (rows == RESULTS && columns == RESULTS && f.tile_back == 1) {
            if (v + 1 < r->vectors) fetch(to + area * LANES, o->g.q);
            tile_results(native, m, o->m_step, &f, RESULTS, RESULTS, o->g.q, to);
        } else {
            tile_results(native, m, o->m_step, &f, rows, columns, o->g.q, to);
        }
    }
}

TARGET static void all_tiles(const struct wl_winograd_int16 *o, const struct wl_winograd_results *r)
{
    for (int64_t i = 0; i < r->n; i++) one_tile(o, r, i, false);
}

TARGET static void all_tiles_native(const struct wl_winograd_int16 *o, const struct wl_winograd_results *r)
{
    for (int64_t i = 0; i < r->n; i++) one_tile(o, r, i, true);
}

void wl_winograd_results(const struct wl_winograd_int16 *o, const struct wl_winograd_results *r)
{
    (o->bf16 ? all_tiles_native : all_tiles)(o, r);
}
#endif
