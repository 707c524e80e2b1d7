/* What kernels on images in NHWC share: eight channels of a pixel at a time. Channels that only pad an image are 0 and
 * stay 0. */
#ifndef WL_NN_GPU_KERNELS_IMAGE_H
#define WL_NN_GPU_KERNELS_IMAGE_H

#include "nn/gpu/kernels/tiles.h"
#include "nn/gpu/kernels/vector.h"

/* Eight numbers that are `whole`: all there, and aligned to 16 bytes; or the first `count` of them one by one, the
 * others being read as 0 and not written. */
template <typename T> WL_DEVICE void wl_load_some(const T *from, bool whole, int64_t count, float to[WL_PACK])
{
    if (whole) {
        wl_load8(from, to);
        return;
    }
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) to[i] = i < count ? wl_load(from[i]) : 0;
}

template <typename T> WL_DEVICE void wl_store_some(T *to, bool whole, int64_t count, const float from[WL_PACK])
{
    if (whole) {
        wl_store8(to, from);
        return;
    }
#pragma unroll
    for (int i = 0; i < WL_PACK; i++)
        if (i < count) to[i] = wl_narrow<T>(from[i]);
}

/* A thread's part of struct wl_gpu_tiles: eight channels from `channel`, of pixels `first`, `first` + `step` ... */
struct wl_tile_part {
    int64_t first, step;
    int channel, row, rows;
    bool idle; /* this thread has no channels */
};

WL_DEVICE struct wl_tile_part wl_tile_part_of(const struct wl_gpu_tiles &t)
{
    struct wl_tile_part p;
    p.rows = (int)blockDim.x / t.groups;
    p.row = (int)threadIdx.x / t.groups;
    p.channel = ((int)blockIdx.y * t.groups + (int)threadIdx.x % t.groups) * WL_PACK;
    p.first = (int64_t)blockIdx.x * p.rows + p.row;
    p.step = (int64_t)gridDim.x * p.rows;
    p.idle = p.row >= p.rows || p.channel >= t.width;
    return p;
}

#endif
