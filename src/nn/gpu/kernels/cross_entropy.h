/* Cross entropy of rows of logits. */
#ifndef WL_NN_GPU_KERNELS_CROSS_ENTROPY_H
#define WL_NN_GPU_KERNELS_CROSS_ENTROPY_H

#include "nn/gpu/kernels/run_block.h"

/* What is known of a row with a label: the logarithm of its sum of exponents, its loss, and how many classes rank
 * before the label. */
enum wl_gpu_entropy_fact { WL_GPU_ENTROPY_LOG_SUM, WL_GPU_ENTROPY_LOSS, WL_GPU_ENTROPY_RANK, WL_GPU_ENTROPY_FACTS };

/* x, dx [n,k], of the kernel's type; labels [n], below 0: the row does not count; facts [WL_GPU_ENTROPY_FACTS,n].
 * cross_entropy: a block a row, writes the facts. cross_entropy_sum: one block, adds them up in order, writes the mean
 * loss and `scale` = weight / rows that count, and adds to *counts. cross_entropy_backward: a block a row,
 * dx = scale (softmax - 1 at the label). */
struct wl_gpu_cross_entropy {
    const void *x;
    void *dx;
    const int32_t *labels;
    float *facts, *loss, *scale;
    struct wl_gpu_counts *counts;
    const struct wl_gpu_run *run; /* backward: its loss_scale multiplies dx */
    int64_t n, k;
    double weight;
    int32_t counts_samples; /* of several losses one counts the samples */
};

#endif
