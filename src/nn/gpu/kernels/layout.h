/* Copies between types and layouts. `from` and `to` are of the types that the kernel's name ends with. Images [N,C,H,W]
 * and weights [K,C,R,S] alike are n pieces [channels,area]. */
#ifndef WL_NN_GPU_KERNELS_LAYOUT_H
#define WL_NN_GPU_KERNELS_LAYOUT_H

#include "nn/gpu/kernels/tiles.h"

/* copy_channels: `channels` of each pixel, then zeros up to tiles.width. */
struct wl_gpu_copy_channels {
    const void *from;
    void *to;
    struct wl_gpu_tiles tiles;
    struct wl_gpu_slice of_from, of_to;
    int64_t channels;
};

/* to_channels_last: plain pieces to [n,area,padded], with zeros in the padding; from_channels_last: back. */
struct wl_gpu_transpose {
    const void *from;
    void *to;
    int64_t n;
    uint32_t channels, padded, area;
    int32_t aligned; /* `padded` is a multiple of eight */
};

#endif
