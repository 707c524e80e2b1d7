/* Arguments of pixels.cu. */
#ifndef WL_NN_GPU_KERNELS_PIXELS_H
#define WL_NN_GPU_KERNELS_PIXELS_H

#include <stdint.h>

enum { WL_GPU_PIXEL_THREADS = 256, WL_GPU_PIXEL_CHANNELS = 4 };

/* Blocks in x go over `area`, blocks in y over the n images. */
struct wl_gpu_pixels {
    const uint8_t *x; /* [n,channels,area] */
    void *y;          /* [n,area,padded] */
    int64_t n;
    uint32_t area;
    int32_t channels, padded; /* padded is `channels` or 8 */
    float scale[WL_GPU_PIXEL_CHANNELS], shift[WL_GPU_PIXEL_CHANNELS];
};

#endif
