/* Bytes of images as they are in files to normalised numbers in NHWC, as the first convolution reads them. A thread
 * takes a pixel: a warp reads 32 neighbouring bytes of each channel and writes 32 neighbouring pixels. For 3 channels:
 * 3 bytes a pixel are read, 16 of 16-bit numbers or 12 of f32 are written. */
#include "nn/gpu/kernels/pixels.h"

#include "nn/gpu/kernels/image.h"

/* Rounded twice, as on processors: no fused product. */
WL_DEVICE float normalised(uint8_t v, float scale, float shift) { return __fadd_rn(__fmul_rn((float)v, scale), shift); }

template <typename T> WL_DEVICE void pixel(const struct wl_gpu_pixels &a, const uint8_t *x, T *y)
{
    float v[WL_PACK] = { 0 };
#pragma unroll
    for (int c = 0; c < WL_GPU_PIXEL_CHANNELS; c++)
        if (c < a.channels) v[c] = normalised(x[(int64_t)c * a.area], a.scale[c], a.shift[c]);
    wl_store_some(y, a.padded == WL_PACK, a.padded, v);
}

template <typename T> WL_DEVICE void pixels(const struct wl_gpu_pixels &a)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.area) return;
    for (int64_t n = blockIdx.y; n < a.n; n += gridDim.y)
        pixel(a, a.x + n * a.channels * a.area + i, (T *)a.y + (n * a.area + i) * a.padded);
}

WL_KERNEL(pixels_f32, WL_GPU_PIXEL_THREADS, struct wl_gpu_pixels) { pixels<float>(a); }
WL_KERNEL(pixels_bf16, WL_GPU_PIXEL_THREADS, struct wl_gpu_pixels) { pixels<struct wl_bf16>(a); }
WL_KERNEL(pixels_f16, WL_GPU_PIXEL_THREADS, struct wl_gpu_pixels) { pixels<struct wl_f16>(a); }
