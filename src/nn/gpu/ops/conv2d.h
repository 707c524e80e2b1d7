/* The passes of a convolution, which its rule runs and which are measured before (conv2d_autotune.c). */
#ifndef WL_NN_GPU_OPS_CONV2D_H
#define WL_NN_GPU_OPS_CONV2D_H

#include "nn/gpu/dnn/dnn.h"

/* The relu that alone reads the result and may take its place; NULL: there is none. */
const struct wl_node *wl_gpu_conv_relu(const struct wl_program *p, const struct wl_node *n);

/* A pass of node n, with what is fused with it where there is an engine for that. The weights' gradient is of the
 * values' type. */
struct wl_gpu_conv wl_gpu_conv_of(const struct wl_program *p, const struct wl_node *n, enum wl_gpu_conv_pass pass);

#endif
