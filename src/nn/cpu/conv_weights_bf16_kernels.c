/* Pixels as pairs, and their products. */
#include "nn/cpu/conv_weights_bf16.h"

#ifdef __x86_64__
#include <immintrin.h>

enum { LANES = WL_CONV_WEIGHTS_LANES, TILE_ROWS = 6, VECTORS = WL_CONV_WEIGHTS_PANEL };

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define INLINE TARGET static inline __attribute__((always_inline))

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- pairs ---- */

enum { BEYOND = -1 };

/* For each result pixel, where block 0 of what it reads begins; BEYOND: beyond the border. */
static void locate(const struct wl_conv_weights_gather *o, int64_t at[WL_CONV_WEIGHTS_PIECE])
{
    int64_t i = o->from;
    while (i < o->to) { /* a row of an image */
        const int64_t n = i / (o->p * o->q), p = i / o->q % o->p, q = i % o->q;
        const int64_t row = p * o->stride[0] - o->before[0], end = min(o->to, i + o->q - q);
        const int64_t first = (n * o->blocks * o->h + row) * o->w;
        const bool there = (uint64_t)row < (uint64_t)o->h;
        for (int64_t column = q * o->stride[1] - o->before[1]; i < end; i++, column += o->stride[1])
            *at++ = there && (uint64_t)column < (uint64_t)o->w ? (first + column) * LANES : BEYOND;
    }
}

static const uint16_t zeros[LANES];

INLINE __m256i numbers(const uint16_t *block, int64_t at)
{
    const uint16_t *from = at == BEYOND ? zeros : block + at;
    return _mm256_loadu_si256((const void *)from);
}

INLINE __m512 widened(__m256i x) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16)); }

/* A block's pairs; with `sums` those too. */
INLINE void one_block(const int64_t *at, int64_t pairs, const uint16_t *block, wl_conv_weights_pair *to, float *sums)
{
    const __m512i by_channel = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22,
                                                6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    __m512 sum[2] = { _mm512_setzero_ps(), _mm512_setzero_ps() };
    for (int64_t i = 0; i < pairs; i++, at += 2, to += LANES) {
        const __m256i first = numbers(block, at[0]), second = numbers(block, at[1]);
        const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
        _mm512_store_si512(to, _mm512_permutexvar_epi16(by_channel, both));
        if (!sums) continue;
        sum[0] = _mm512_add_ps(sum[0], widened(first));
        sum[1] = _mm512_add_ps(sum[1], widened(second));
    }
    if (sums) _mm512_storeu_ps(sums, _mm512_add_ps(sum[0], sum[1]));
}

TARGET void wl_conv_weights_gather(const struct wl_conv_weights_gather *o)
{
    int64_t at[WL_CONV_WEIGHTS_PIECE + 1];
    const int64_t pixels = o->to - o->from, pairs = (pixels + 1) / 2, apart = o->h * o->w * LANES;
    locate(o, at);
    at[pixels] = BEYOND; /* the partner of an odd one */
    for (int64_t b = 0; b < o->blocks; b++) {
        wl_conv_weights_pair *to = o->pairs + b * WL_CONV_WEIGHTS_BLOCK;
        if (o->sums)
            one_block(at, pairs, o->value + b * apart, to, o->sums + b * LANES);
        else
            one_block(at, pairs, o->value + b * apart, to, NULL);
    }
}

/* ---- products ---- */

/* Channels [c, c + TILE_ROWS), of which those beyond the last one are computed in vain. */
INLINE void tile(const struct wl_conv_weights_sums *o, int64_t c, int vectors)
{
    const wl_conv_weights_pair *x[TILE_ROWS], *dy = o->dy;
    const int64_t end = o->c + o->rows;
    __m512 sum[TILE_ROWS][VECTORS];
#pragma GCC unroll 6
    for (int i = 0; i < TILE_ROWS; i++) {
        const int64_t row = min(c + i, end - 1);
        x[i] = o->x + row / LANES * WL_CONV_WEIGHTS_BLOCK + row % LANES;
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++) sum[i][j] = _mm512_setzero_ps();
    }
    for (int64_t t = 0; t < o->pairs * LANES; t += LANES) {
        __m512bh line[VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++) line[j] = (__m512bh)_mm512_loadu_si512(dy + t + j * WL_CONV_WEIGHTS_BLOCK);
#pragma GCC unroll 6
        for (int i = 0; i < TILE_ROWS; i++) {
            const __m512bh one = (__m512bh)_mm512_set1_epi32(x[i][t]);
#pragma GCC unroll 4
            for (int j = 0; j < vectors; j++) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], one, line[j]);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < TILE_ROWS; i++) {
        if (c + i >= end) break;
        float *to = o->dw + (c + i) / LANES * o->c_step + (c + i) % LANES * LANES;
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++, to += o->k_step)
            _mm512_storeu_ps(to, o->add ? _mm512_add_ps(_mm512_loadu_ps(to), sum[i][j]) : sum[i][j]);
    }
}

INLINE void rows(const struct wl_conv_weights_sums *o, int vectors)
{
    for (int64_t c = o->c; c < o->c + o->rows; c += TILE_ROWS) tile(o, c, vectors);
}

TARGET static void rows_of_1(const struct wl_conv_weights_sums *o) { rows(o, 1); }
TARGET static void rows_of_2(const struct wl_conv_weights_sums *o) { rows(o, 2); }
TARGET static void rows_of_3(const struct wl_conv_weights_sums *o) { rows(o, 3); }
TARGET static void rows_of_4(const struct wl_conv_weights_sums *o) { rows(o, 4); }

void wl_conv_weights_sums(const struct wl_conv_weights_sums *o)
{
    static void (*const of[VECTORS])(const struct wl_conv_weights_sums *) = { rows_of_1, rows_of_2, rows_of_3,
                                                                              rows_of_4 };
    of[o->vectors - 1](o);
}
#else
void wl_conv_weights_gather(const struct wl_conv_weights_gather *o) { (void)o; }
void wl_conv_weights_sums(const struct wl_conv_weights_sums *o) { (void)o; }
#endif
