/* Activations on rows. gelu(u) = u/2 (1 + erf(u/sqrt 2)), the exact one. */
#ifndef WL_NN_GPU_KERNELS_ACTIVATION_H
#define WL_NN_GPU_KERNELS_ACTIVATION_H

#include <stdint.h>

/* y = gelu(u) of n elements of one type; y may be u. Reads and writes each element once. Kernels gelu_f32, _bf16, _f16:
 * 256 threads, eight elements a thread at a time: wl_gpu_grid_for(g, n, 256, 8). u and y are aligned to 16 bytes. */
struct wl_gpu_gelu {
    const void *u;
    void *y;
    int64_t n;
};

/* du = dy gelu'(u) of [rows,f], and of du, before it is rounded, the sums by column of parts of the rows, as
 * struct wl_gpu_column_sums (sums.h); parts NULL: not wanted. du may be dy. Reads two elements and writes one. Kernels
 * gelu_backward_f32, _bf16, _f16: 256 threads; a grid of (ceil(f/256), ceil(rows/of_part)). */
struct wl_gpu_gelu_backward {
    const void *u, *dy;
    void *du;
    float *parts;
    int64_t rows, f, of_part;
};

#endif
