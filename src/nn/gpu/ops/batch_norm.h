#ifndef WL_NN_GPU_OPS_BATCH_NORM_H
#define WL_NN_GPU_OPS_BATCH_NORM_H

#include "nn/gpu/gpu.h"

/* The backward pass of a sum that a norm has computed: p->saved[sum->out->id].context is that norm. */
int wl_gpu_batch_norm_add_backward(struct wl_program *p, const struct wl_node *sum, struct wl_err *e) WL_MUST_CHECK;

#endif
