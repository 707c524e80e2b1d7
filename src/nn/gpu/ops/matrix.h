/* What linear, project and decoder share: y [m,k] = x [m,f] w' + b, w [k,f]. */
#ifndef WL_NN_GPU_OPS_MATRIX_H
#define WL_NN_GPU_OPS_MATRIX_H

#include "nn/gpu/gpu.h"
#include "nn/graph/shapes.h"

/* All plain; x, y and w in the program's precision. */
struct wl_gpu_matrix_op {
    struct wl_project_shape size;
    const struct wl_tensor *weight, *bias; /* bias NULL: none */
};

/* Emits y = x w' + b. `w` is what was read of the weight, for the backward pass. */
int wl_gpu_matrix_forward(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_matrix_op *op,
                          struct wl_buf *x, struct wl_buf *y, struct wl_buf **w, struct wl_err *e) WL_MUST_CHECK;

/* Emits the gradient of the weight, in f32. */
int wl_gpu_matrix_backward_weights(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_matrix_op *op,
                                   struct wl_buf *x, struct wl_buf *dy, struct wl_err *e) WL_MUST_CHECK;

/* Emits dx = dy w, added to dx with `add`. */
struct wl_gpu_matrix_data {
    struct wl_buf *dy, *w, *dx;
    bool add;
};
int wl_gpu_matrix_backward_data(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_matrix_op *op,
                                const struct wl_gpu_matrix_data *d, struct wl_err *e) WL_MUST_CHECK;

#endif
