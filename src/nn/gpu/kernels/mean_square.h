/* The loss between two tensors of one shape [n,k], rows whose target begins with a NAN left out. */
#ifndef WL_NN_GPU_KERNELS_MEAN_SQUARE_H
#define WL_NN_GPU_KERNELS_MEAN_SQUARE_H

#include "nn/gpu/kernels/run_block.h"

/* Of some rows: the sum of squares, and how many count. */
struct wl_gpu_loss_part {
    double sum;
    int64_t rows;
};

/* At most so many parts, one for each thread that adds them. */
enum { WL_GPU_LOSS_PARTS = 256 };

/* mean_square_parts: part i of rows i * of_part to (i + 1) * of_part - 1, one block each. x [n,k]  target [n,k]. Reads
 * 8 bytes a number. */
struct wl_gpu_loss_parts {
    const float *x, *target;
    struct wl_gpu_loss_part *parts;
    int64_t n, k, of_part;
};

/* mean_square_total: one block. The parts added to *total, the loss to *loss and to *counts. */
struct wl_gpu_loss_total {
    const struct wl_gpu_loss_part *parts;
    struct wl_gpu_loss_part *total;
    float *loss;
    struct wl_gpu_counts *counts;
    double weight;
    int64_t k;
    int32_t n, counted; /* parts; are these the samples of the run? */
};

/* mean_square_backward: dx = 2 * weight * (x - target)/(rows * k), 0 where a row does not count. 12 bytes a number. */
struct wl_gpu_loss_backward {
    const float *x, *target;
    const struct wl_gpu_loss_part *total;
    float *dx;
    const struct wl_gpu_run *run; /* its loss_scale multiplies dx */
    double weight;
    int64_t n, k;
};

#endif
