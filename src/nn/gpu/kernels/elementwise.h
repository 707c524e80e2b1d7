/* What is computed number by number, whatever the layout: padding that is 0 stays 0. */
#ifndef WL_NN_GPU_KERNELS_ELEMENTWISE_H
#define WL_NN_GPU_KERNELS_ELEMENTWISE_H

#include <stdint.h>

/* y = a + b, then max(0, .) with relu; y may be a or b. Kernels add_A_B_Y by the types of a, b and y, each f32 or the
 * same one of 16 bits: 6 to 12 bytes a number. */
struct wl_gpu_add {
    const void *a, *b;
    void *y;
    int64_t n;
    int32_t relu;
};

/* relu: y = max(0, x), y may be x. relu_backward: dx = dy where y > 0, else 0; dx may be dy. Kernels _f32, _bf16,
 * _f16. */
struct wl_gpu_relu {
    const void *x;
    void *y;
    int64_t n;
};
struct wl_gpu_relu_backward {
    const void *y, *dy;
    void *dx;
    int64_t n;
};

/* Kernels cast_FROM_TO: to the nearest. round_bf16, round_f16: f32 that holds such numbers, in place. */
struct wl_gpu_cast {
    const void *from;
    void *to;
    int64_t n;
};

#endif
