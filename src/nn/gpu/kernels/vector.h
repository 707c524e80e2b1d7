/* Eight neighbouring numbers at once, for kernels: 16 bytes of 16-bit numbers, 32 of float. Addresses are multiples of
 * 16 bytes, so rows have a multiple of 8 numbers. */
#ifndef WL_NN_GPU_KERNELS_VECTOR_H
#define WL_NN_GPU_KERNELS_VECTOR_H

#include "nn/gpu/kernels/device.h"

enum { WL_PACK = 8 };

struct alignas(16) wl_quad {
    uint32_t word[4];
};

/* As they are in memory, in as few registers. Words, not numbers: the compiler takes stores of 16-bit members apart. */
template <typename T> struct wl_pack {
    struct wl_quad quad[sizeof(T) / 2];
};

template <typename T> WL_DEVICE struct wl_pack<T> wl_pack_load(const T *from) {
    struct wl_pack<T> p;
#pragma unroll
    for (int i = 0; i < (int)sizeof(T) / 2; i++) p.quad[i] = ((const struct wl_quad *)from)[i];
    return p;
}

template <typename T>
WL_DEVICE void wl_pack_store(T *to, const struct wl_pack<T> &p)
{
#pragma unroll
    for (int i = 0; i < (int)sizeof(T) / 2; i++) ((struct wl_quad *)to)[i] = p.quad[i];
}

template <typename T> WL_DEVICE float wl_pack_get(const struct wl_pack<T> &p, int i)
{
    T v;
    v.bits = (uint16_t)(p.quad[0].word[i / 2] >> i % 2 * 16);
    return wl_load(v);
}
WL_DEVICE float wl_pack_get(const struct wl_pack<float> &p, int i) { return wl_bits_float(p.quad[i / 4].word[i % 4]); }

/* Two of 16 bits in a word, the first in its low half. One instruction since sm_80. */
template <typename T> WL_DEVICE uint32_t wl_pair(float low, float high)
{
    return wl_narrow<T>(low).bits | (uint32_t)wl_narrow<T>(high).bits << 16;
}
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
template <> __device__ __forceinline__ uint32_t wl_pair<wl_bf16>(float low, float high)
{
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
template <> __device__ __forceinline__ uint32_t wl_pair<wl_f16>(float low, float high)
{
    uint32_t pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
#endif

template <typename T> WL_DEVICE void wl_load8(const T *from, float to[WL_PACK])
{
    const struct wl_pack<T> p = wl_pack_load(from);
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) to[i] = wl_pack_get(p, i);
}

template <typename T> WL_DEVICE void wl_store8(T *to, const float from[WL_PACK])
{
    struct wl_pack<T> p;
#pragma unroll
    for (int i = 0; i < WL_PACK / 2; i++) p.quad[0].word[i] = wl_pair<T>(from[2 * i], from[2 * i + 1]);
    wl_pack_store(to, p);
}
WL_DEVICE void wl_store8(float *to, const float from[WL_PACK])
{
    struct wl_pack<float> p;
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) p.quad[i / 4].word[i % 4] = wl_float_bits(from[i]);
    wl_pack_store(to, p);
}

#endif
