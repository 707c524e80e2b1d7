/* Every kernel reads each number once and writes it once. */
#include "nn/gpu/kernels/layout.h"

#include "nn/gpu/kernels/image.h"

template <typename From, typename To> WL_DEVICE void copy_channels(const struct wl_gpu_copy_channels &a)
{
    const struct wl_tile_part p = wl_tile_part_of(a.tiles);
    if (p.idle) return;
    const From *from = (const From *)a.from + a.of_from.at + p.channel;
    To *to = (To *)a.to + a.of_to.at + p.channel;
    const int64_t some = a.channels - p.channel;
    for (int64_t i = p.first; i < a.tiles.pixels; i += p.step) {
        float v[WL_PACK];
        wl_load_some(from + i * a.of_from.stride, a.tiles.aligned && some >= WL_PACK, some, v);
        wl_store_some(to + i * a.of_to.stride, a.tiles.aligned, a.tiles.width - p.channel, v);
    }
}

/* Neighbouring threads take neighbouring pixels, eight channels each: plain memory is read or written in whole lines,
 * pixels in pieces of eight numbers. */
template <typename From, typename To> WL_DEVICE void to_channels_last(const struct wl_gpu_transpose &a)
{
    const uint32_t groups = (a.padded + WL_PACK - 1) / WL_PACK, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= groups * a.area) return;
    const uint32_t c = i / a.area * WL_PACK, pixel = i % a.area;
    for (int64_t n = blockIdx.y; n < a.n; n += gridDim.y) {
        const From *from = (const From *)a.from + (n * a.channels + c) * a.area + pixel;
        float v[WL_PACK];
#pragma unroll
        for (uint32_t k = 0; k < WL_PACK; k++) v[k] = c + k < a.channels ? wl_load(from[(int64_t)k * a.area]) : 0;
        wl_store_some((To *)a.to + (n * a.area + pixel) * a.padded + c, a.aligned, (int64_t)a.padded - c, v);
    }
}

template <typename From, typename To> WL_DEVICE void from_channels_last(const struct wl_gpu_transpose &a)
{
    const uint32_t groups = (a.channels + WL_PACK - 1) / WL_PACK, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= groups * a.area) return;
    const uint32_t c = i / a.area * WL_PACK, pixel = i % a.area;
    for (int64_t n = blockIdx.y; n < a.n; n += gridDim.y) {
        To *to = (To *)a.to + (n * a.channels + c) * a.area + pixel;
        float v[WL_PACK];
        wl_load_some((const From *)a.from + (n * a.area + pixel) * a.padded + c, a.aligned, (int64_t)a.padded - c, v);
#pragma unroll
        for (uint32_t k = 0; k < WL_PACK; k++)
            if (c + k < a.channels) to[(int64_t)k * a.area] = wl_narrow<To>(v[k]);
    }
}

#define KERNELS(from, From, to, To)                                                                            \
    WL_KERNEL(copy_channels_##from##_##to, 256, struct wl_gpu_copy_channels) { copy_channels<From, To>(a); }   \
    WL_KERNEL(to_channels_last_##from##_##to, 256, struct wl_gpu_transpose) { to_channels_last<From, To>(a); } \
    WL_KERNEL(from_channels_last_##from##_##to, 256, struct wl_gpu_transpose) { from_channels_last<From, To>(a); }

KERNELS(f32, float, f32, float)
KERNELS(f32, float, bf16, struct wl_bf16)
KERNELS(f32, float, f16, struct wl_f16)
KERNELS(bf16, struct wl_bf16, f32, float)
KERNELS(bf16, struct wl_bf16, bf16, struct wl_bf16)
KERNELS(f16, struct wl_f16, f32, float)
KERNELS(f16, struct wl_f16, f16, struct wl_f16)
