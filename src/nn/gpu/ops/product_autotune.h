/* The algorithms of products of matrices, by measurement. */
#ifndef WL_NN_GPU_OPS_PRODUCT_AUTOTUNE_H
#define WL_NN_GPU_OPS_PRODUCT_AUTOTUNE_H

#include "nn/gpu/gpu.h"

/* Measures for each product that the table does not know. After convolutions and fused steps: which products there are
 * depends on those. */
int wl_gpu_product_autotune(struct wl_program *p, struct wl_choices *choices, struct wl_err *e) WL_MUST_CHECK;

#endif
