/* Sums by column, in two steps: of parts of the rows, then of the parts in order. The same bits every time. */
#ifndef WL_NN_GPU_KERNELS_SUMS_H
#define WL_NN_GPU_KERNELS_SUMS_H

#include <stdint.h>

/* to[j] = the sum over i < n of parts[i,j], j < size; n f32 sums one after the other. 4 n bytes an element. Kernel
 * sum_parts, 256 threads; one element a thread. */
struct wl_gpu_sum_parts {
    const float *parts;
    float *to;
    int64_t n, size;
};

/* parts[i,j] = the sum of x[r,j] over the rows r of part i, which are rows i * of_part to (i + 1) * of_part - 1.
 * x [rows,f]  parts [ceil(rows/of_part),f]. Kernels column_sums_f32, _bf16, _f16: 256 threads; a grid of
 * (ceil(f/256), parts). Reads each element once. */
struct wl_gpu_column_sums {
    const void *x;
    float *parts;
    int64_t rows, f, of_part;
};

#endif
