/* Layer norm by row of z = x + dropout(branch): hat = (z - mean)/sqrt(var + eps), y = gamma hat + beta. All [rows,f] of
 * the kernel's type, x also f32; inverse [rows] f32. */
#ifndef WL_NN_GPU_KERNELS_LAYER_NORM_H
#define WL_NN_GPU_KERNELS_LAYER_NORM_H

#include "nn/gpu/kernels/dropout.h"

enum {
    WL_GPU_NORM_THREADS = 256,
    WL_GPU_NORM_WARPS = 8,    /* rows of a block at a time where a warp takes one */
    WL_GPU_NORM_WARP_F = 1024 /* longest row that a warp takes */
};

/* Kernels layer_norm_warp_f32, _bf16, _f16, where a warp takes a row: f a multiple of 8, of 128 where elements are
 * dropped. layer_norm_block_...: any f, with f floats of dynamic shared memory. hat, inverse NULL: not kept. Reads x
 * and branch, writes y and hat, once each. */
struct wl_gpu_layer_norm {
    const void *x, *branch; /* branch NULL: none */
    const float *gamma, *beta;
    void *y, *hat;
    float *inverse;
    int64_t rows; /* less than 2^32 */
    int32_t f, x_f32;
    int32_t sample_rows; /* of a sample: drop.f/f */
    float eps;
    struct wl_gpu_dropout drop;
};

/* With g = gamma dy: dz = inverse (g - mean(g) - hat mean(g hat)), and dbranch = dropout(dz), which may be NULL. dz may
 * be dy. parts [blocks,2,f]: of the rows of each block the sums dy hat, for dgamma, and dy, for dbeta. Kernels
 * layer_norm_backward_warp_...; layer_norm_backward_block_... with 2 f floats of dynamic shared memory. Reads dy and
 * hat, writes dz and dbranch, once each. */
struct wl_gpu_layer_norm_backward {
    const void *dy, *hat;
    const float *inverse, *gamma;
    void *dz, *dbranch;
    float *parts;
    int64_t rows;
    int32_t f, sample_rows;
    struct wl_gpu_dropout drop;
};

#endif
