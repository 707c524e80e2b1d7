/* Attention in tiles, whose scores stay in registers (Dao et al. 2022, arXiv:2205.14135), with dropout by position:
 * scores are recomputed in the backward pass. x [n,s,3 heads f] holds q, k and v; y, dy [n,s,heads f]; lse, delta
 * [n,heads,s] f32; lengths [n]. A kernel's name has the number of features that it takes, f <= 32 or 64:
 * attention_32_f32, attention_64_bf16 ... */
#ifndef WL_NN_GPU_KERNELS_ATTENTION_H
#define WL_NN_GPU_KERNELS_ATTENTION_H

#include "nn/gpu/kernels/dropout.h"

/* Queries or keys of a block, and of the tiles that it goes over. In f32, where the factors that a warp keeps are in
 * shared memory too, these are smaller: 64 KiB, as sm_75 has, are enough. */
enum {
    WL_GPU_ATTENTION_QUERIES = 64,   /* of a block of attention_ and attention_dq_: 128 threads */
    WL_GPU_ATTENTION_DKV_KEYS = 128, /* of a block of attention_dkv_: 256 threads; in f32 64 and 128 */
    WL_GPU_ATTENTION_DKV_KEYS_F32 = 64
};

/* Bytes of a row of a tile, `size` those of a number; and of dynamic shared memory. */
#define WL_GPU_ATTENTION_ROW(features, size) ((features) * (size) + 16)
#define WL_GPU_ATTENTION_SHARED(features, size) \
    (((size) == 4 ? 2 * 64 : 2 * 128) * WL_GPU_ATTENTION_ROW(features, size) + 64 * 16)
#define WL_GPU_ATTENTION_DQ_SHARED(features, size) \
    (((size) == 4 ? 2 * (64 + 32) : 2 * 128) * WL_GPU_ATTENTION_ROW(features, size) + 64 * 16)
#define WL_GPU_ATTENTION_DKV_SHARED(features, size) \
    (((size) == 4 ? 2 * (64 + 32) : 2 * 64) * WL_GPU_ATTENTION_ROW(features, size) + 64 * (16 + 8))

/* attention_...: y, and lse, the binary logarithm of the sum over keys of 2^(score log2 e), where it is not NULL. A
 * grid of (ceil(s/64), heads, n). drop.f = heads s s. attention_delta_...: delta = the sum of dy y over a head's
 * features; a warp a row of all heads. attention_dq_...: the queries' part of dx; the grid of the forward pass.
 * attention_dkv_...: the keys' and the values'; a grid of (ceil(s/128), heads, n). Each makes the scores again: 7
 * products in all where one pass with sums by atomics makes 5, but the same bits every time. */
struct wl_gpu_attention {
    const void *x;
    const int32_t *lengths;
    void *y;
    float *lse;
    int32_t n, s, heads, f;
    float scale; /* 1/sqrt f */
    struct wl_gpu_dropout drop;
};
struct wl_gpu_attention_backward {
    const void *x, *y, *dy;
    const int32_t *lengths;
    const float *lse;
    float *delta;
    void *dx;
    int32_t n, s, heads, f;
    float scale;
    struct wl_gpu_dropout drop;
};

#endif
