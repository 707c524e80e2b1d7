/* Arguments of dense.cu. `rows` points at the count of this run; x [rows,f]  w [k,f]  u, dy, y
 * [rows,k]. */
#ifndef WL_NN_GPU_KERNELS_DENSE_H
#define WL_NN_GPU_KERNELS_DENSE_H

#include "nn/gpu/kernels/row_parts.h"

enum wl_gpu_activation { WL_GPU_LINEAR, WL_GPU_SOFTPLUS, WL_GPU_SWISH }; /* as enum wl_activation */

/* y = residual + act(u), u = x w' + b; b, residual and u may be NULL. */
struct wl_gpu_dense {
    const int32_t *rows;
    const float *x, *w, *b, *residual;
    float *y, *u;
    int32_t f, k, activation;
};

/* With du = dy act'(u) (u NULL: dy): dx = du w, or dx += du w with `add`. */
struct wl_gpu_dense_data {
    const int32_t *rows;
    const float *dy, *u, *w;
    float *dx;
    int32_t f, k, activation, add;
};

/* Part z of the grid: du' x [k,f] and the sums of du [k] over its rows. */
struct wl_gpu_dense_weights {
    const int32_t *rows;
    const float *dy, *u, *x;
    struct wl_gpu_row_parts parts;
    int32_t f, k, activation;
};

#endif
