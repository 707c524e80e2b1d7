/* Masks of dropout for kernels, bit for bit those of nn/ref: element j of sample s is kept where a number of 16 bits is
 * at least `drop`. With group g = j/128, k = j%128/16 and l = j%16 that is half k%2 of word k/2 of Philox's block
 * s 2^32 + 16 g + l (nn/lowering/kernels.h). */
#ifndef WL_NN_GPU_KERNELS_DROPOUT_MASK_H
#define WL_NN_GPU_KERNELS_DROPOUT_MASK_H

#include "nn/gpu/kernels/device.h"
#include "nn/gpu/kernels/dropout.h"

enum { WL_MASK_GROUP = 128, WL_MASK_WORDS = 8 };

/* Philox 4x32-10 as base/random.c. */
WL_DEVICE void wl_philox_block(uint64_t key, uint64_t stream, uint64_t index, uint32_t out[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32), c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)c0 * 0xD2511F53u, b = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

WL_DEVICE void wl_mask_block(const struct wl_gpu_dropout &d, int64_t sample, int64_t group, int lane, uint32_t out[4])
{
    const uint64_t s = (uint64_t)(d.run->first_sample + sample);
    wl_philox_block(d.key, (uint64_t)d.run->update, s << 32 | (uint64_t)(group * 16 + lane), out);
}

/* Is element j of `sample` kept? A Philox block for one element: for rows that begin within a group. */
WL_DEVICE bool wl_mask_kept(const struct wl_gpu_dropout &d, int64_t sample, int64_t j)
{
    const int k = (int)(j % WL_MASK_GROUP / 16);
    uint32_t w[4];
    if (!d.drop) return true;
    wl_mask_block(d, sample, j / WL_MASK_GROUP, (int)(j % 16), w);
    const uint32_t pair = k < 4 ? (k < 2 ? w[0] : w[1]) : (k < 6 ? w[2] : w[3]);
    return (pair >> (k % 2 * 16) & 0xffffu) >= d.drop;
}

/* By a whole warp: two groups, lanes 0 to 15 drawing group g0 of sample s0, lanes 16 to 31 group g1 of s1. Bit l of
 * word[k] is that of element 16 k + l of the first group, bit 16 + l of the second; 1: kept. */
WL_DEVICE void wl_mask_groups(const struct wl_gpu_dropout &d, int64_t s0, int64_t g0, int64_t s1, int64_t g1, int lane,
                              uint32_t word[WL_MASK_WORDS])
{
    uint32_t w[4];
    wl_mask_block(d, lane < 16 ? s0 : s1, lane < 16 ? g0 : g1, lane % 16, w);
#pragma unroll
    for (int k = 0; k < WL_MASK_WORDS; k++)
        word[k] = __ballot_sync(0xffffffffu, (w[k / 2] >> (k % 2 * 16) & 0xffffu) >= d.drop);
}

/* By a whole warp: of 256 neighbours, from the beginning of group g of a sample on, the bits of this lane's eight:
 * elements 8 lane + i. */
WL_DEVICE uint32_t wl_mask_eight(const struct wl_gpu_dropout &d, int64_t sample, int64_t g, int lane)
{
    uint32_t w[4], mine = 0;
    wl_mask_block(d, sample, lane < 16 ? g : g + 1, lane % 16, w);
#pragma unroll
    for (int k = 0; k < WL_MASK_WORDS; k++) {
        const uint32_t word = __ballot_sync(0xffffffffu, (w[k / 2] >> (k % 2 * 16) & 0xffffu) >= d.drop);
        if (k == lane % 16 / 2) mine = word;
    }
    return mine >> (lane / 16 * 16 + lane % 2 * 8) & 0xffu;
}

#endif
