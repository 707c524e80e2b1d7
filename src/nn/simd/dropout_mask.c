/* The numbers of dropout: wl_ref_dropped, sixteen blocks of Philox at a time, which are the numbers of 128 neighbours.
 */
#include "nn/simd/levels.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

enum { LANES = 16, GROUP = 128, XOR3 = 0x96 /* truth table of a ^ b ^ c */ };

#ifdef __AVX512F__
/* Four words of eight blocks, each in the lower half of a 64-bit lane; the upper halves never matter.
 * So a round needs no shuffles, which is what a compiler makes of products of 32 bits. */
struct words {
    __m512i c[4];
};

static inline struct words philox8(__m512i index, uint64_t stream, uint64_t key)
{
    const __m512i m0 = _mm512_set1_epi64(0xD2511F53), m1 = _mm512_set1_epi64(0xCD9E8D57);
    uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
    struct words w = { { index, _mm512_srli_epi64(index, 32), _mm512_set1_epi64((int64_t)stream),
                         _mm512_set1_epi64((int64_t)(stream >> 32)) } };
#pragma GCC unroll 10
    for (int r = 0; r < 10; r++) {
        __m512i a = _mm512_mul_epu32(w.c[0], m0), b = _mm512_mul_epu32(w.c[2], m1);
        w.c[0] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(b, 32), w.c[1], _mm512_set1_epi64(key0), XOR3);
        w.c[1] = b;
        w.c[2] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(a, 32), w.c[3], _mm512_set1_epi64(key1), XOR3);
        w.c[3] = a;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return w;
}

static inline void store16(uint16_t *to, __m512i low) { _mm256_storeu_si256((void *)to, _mm512_cvtepi32_epi16(low)); }

/* Even blocks and odd ones apart: side by side they are the words of sixteen blocks in order. */
static void draw_group(const struct wl_dropout_mask *m, uint64_t index, uint16_t *to)
{
    const __m512i even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0),
                  odd = _mm512_add_epi64(even, _mm512_set1_epi64(1)), first = _mm512_set1_epi64((int64_t)index);
    struct words a = philox8(_mm512_add_epi64(first, even), m->update, m->key);
    struct words b = philox8(_mm512_add_epi64(first, odd), m->update, m->key);
    for (int k = 0; k < 4; k++) {
        __m512i w = _mm512_mask_blend_epi32(0xAAAA, a.c[k], _mm512_slli_epi64(b.c[k], 32));
        store16(to + 2 * k * LANES, w);
        store16(to + (2 * k + 1) * LANES, _mm512_srli_epi32(w, 16));
    }
}
#else
/* Round r of wl_philox. Written out ten times, since a loop inside of a loop over lanes would not become vectors. */
#define ROUND(r)                                                                 \
    {                                                                            \
        uint64_t a = (uint64_t)c0 * 0xD2511F53u, b = (uint64_t)c2 * 0xCD9E8D57u; \
        c0 = (uint32_t)(b >> 32) ^ c1 ^ (key0 + (r)*0x9E3779B9u);                \
        c1 = (uint32_t)b;                                                        \
        c2 = (uint32_t)(a >> 32) ^ c3 ^ (key1 + (r)*0xBB67AE85u);                \
        c3 = (uint32_t)a;                                                        \
    }

static void draw_group(const struct wl_dropout_mask *m, uint64_t index, uint16_t *to)
{
    const uint32_t key0 = (uint32_t)m->key, key1 = (uint32_t)(m->key >> 32);
    uint32_t w[4][LANES];
#pragma omp simd
    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t c0 = (uint32_t)index + i, c1 = (uint32_t)(index >> 32);
        uint32_t c2 = (uint32_t)m->update, c3 = (uint32_t)(m->update >> 32);
        ROUND(0) ROUND(1) ROUND(2) ROUND(3) ROUND(4) ROUND(5) ROUND(6) ROUND(7) ROUND(8) ROUND(9) w[0][i] = c0;
        w[1][i] = c1;
        w[2][i] = c2;
        w[3][i] = c3;
    }
    for (int k = 0; k < GROUP / LANES; k++)
        for (int i = 0; i < LANES; i++) to[k * LANES + i] = (uint16_t)(w[k / 2][i] >> (k % 2 * 16));
}
#endif

const uint16_t *WL_SIMD_NAME(wl_dropout_mask_numbers)(const struct wl_dropout_mask *m, int64_t sample, int64_t from,
                                                      int64_t n, uint16_t *numbers)
{
    const int64_t first = from / GROUP, last = (from + n + GROUP - 1) / GROUP;
    for (int64_t g = first; g < last; g++)
        draw_group(m, (uint64_t)sample << 32 | (uint64_t)(g * LANES), numbers + (g - first) * GROUP);
    return numbers + (from - first * GROUP);
}
