/* Between runs: optimizers (nn/optim/optim.h says what they compute), running statistics; and moments in a run. */
#ifndef WL_NN_GPU_KERNELS_UPDATE_H
#define WL_NN_GPU_KERNELS_UPDATE_H

#include <stdint.h>

/* Spans of parameters. Blocks first_block to those of the next span belong to span i, WL_GPU_SPAN_BLOCK numbers each.
 * As many as the 4 KB of a kernel's arguments hold. */
enum { WL_GPU_SPANS = 64, WL_GPU_SPAN_BLOCK = 2048 };
struct wl_gpu_span {
    float *w;
    const float *g;
    float *slot[2];
    int64_t n;
    float decay;
    int32_t first_block;
};

/* Kernel sgd, 20 bytes a number. */
struct wl_gpu_sgd {
    struct wl_gpu_span span[WL_GPU_SPANS];
    int32_t spans, nesterov;
    float scale, momentum, rate;
};

/* Kernel adam, 28 bytes a number. adamw: the decay shrinks the parameters instead of being added to the gradient; span
 * i by 1 - lr * decay. rate and root hold the corrections by step (nn/host/optim.c). */
struct wl_gpu_adam {
    struct wl_gpu_span span[WL_GPU_SPANS];
    int32_t spans, shrinks;
    float scale, beta[2], rest[2], lr, rate, root, eps;
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

/* Kernel sum_moments: sum = (first ? 0 : sum) + factor * of, n numbers of the mean and of the variance. */
struct wl_gpu_moments {
    const float *of[2];
    float *sum[2];
    float factor[2];
    int64_t n;
    int32_t first;
};

#endif
