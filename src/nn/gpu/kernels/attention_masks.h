/* Masks of attention: the part of a head that a block works on. */
#ifndef WL_NN_GPU_KERNELS_ATTENTION_MASKS_H
#define WL_NN_GPU_KERNELS_ATTENTION_MASKS_H

#include "nn/gpu/kernels/attention.h"
#include "nn/gpu/kernels/dropout_mask.h"
#include "nn/gpu/kernels/mma.h"

/* Of a query 128 keys, as bits: word k has keys 16 k to 16 k + 15. */
struct alignas(16) wl_mask_row {
    uint32_t pair[4]; /* words 2 i and 2 i + 1 */
};

/* Word `lane`%8 of the 128 elements from element `shift` on of the two groups that `word` holds. */
WL_DEVICE uint32_t wl_mask_window(const uint32_t word[WL_MASK_WORDS], int shift)
{
    const int at = shift / 16 + (int)threadIdx.x % 8;
    uint32_t low = 0, high = 0;
#pragma unroll
    for (int k = 0; k < WL_MASK_WORDS; k++) {
        if ((at & 7) == k) low = word[k];
        if (((at + 1) & 7) == k) high = word[k];
    }
    low = at < 8 ? low & 0xffffu : low >> 16;
    high = at + 1 < 8 ? high & 0xffffu : high >> 16;
    return (low | high << 16) >> shift % 16 & 0xffffu;
}

/* Rows `from` to `to` - 1 of `table` by a warp: queries query + row, the 128 keys from `key` on. Two rows at a time
 * where each row of scores begins with a group of masks. Queries beyond the sample get masks that nobody reads. */
WL_DEVICE void wl_mask_table(const struct wl_gpu_dropout &d, int64_t sample, int64_t head_rows, int s, int query,
                             int key, int from, int to, struct wl_mask_row *table)
{
    const int lane = (int)threadIdx.x % 32, step = s % WL_MASK_GROUP ? 1 : 2;
    uint16_t *words = (uint16_t *)table;
    for (int row = from; row < to; row += step) {
        uint32_t word[WL_MASK_WORDS];
        const int64_t at = (head_rows + query + row) * s + key;
        const int64_t group = at / WL_MASK_GROUP, other = step == 2 ? group + s / WL_MASK_GROUP : group + 1;
        wl_mask_groups(d, sample, group, sample, other, lane, word);
        const int shift = (int)(at % WL_MASK_GROUP) + (step == 2 ? lane / 8 * WL_MASK_GROUP : 0);
        const uint32_t mine = wl_mask_window(word, shift);
        if (lane < 8 * step) words[(row + lane / 8) * 8 + lane % 8] = (uint16_t)mine;
    }
}

/* What a block works on. */
struct wl_head_part {
    int64_t sample, first; /* first: where the head's numbers of the sample's first position begin in [n,s,heads f] */
    int head, length, width;
};

WL_DEVICE struct wl_head_part wl_head_part_of(const int32_t *lengths, int s, int heads, int f)
{
    struct wl_head_part p;
    p.sample = blockIdx.z;
    p.head = (int)blockIdx.y;
    p.width = heads * f;
    p.first = p.sample * s * p.width + (int64_t)p.head * f;
    const int32_t length = lengths[p.sample];
    p.length = length < 0 ? 0 : length < s ? length : s;
    return p;
}

/* Of q, where in x [n,s,3 width]. */
WL_DEVICE int64_t wl_head_x(const struct wl_head_part &p, int s)
{
    return p.first + 2 * p.sample * s * (int64_t)p.width;
}

#endif
