/* What changes from run to run, in the device's memory: kernels read it there, so that a captured graph stays valid. */
#ifndef WL_NN_GPU_KERNELS_RUN_BLOCK_H
#define WL_NN_GPU_KERNELS_RUN_BLOCK_H

#include <stdint.h>

/* Written by begin. */
struct wl_gpu_run {
    int64_t update;       /* optimizer steps of the training before this one */
    int64_t first_sample; /* of this micro-batch, among those of the optimizer step and of all ranks */
    float loss_scale;     /* by which losses multiply their gradients */
};

/* Read by end. Losses add to it, by one thread at a time. */
struct wl_gpu_counts {
    double loss_sum;
    int64_t samples, top1, top5;
    uint32_t not_finite; /* a loss */
    uint32_t overflow;   /* sums of gradients are not finite */
    uint32_t error;      /* enum wl_gpu_error of the first step that found one; 0: none */
    int32_t error_step;  /* its number in the program */
};

enum wl_gpu_error {
    WL_GPU_NO_ERROR,
    WL_GPU_ZERO_TARGET, /* relative_l2: a target that is 0 everywhere */
};

#endif
