/* Between runs: optimizers (nn/optim/optim.h says what they compute), running statistics; and moments in a run. */
#ifndef WL_NN_GPU_KERNELS_UPDATE_H
#define WL_NN_GPU_KERNELS_UPDATE_H

#include "nn/gpu/kernels/run_block.h"

/* Spans of parameters. Blocks first_block to those of the next span belong to span i, WL_GPU_SPAN_BLOCK numbers each.
 * As many as the 4 KB of a kernel's arguments hold. `copy`: the span in 16 bits, NULL: there is none; in lines of
 * `channels` numbers that are `padded` apart, unless both are 0. */
enum { WL_GPU_SPANS = 60, WL_GPU_SPAN_BLOCK = 2048, WL_GPU_SPAN_THREADS = 256 };
struct wl_gpu_span {
    float *w;
    const float *g;
    float *slot[2];
    void *copy;
    int64_t n;
    float decay;
    int32_t first_block, channels, padded;
};

/* Kernel sgd, 20 bytes a number, 22 with a copy: f16 or bf16. */
struct wl_gpu_sgd {
    struct wl_gpu_span span[WL_GPU_SPANS];
    int32_t spans, f16, nesterov;
    float scale, momentum, rate;
};

/* Kernel adam, 28 bytes a number, 30 with a copy. adamw: the decay shrinks the parameters instead of being added to the
 * gradient; span i by 1 - lr * decay. rate and root hold the corrections by step (nn/host/optim.c). */
struct wl_gpu_adam {
    struct wl_gpu_span span[WL_GPU_SPANS];
    int32_t spans, f16, shrinks;
    float scale, beta[2], rest[2], lr, rate, root, eps;
};

/* Kernel copy_parameters: writes the copies. */
struct wl_gpu_copies {
    struct wl_gpu_span span[WL_GPU_SPANS];
    int32_t spans, f16;
};

/* Kernel update_statistics: running += share * (sum / micro_batches - running); block (x, i) of statistic i. */
enum { WL_GPU_STATISTICS = 64 };
struct wl_gpu_statistic {
    float *running;
    const float *sum;
    int64_t n;
    float share;
};
struct wl_gpu_statistics {
    struct wl_gpu_statistic of[WL_GPU_STATISTICS];
    float micro_batches;
};

/* Kernel check_finite: sets counts->overflow where one of n numbers is not finite; v is aligned to 16 bytes. 4 bytes a
 * number. */
struct wl_gpu_finite {
    const float *v;
    int64_t n;
    struct wl_gpu_counts *counts;
};

/* Kernel sum_moments: sum = (first ? 0 : sum) + factor * of, n numbers of the mean and of the variance. */
struct wl_gpu_moments {
    const float *of[2];
    float *sum[2];
    float factor[2];
    int64_t n;
    int32_t first;
};

#endif
