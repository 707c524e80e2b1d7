/* Dropout: wl_ref_dropout, sixteen blocks of Philox in the lanes of a vector. Two bytes of random numbers serve four
 * that are read and four that are written, so drawing the mask again in the backward pass costs less than the memory's
 * time. */
#include "nn/cpu/cpu.h"
#include "nn/ref/ref.h"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WL_WIDE __attribute__((target_clones("avx512f", "avx2", "default"))) /* the widest of the machine that runs */
#else
#define WL_WIDE
#endif

enum { LANES = WL_DROP_LANES, GROUP = WL_DROP_GROUP };

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

/* Elements [from, to) of a sample; from is a multiple of GROUP. */
WL_WIDE static void drop_part(const struct wl_dropout *d, int64_t sample, int64_t from, int64_t to,
                              const float *restrict x, float *restrict y)
{
    const float scale = (float)WL_DROP_STEPS / (float)(WL_DROP_STEPS - d->drop);
    for (int64_t j = from; j < to; j += GROUP) {
        uint32_t w[4][LANES];
        float in[GROUP] = { 0 }, out[GROUP];
        draw(d->key, (uint64_t)d->update, (uint64_t)sample << 32 | (uint64_t)(j / GROUP * LANES), w);
        if (to - j >= GROUP) {
            mask(w, d->drop, scale, x + j, y + j);
            continue;
        }
        for (int64_t i = j; i < to; i++) in[i - j] = x[i];
        mask(w, d->drop, scale, in, out);
        for (int64_t i = j; i < to; i++) y[i] = out[i - j];
    }
}

static void drop(const struct wl_dropout *d, const float *restrict x, float *restrict y)
{
    const int64_t part = 64 * GROUP, parts = (d->f + part - 1) / part; /* of a sample; 32 KiB */
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < d->n * parts; i++) {
        int64_t row = i / parts, from = i % parts * part, to = from + part < d->f ? from + part : d->f;
        drop_part(d, d->sample + row, from, to, x + row * d->f, y + row * d->f);
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
