/* relative_l2: of n samples of f numbers x and targets t the sum of |x - t|/|t|. A sample whose target begins with NAN
 * is padding. x and dx of the kernel's type, t f32. */
#ifndef WL_NN_GPU_KERNELS_RELATIVE_L2_H
#define WL_NN_GPU_KERNELS_RELATIVE_L2_H

#include "nn/gpu/kernels/run_block.h"

enum {
    WL_GPU_DISTANCE_THREADS = 256,
    WL_GPU_DISTANCE_PART = 8192 /* elements of a block's sums: 32 of a thread, in f32 */
};

/* Kernels distance_parts_f32, _bf16, _f16: parts [n,ceil(f/PART),2], the sums of (x - t)^2 and t^2. A grid of (parts of
 * a sample, n). Then distance_sum, one block: the sums of parts in double, the loss, and scale [n], what (x - t) is
 * multiplied with in the gradient: weight/(|x - t| |t| samples), 0 in padding and where x = t. */
struct wl_gpu_distance_parts {
    const void *x;
    const float *t;
    float *parts;
    int64_t f;
};
struct wl_gpu_distance_sum {
    const float *parts, *t;
    float *loss, *scale; /* loss: the mean over the samples */
    struct wl_gpu_counts *counts;
    int64_t n, f, n_parts; /* of a sample */
    double weight;
    int32_t counts_samples, step; /* step: the number for counts->error_step */
};

/* dx = scale (x - t), 0 where scale is. Kernels distance_backward_...: a grid of (blocks for f/8, n). */
struct wl_gpu_distance_backward {
    const void *x;
    const float *t, *scale;
    const struct wl_gpu_run *run; /* its loss_scale multiplies dx */
    void *dx;
    int64_t f;
};

#endif
