/* Sums by column, in two steps: of parts of the rows, then of the parts in order. The same bits every time. */
#ifndef WL_NN_GPU_KERNELS_SUMS_H
#define WL_NN_GPU_KERNELS_SUMS_H

#include <stdint.h>

enum {
    WL_GPU_SUM_ROWS = 64,    /* a good of_part */
    WL_GPU_SUM_COLUMNS = 256 /* of a block of column_sums */
};

/* to[j] = the sum over i < n of parts[i,j], j < size; elements from `cut` on go to rest[j - cut] instead (rest NULL:
 * all to `to`). Eight warps of a block take every eighth part of 32 columns, then one adds what they have in order.
 * Kernel sum_parts: 256 threads, ceil(size/32) blocks or fewer. 4 n bytes an element. */
struct wl_gpu_sum_parts {
    const float *parts;
    float *to, *rest;
    int64_t n, size, cut;
};

/* parts[i,j] = the sum of x[r,j] over the rows r of part i, which are rows i * of_part to (i + 1) * of_part - 1.
 * x [rows,f]  parts [ceil(rows/of_part),f]. Kernels column_sums_f32, _bf16, _f16: 256 threads; a grid of
 * (ceil(f/WL_GPU_SUM_COLUMNS), parts). Reads each element once. */
struct wl_gpu_column_sums {
    const void *x;
    float *parts;
    int64_t rows, f, of_part;
};

#endif
