/* What every kernel file (.cu) includes, and nothing else of the host's. nvcc sees CUDA; a C++ compiler of the host
 * sees tests/gpu/sim/sim.h, where the threads of a block are fibers. A kernel takes one struct by value, which its rule
 * in nn/gpu/ops fills: kernels/SUBJECT.h declares it for both.
 *
 *     template <typename T> WL_DEVICE void relu(const struct wl_gpu_relu &a) { ... }
 *     WL_KERNEL(relu_f32, 256, struct wl_gpu_relu) { relu<float>(a); }
 *     WL_KERNEL(relu_bf16, 256, struct wl_gpu_relu) { relu<wl_bf16>(a); }
 *
 * Sums are taken in parts of fixed bounds and a fixed order, without atomics on floats: the same bits every time. */
#ifndef WL_NN_GPU_KERNELS_DEVICE_H
#define WL_NN_GPU_KERNELS_DEVICE_H

#include <stdint.h>

#ifdef __CUDACC__
/* A kernel of at most `threads` threads a block, whose arguments are `a`. */
#define WL_KERNEL(name, threads, args) \
    extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ args a)
#define WL_DEVICE static __device__ __forceinline__
#define WL_MEMBER __device__ __forceinline__ /* of a struct */
/* Shared memory of the size that the launch names, aligned to 16 bytes. */
#define WL_DYNAMIC_SHARED(type, name)                                  \
    extern __shared__ __align__(16) unsigned char wl_dynamic_shared[]; \
    type *name = (type *)wl_dynamic_shared
/* ... whose registers are for one block a multiprocessor: ptxas spills none so that one more fits. */
#define WL_KERNEL_ALONE(name, threads, args) \
    extern "C" __global__ void __launch_bounds__(threads, 1) name(const __grid_constant__ args a)
#else
#include <sim.h>
#define WL_KERNEL_ALONE WL_KERNEL
#endif

/* Numbers of 16 bits in memory; arithmetic is in float. */
struct wl_bf16 {
    uint16_t bits;
};
struct wl_f16 {
    uint16_t bits;
};

WL_DEVICE float wl_bits_float(uint32_t bits)
{
    union {
        uint32_t bits;
        float f;
    } x = { bits };
    return x.f;
}
WL_DEVICE uint32_t wl_float_bits(float f)
{
    union {
        float f;
        uint32_t bits;
    } x = { f };
    return x.bits;
}

WL_DEVICE float wl_load(float v) { return v; }
WL_DEVICE float wl_load(struct wl_bf16 v) { return wl_bits_float((uint32_t)v.bits << 16); }

/* To the nearest, of two as near the even one; NANs become 0x7fff. wl_narrow<T>(v). By the GPU's instruction where it
 * has one, elsewhere by the same bits in C: of bf16 before sm_80, and in the simulator. */
template <typename T> WL_DEVICE T wl_narrow(float v);
template <> __device__ __forceinline__ float wl_narrow<float>(float v) { return v; }
template <> __device__ __forceinline__ struct wl_bf16 wl_narrow<struct wl_bf16>(float v) {
    struct wl_bf16 to;
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to.bits) : "f"(v));
#else
    const uint32_t bits = wl_float_bits(v);
    to.bits = (bits & 0x7fffffffu) > 0x7f800000u ? (uint16_t)0x7fffu
                                                 : (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
#endif
    return to;
}

#ifdef __CUDACC__
WL_DEVICE float
wl_load(struct wl_f16 v)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v.bits));
    return f;
}
template <> __device__ __forceinline__ struct wl_f16 wl_narrow<struct wl_f16>(float v) {
    struct wl_f16 to;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(v));
    return to;
}
#else
/* f16 by bits and one exact product. */
WL_DEVICE float
wl_load(struct wl_f16 v)
{
    const uint32_t sign = (uint32_t)(v.bits & 0x8000u) << 16, size = (uint32_t)(v.bits & 0x7fffu) << 13;
    const float scaled = wl_bits_float(size) * 5.192296858534828e+33f; /* 2^112: the biases' difference */
    return wl_bits_float(sign | (size < 0x0f800000u ? wl_float_bits(scaled) : 0x7f800000u | size));
}
template <> __device__ __forceinline__ struct wl_f16 wl_narrow<struct wl_f16>(float v) {
    const uint32_t bits = wl_float_bits(v), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    struct wl_f16 to;
    if (size > 0x7f800000u) { /* NAN */
        to.bits = 0x7fffu;
    } else if (size >= 0x477ff000u) { /* rounds above 65504 */
        to.bits = (uint16_t)(sign | 0x7c00u);
    } else if (size < 0x38800000u) { /* below 2^-14: a multiple of 2^-24, rounded by the sum with 0.5 */
        to.bits = (uint16_t)(sign | (wl_float_bits(wl_bits_float(size) + 0.5f) - 0x3f000000u));
    } else {
        const uint32_t up = size - 0x38000000u;
        to.bits = (uint16_t)(sign | (up + 0xfffu + (up >> 13 & 1)) >> 13);
    }
    return to;
}
#endif

WL_DEVICE int64_t
wl_thread(void)
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
WL_DEVICE int64_t wl_threads(void) { return (int64_t)gridDim.x * blockDim.x; }

/* The same sum in every lane, whatever the lanes' order. */
WL_DEVICE float wl_warp_sum(float v)
{
#pragma unroll
    for (int i = 16; i; i /= 2) v += __shfl_xor_sync(0xffffffffu, v, i);
    return v;
}
WL_DEVICE float wl_warp_max(float v)
{
#pragma unroll
    for (int i = 16; i; i /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, i));
    return v;
}

#endif
