/* Fields and positions. */
#ifndef WL_NN_GPU_KERNELS_FIELDS_H
#define WL_NN_GPU_KERNELS_FIELDS_H

#include <stdint.h>

enum { WL_GPU_FIELD_THREADS = 256 };

/* Between images [n,c,h,w] and their squares of `side` as rows [n (h/side) (w/side), c side side], in which neighbours
 * by channel, line and point are that far apart. Kernels patches_f32, _bf16, _f16: a block takes a line of an image,
 * all channels of 256 points, so that rows with the channels last come from the cache after the first channel. A grid
 * of (n h, ceil(w/256)). Reads and writes each element once. */
struct wl_gpu_patches {
    const void *from;
    void *to;
    int32_t n, c, h, w, side;
    int32_t channel, line, point;
    int32_t to_image; /* from rows; else from an image */
};

/* y = x + p for each of n pieces of `size` numbers; x of the kernel's type, y also f32, p f32. Kernels position_...: a
 * grid of (blocks for size/8, n). */
struct wl_gpu_position {
    const void *x;
    const float *p;
    void *y;
    int64_t n, size;
    int32_t y_f32;
};

/* to[i] = the sum over k < n of x[k,i], in order, for i < size; 0 from there to `room`. Kernels sum_pieces_...: reads
 * each element once. */
struct wl_gpu_sum_pieces {
    const void *x;
    float *to;
    int64_t n, size, room;
};

#endif
