/* Batch norm of an image in NHWC, alone or with the sum that reads its result. */
#ifndef WL_NN_GPU_KERNELS_BATCH_NORM_H
#define WL_NN_GPU_KERNELS_BATCH_NORM_H

#include "nn/gpu/kernels/tiles.h"

/* How backward recovers which elements a relu passed. */
enum wl_gpu_norm_relu {
    WL_GPU_NORM_NO_RELU,     /* there was none */
    WL_GPU_NORM_RELU_FROM_X, /* what the forward pass computed of x is positive */
    WL_GPU_NORM_RELU_FROM_Y  /* y > 0: something was added to it */
};

/* Arguments of all kernels. The images are of the kernel's type, channels' numbers f32 [channels].
 *
 * Forward: batch_norm_sums leaves in `parts` each block's sums of x and x^2 around the first pixel's x;
 * batch_norm_moments makes mean and (biased) var of them, or batch_norm_moments_of_sums
 * of the sums that are there; batch_norm_apply writes y = (x - mean) scale + beta [+ z].
 * Backward, d = dy where the relu passed: batch_norm_reduce leaves sums of d and d (x - mean), and writes d itself with
 * RELU_FROM_Y; batch_norm_gradients makes dgamma, dbeta and `slope` of them; batch_norm_spread writes
 * dx = slope[0] d + slope[1] (x - mean) + slope[2]. */
struct wl_gpu_batch_norm {
    const void *x;
    const void *z; /* NULL: nothing is added; y may be z */
    void *y;
    const void *dy;
    void *d, *dx; /* d may be dy, dx may be either */
    const float *gamma, *beta;
    float *mean, *var;
    float *dgamma, *dbeta;
    float *parts;               /* [n_parts,2,tiles.width] */
    const float *sum, *squares; /* of x and x^2, f32 [channels] */
    float *slope;               /* [3,tiles.width] */
    struct wl_gpu_tiles tiles;
    struct wl_gpu_slice of_y, of_dy; /* x, z, d and dx are tiles.width apart */
    int32_t channels, n_parts;
    int32_t relu; /* forward: 0, 1; backward: enum wl_gpu_norm_relu */
    float eps;
};

#endif
