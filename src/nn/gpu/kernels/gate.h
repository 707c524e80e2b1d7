/* Arguments of gate.cu: y = x (basis w').  x, y, dy, dx [rows,f]  basis, d_basis [rows,k]  w [f,k] */
#ifndef WL_NN_GPU_KERNELS_GATE_H
#define WL_NN_GPU_KERNELS_GATE_H

#include "nn/gpu/kernels/row_parts.h"

/* Kernel gate: blocks of 128 threads share the rows. */
struct wl_gpu_gate {
    const int32_t *rows;
    const float *x, *basis, *w;
    float *y;
    int32_t f, k;
};

/* Kernel gate_backward, 128 threads: block p makes part p of dw [f,k]. `add`: to d_basis. */
struct wl_gpu_gate_backward {
    const int32_t *rows;
    const float *x, *basis, *w, *dy;
    float *dx, *d_basis;
    struct wl_gpu_row_parts parts;
    int32_t f, k, add;
};

#endif
