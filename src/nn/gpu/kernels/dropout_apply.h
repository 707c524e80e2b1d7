/* Dropout as an operation of its own. */
#ifndef WL_NN_GPU_KERNELS_DROPOUT_APPLY_H
#define WL_NN_GPU_KERNELS_DROPOUT_APPLY_H

#include "nn/gpu/kernels/dropout.h"

/* y = x where kept, scaled; n samples of drop.f elements, plain. Kernels dropout_f32, _bf16, _f16. */
struct wl_gpu_dropout_apply {
    const void *x;
    void *y;
    int64_t n;
    struct wl_gpu_dropout drop;
};

#endif
