/* The real cuDNN, where it is installed, plans for GPUs that need not be here. */
#ifndef WL_TESTS_GPU_REAL_CUDNN_H
#define WL_TESTS_GPU_REAL_CUDNN_H

#include "nn/gpu/dnn/dnn.h"

/* Is it there? It finds the libcuda that it needs, `libcuda`, by its name among those that are loaded. *e says why not.
 */
bool cudnn_is_installed(const char *libcuda, struct wl_err *e);

/* Opens it for FIXTURES/GPU.json. */
int describe_gpu(struct wl_gpu_dnn **out, const char *fixtures, const char *gpu, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

#endif
