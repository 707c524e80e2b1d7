/* What follows a convolution where no engine adds it. */
#ifndef WL_NN_GPU_KERNELS_BIAS_H
#define WL_NN_GPU_KERNELS_BIAS_H

#include <stdint.h>

/* y = y + b of [rows,f], b f32 [f] or NULL, then max(0, .) where relu is set. Reads and writes each element once.
 * Kernels bias_f32, _bf16, _f16: 256 threads, wl_gpu_grid_for(g, rows f, 256, 8). y is aligned to 16 bytes. */
struct wl_gpu_bias {
    void *y;
    const float *b;
    int64_t rows, f;
    int32_t relu;
};

#endif
