/* The passes of a convolution, which its rule runs and which are measured before (conv2d_autotune.c). */
#ifndef WL_NN_GPU_OPS_CONV2D_H
#define WL_NN_GPU_OPS_CONV2D_H

#include "nn/gpu/dnn/dnn.h"

/* The relu that alone reads the result and may take its place; NULL: there is none. */
const struct wl_node *wl_gpu_conv_relu(const struct wl_program *p, const struct wl_node *n);

/* A pass of node n, with what is fused with it where there is an engine for that. The weights' gradient is of the
 * values' type. */
struct wl_gpu_conv wl_gpu_conv_of(const struct wl_program *p, const struct wl_node *n, enum wl_gpu_conv_pass pass);

/* The forward pass of node n with sums for the batch norm that alone reads it, in training. False: there is none, or
 * channels are padded, or values are f32, whose sums batch norm takes around a value of the channel. */
bool wl_gpu_conv_with_sums(const struct wl_program *p, const struct wl_node *n, struct wl_gpu_conv *c);

/* Sums by channel over a convolution's result and over its square, f32 [K], that its step leaves in training; NULL: it
 * does not. */
struct wl_gpu_conv_sums {
    struct wl_buf *sum, *squares;
};
const struct wl_gpu_conv_sums *wl_gpu_conv_sums_of(const struct wl_program *p, const struct wl_tensor *result);

/* Measures the plans of each convolution's pass that the table does not know (conv2d_autotune.c). */
int wl_gpu_conv_autotune(struct wl_program *p, struct wl_choices *choices, struct wl_err *e) WL_MUST_CHECK;

#endif
