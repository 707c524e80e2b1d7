/* How an operation drops elements out (nn/lowering/kernels.h, struct wl_dropout), as kernels take it. */
#ifndef WL_NN_GPU_KERNELS_DROPOUT_H
#define WL_NN_GPU_KERNELS_DROPOUT_H

#include "nn/gpu/kernels/run_block.h"

struct wl_gpu_dropout {
    const struct wl_gpu_run *run; /* the update and the number of the first sample */
    uint64_t key;
    int64_t f;     /* elements of a sample */
    uint32_t drop; /* of 65536; 0: nothing is dropped, as in evaluation */
    float scale;   /* of what is kept: 65536/(65536 - drop) */
};

#endif
