/* Dropout: wl_ref_dropout, sixteen blocks of Philox in the lanes of a vector. On large arrays it takes about half as
 * long again as a pass that only scales (bench/dropout.c), so the backward pass draws the mask again instead of keeping
 * it. */
#include "nn/cpu/cpu.h"
#include "nn/ref/ref.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WL_WIDE __attribute__((target_clones("avx2", "default"))) /* the wider of the machine that runs */
#else
#define WL_WIDE
#endif

enum { LANES = WL_DROP_LANES, GROUP = WL_DROP_GROUP, XOR3 = 0x96 /* truth table of a ^ b ^ c */ };

static inline float scale_of(const struct wl_dropout *d)
{
    return (float)WL_DROP_STEPS / (float)(WL_DROP_STEPS - d->drop);
}

/* Round r of wl_philox. Written out ten times, since a loop inside of a loop over lanes would not become vectors. */
#define ROUND(r)                                                                 \
    {                                                                            \
        uint64_t a = (uint64_t)c0 * 0xD2511F53u, b = (uint64_t)c2 * 0xCD9E8D57u; \
        c0 = (uint32_t)(b >> 32) ^ c1 ^ (key0 + (r)*0x9E3779B9u);                \
        c1 = (uint32_t)b;                                                        \
        c2 = (uint32_t)(a >> 32) ^ c3 ^ (key1 + (r)*0xBB67AE85u);                \
        c3 = (uint32_t)a;                                                        \
    }

/* The words of blocks index, index + 1, ..., which agree in their upper 32 bits. */
static inline __attribute__((always_inline)) void draw(uint64_t key, uint64_t stream, uint64_t index,
                                                       uint32_t w[4][LANES])
{
    const uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
#pragma omp simd
    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t c0 = (uint32_t)index + i, c1 = (uint32_t)(index >> 32);
        uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
        ROUND(0) ROUND(1) ROUND(2) ROUND(3) ROUND(4) ROUND(5) ROUND(6) ROUND(7) ROUND(8) ROUND(9) w[0][i] = c0;
        w[1][i] = c1;
        w[2][i] = c2;
        w[3][i] = c3;
    }
}

static inline __attribute__((always_inline)) void mask(uint32_t w[4][LANES], uint32_t drop, float scale,
                                                       const float *restrict x, float *restrict y)
{
    for (int k = 0; k < GROUP / LANES; k++)
#pragma omp simd
        for (int i = 0; i < LANES; i++) {
            uint32_t bits = w[k / 2][i] >> (k % 2 * 16) & 0xffff;
            float kept = x[k * LANES + i] * scale; /* computed in any case: a choice between values needs no branch */
            y[k * LANES + i] = bits < drop ? 0 : kept;
        }
}

/* n whole groups whose first block is `index`. */
typedef void groups_fn(const struct wl_dropout *d, uint64_t index, int64_t n, const float *restrict x,
                       float *restrict y);

WL_WIDE static void groups_plain(const struct wl_dropout *d, uint64_t index, int64_t n, const float *restrict x,
                                 float *restrict y)
{
    const float scale = scale_of(d);
    for (int64_t g = 0; g < n; g++) {
        uint32_t w[4][LANES];
        draw(d->key, (uint64_t)d->update, index + (uint64_t)g * LANES, w);
        mask(w, d->drop, scale, x + g * GROUP, y + g * GROUP);
    }
}

#ifdef __x86_64__
#define AVX512 __attribute__((target("avx512f")))

/* Four words of eight blocks, each in the lower half of a 64-bit lane; what stands in the upper halves never matters.
 * So a round needs no shuffles, which is what a compiler makes of draw(). */
struct words {
    __m512i c[4];
};

AVX512 static inline struct words philox8(__m512i index, uint64_t stream, uint64_t key)
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

AVX512 static inline void keep(__m512i bits, __m512i drop, __m512 scale, const float *restrict x, float *restrict y)
{
    __mmask16 kept = _mm512_cmpge_epu32_mask(bits, drop);
    _mm512_storeu_ps(y, _mm512_maskz_mul_ps(kept, _mm512_loadu_ps(x), scale));
}

/* Even blocks and odd ones apart: side by side they are the words of sixteen blocks in order. */
AVX512 static void groups_avx512(const struct wl_dropout *d, uint64_t index, int64_t n, const float *restrict x,
                                 float *restrict y)
{
    const __m512i even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0),
                  odd = _mm512_add_epi64(even, _mm512_set1_epi64(1));
    const __m512i drop = _mm512_set1_epi32((int)d->drop), low = _mm512_set1_epi32(0xffff);
    const __m512 scale = _mm512_set1_ps(scale_of(d));
    for (int64_t g = 0; g < n; g++, index += LANES, x += GROUP, y += GROUP) {
        const __m512i first = _mm512_set1_epi64((int64_t)index);
        struct words a = philox8(_mm512_add_epi64(first, even), (uint64_t)d->update, d->key);
        struct words b = philox8(_mm512_add_epi64(first, odd), (uint64_t)d->update, d->key);
        for (int k = 0; k < 4; k++) {
            __m512i w = _mm512_mask_blend_epi32(0xAAAA, a.c[k], _mm512_slli_epi64(b.c[k], 32));
            keep(_mm512_and_si512(w, low), drop, scale, x + 2 * k * LANES, y + 2 * k * LANES);
            keep(_mm512_srli_epi32(w, 16), drop, scale, x + (2 * k + 1) * LANES, y + (2 * k + 1) * LANES);
        }
    }
}

static groups_fn *pick(void) { return __builtin_cpu_supports("avx512f") ? groups_avx512 : groups_plain; }
#else
static groups_fn *pick(void) { return groups_plain; }
#endif

/* Elements [from, to) of a sample; from is a multiple of GROUP. */
static void drop_part(const struct wl_dropout *d, groups_fn *groups, int64_t sample, int64_t from, int64_t to,
                      const float *restrict x, float *restrict y)
{
    const int64_t whole = (to - from) / GROUP, tail = from + whole * GROUP;
    const uint64_t row = (uint64_t)sample << 32;
    groups(d, row | (uint64_t)(from / GROUP * LANES), whole, x + from, y + from);
    if (tail == to) return;
    float in[GROUP] = { 0 }, out[GROUP];
    for (int64_t i = tail; i < to; i++) in[i - tail] = x[i];
    groups(d, row | (uint64_t)(tail / GROUP * LANES), 1, in, out);
    for (int64_t i = tail; i < to; i++) y[i] = out[i - tail];
}

static void drop(const struct wl_dropout *d, const float *restrict x, float *restrict y)
{
    groups_fn *const groups = pick();
    const int64_t part = 64 * GROUP, parts = (d->f + part - 1) / part; /* of a sample; 32 KiB */
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < d->n * parts; i++) {
        int64_t row = i / parts, from = i % parts * part, to = from + part < d->f ? from + part : d->f;
        drop_part(d, groups, d->sample + row, from, to, x + row * d->f, y + row * d->f);
    }
}

int wl_cpu_dropout_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    return wl_ref_dropout_forward(p, n, drop, e);
}

int wl_cpu_dropout_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    return wl_ref_dropout_backward(p, n, drop, e);
}
