/* Sums by column of values [rows,f], in parts of the rows: the gradients of biases. */
#ifndef WL_NN_GPU_OPS_COLUMN_SUMS_H
#define WL_NN_GPU_OPS_COLUMN_SUMS_H

#include "nn/gpu/gpu.h"

/* How the rows are cut: enough blocks of 256 columns to fill a GPU, a number that depends on the shape alone. */
struct wl_gpu_column_parts {
    int64_t n, of_part;
};
struct wl_gpu_column_parts wl_gpu_column_parts(int64_t rows, int64_t f);

/* One block for 256 columns of a part. */
struct wl_gpu_grid wl_gpu_column_parts_grid(const struct wl_gpu_column_parts *v, int64_t f);

/* A buffer for the sums of the parts, f32 [parts,f]. */
struct wl_buf *wl_gpu_column_parts_buf(struct wl_program *p, const struct wl_gpu_column_parts *v, int64_t f);

/* Emits the step to = the sums by column of x, f columns; `to` is f32, the gradient of a parameter. */
int wl_gpu_emit_column_sums(struct wl_program *p, const struct wl_node *n, struct wl_buf *x, int64_t f,
                            struct wl_buf *to, struct wl_err *e) WL_MUST_CHECK;

/* (enqueued) to = the sum of the parts. sum_parts is the kernel of that name. */
int wl_gpu_sum_column_parts(const struct wl_gpu_kernel *sum_parts, const struct wl_gpu_column_parts *v, int64_t f,
                            const float *parts, float *to, struct wl_err *e) WL_MUST_CHECK;

#endif
