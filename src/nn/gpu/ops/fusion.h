/* Work that one step of cuDNN can do in place of several: whether it does is a question for the table of choices,
 * unless p->fuse says so (docs/adr/132). */
#ifndef WL_NN_GPU_OPS_FUSION_H
#define WL_NN_GPU_OPS_FUSION_H

#include "nn/gpu/dnn/dnn.h"

/* A projection with its bias and gelu, as a convolution of one image with a pixel a row. False: n has none, or values
 * are not of 16 bits, or features are not a multiple of 8. */
bool wl_gpu_project_with_gelu(const struct wl_program *p, const struct wl_node *n, struct wl_gpu_conv *c);

#endif
