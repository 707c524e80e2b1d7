/* How the threads of a grid divide an image in NHWC: a thread keeps to eight channels and walks over pixels. */
#ifndef WL_NN_GPU_KERNELS_TILES_H
#define WL_NN_GPU_KERNELS_TILES_H

#include <stdint.h>

enum { WL_GPU_TILE_THREADS = 256, WL_GPU_TILE_GROUPS = 32 };

struct wl_gpu_tiles {
    int64_t pixels;
    int32_t width;   /* channels that are read or written, padding included */
    int32_t groups;  /* of eight channels: what a block takes side by side */
    int32_t aligned; /* every group begins at a multiple of 16 bytes and is whole */
};

/* A part of the channels of every pixel: from channel `at` of `stride`. */
struct wl_gpu_slice {
    int32_t at, stride;
};

#endif
