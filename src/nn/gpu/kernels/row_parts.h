/* Sums over rows in parts of fixed bounds, then of the parts in a fixed order. */
#ifndef WL_NN_GPU_KERNELS_ROW_PARTS_H
#define WL_NN_GPU_KERNELS_ROW_PARTS_H

#include <stdint.h>

/* Part p is at + p * apart; apart is a multiple of 4. */
struct wl_gpu_row_parts {
    float *at;
    int64_t apart;
    int32_t n;
};

/* The sums of the parts: of their first n_first numbers to `first`, of the n_second after them to `second`. Kernel
 * sum_row_parts: a block makes WL_GPU_ROW_SUMS numbers. */
struct wl_gpu_sum_row_parts {
    struct wl_gpu_row_parts parts;
    float *first, *second;
    int64_t n_first, n_second;
};
enum { WL_GPU_ROW_SUMS = 32 };

#endif
