/* CUDA's words for a C++ compiler of the host: kernels (src/nn/gpu/kernels) run without a GPU. A launch runs block by
 * block; a block's threads are fibers of one thread, each of which goes on until it waits at a barrier or for its warp.
 *
 * Known: threadIdx, blockIdx, blockDim, gridDim; __syncthreads, __syncwarp, __shfl_sync, __shfl_xor_sync,
 * __shfl_down_sync, __shfl_up_sync, __ballot_sync, __any_sync, __all_sync by whole warps; static and dynamic shared
 * memory, which starts as NANs; mma.m16n8k16 (wl_sim_mma) and mma.m16n8k8 of TF32 (wl_sim_mma_tf32); C's functions of
 * float. Not known: atomics, parts of warps.
 */
#ifndef WL_TESTS_GPU_SIM_H
#define WL_TESTS_GPU_SIM_H

#include "kernel.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __device__
#define __global__
#define __host__
#define __constant__ static const
#define __restrict__ __restrict
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
/* One copy for all fibers. The section is that of the kernel's file, so that a launch finds and fills it. */
#define WL_SIM_TEXT(x)    #x
#define WL_SIM_SECTION(x) WL_SIM_TEXT(x)
#define __shared__        static __attribute__((section(WL_SIM_SECTION(WL_SIM_SHARED)), aligned(16)))

#define WL_DEVICE                     static inline
#define WL_MEMBER                     inline
#define WL_DYNAMIC_SHARED(type, name) type *name = (type *)wl_sim_dynamic()

/* The shared memory of this file's kernels. */
#define WL_SIM_JOIN2(a, b) a##b
#define WL_SIM_JOIN(a, b)  WL_SIM_JOIN2(a, b)
extern "C" char WL_SIM_JOIN(__start_, WL_SIM_SHARED)[] __attribute__((weak, visibility("hidden")));
extern "C" char WL_SIM_JOIN(__stop_, WL_SIM_SHARED)[] __attribute__((weak, visibility("hidden")));

#define WL_KERNEL(name, threads, args)                                                         \
    static void name(const args &a);                                                           \
    static void wl_sim_call_##name(const void *a) { name(*(const args *)a); }                  \
    extern "C" __attribute__((visibility("default")))                                          \
    const struct wl_sim_kernel wl_sim_kernel_##name = { #name,                                 \
                                                        wl_sim_call_##name,                    \
                                                        sizeof(args),                          \
                                                        threads,                               \
                                                        WL_SIM_JOIN(__start_, WL_SIM_SHARED),  \
                                                        WL_SIM_JOIN(__stop_, WL_SIM_SHARED) }; \
    static void name([[maybe_unused]] const args &a)

struct dim3 {
    unsigned x, y, z;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
static inline float4 make_float4(float x, float y, float z, float w) { return float4 { x, y, z, w }; }
static inline float2 make_float2(float x, float y) { return float2 { x, y }; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return uint4 { x, y, z, w }; }

extern dim3 threadIdx, blockIdx, blockDim, gridDim; /* of the fiber that runs */

void *wl_sim_dynamic(void);

/* All threads of the block meet, at one place in the source. */
void wl_sim_barrier(const char *file, int line);

/* All lanes of the warp meet; each brings n bytes, at most WL_SIM_SLOT. Where those of lane 0 are; a slot a lane. */
enum { WL_SIM_SLOT = 64 };
const unsigned char *wl_sim_meet(unsigned mask, const void *mine, size_t n, const char *file, int line);

static inline unsigned wl_sim_lane(void)
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}

template <typename T> static inline T wl_sim_shuffle(unsigned mask, T v, unsigned from, const char *file, int line)
{
    static_assert(sizeof(T) <= WL_SIM_SLOT, "a lane gives up to 64 bytes");
    T got;
    const unsigned char *at = wl_sim_meet(mask, &v, sizeof v, file, line);
    memcpy(&got, at + (from % 32) * WL_SIM_SLOT, sizeof got);
    return got;
}

static inline unsigned wl_sim_ballot(unsigned mask, bool p, const char *file, int line)
{
    unsigned bits = 0;
    const unsigned char mine = p, *at = wl_sim_meet(mask, &mine, 1, file, line);
    for (int i = 0; i < 32; i++) bits |= (unsigned)at[i * WL_SIM_SLOT] << i;
    return bits;
}

#define WL_SIM_HERE                  __FILE__, __LINE__
#define __syncthreads()              wl_sim_barrier(WL_SIM_HERE)
#define __syncwarp(...)              ((void)wl_sim_meet(0xffffffffu, "", 0, WL_SIM_HERE))
#define __shfl_sync(mask, v, lane)   wl_sim_shuffle(mask, v, (unsigned)(lane), WL_SIM_HERE)
#define __shfl_xor_sync(mask, v, by) wl_sim_shuffle(mask, v, wl_sim_lane() ^ (unsigned)(by), WL_SIM_HERE)
#define __shfl_down_sync(mask, v, by)                                                                             \
    wl_sim_shuffle(mask, v, wl_sim_lane() + (unsigned)(by) < 32 ? wl_sim_lane() + (unsigned)(by) : wl_sim_lane(), \
                   WL_SIM_HERE)
#define __shfl_up_sync(mask, v, by)                                                                           \
    wl_sim_shuffle(mask, v, wl_sim_lane() >= (unsigned)(by) ? wl_sim_lane() - (unsigned)(by) : wl_sim_lane(), \
                   WL_SIM_HERE)
#define __ballot_sync(mask, p) wl_sim_ballot(mask, p, WL_SIM_HERE)
#define __any_sync(mask, p)    (wl_sim_ballot(mask, p, WL_SIM_HERE) != 0)
#define __all_sync(mask, p)    (wl_sim_ballot(mask, p, WL_SIM_HERE) == 0xffffffffu)

#define __expf(x)        expf(x)
#define __logf(x)        logf(x)
#define __fdividef(x, y) ((x) / (y))
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
/* By names of their own: glibc 2.41 declares those of C23. */
static inline double wl_sim_sinpi(double x) { return sin(M_PI * fmod(x, 2)); }
static inline double wl_sim_cospi(double x) { return cos(M_PI * fmod(x, 2)); }
#define sinpi(x)  wl_sim_sinpi(x)
#define cospi(x)  wl_sim_cospi(x)
#define sinpif(x) ((float)wl_sim_sinpi((double)(x)))
#define cospif(x) ((float)wl_sim_cospi((double)(x)))
static inline void sincospif(float x, float *s, float *c) { *s = sinpif(x), *c = cospif(x); }
/* Never fused: nor does the host's compiler, for processors of x86-64 without extensions. */
static inline float __fmul_rn(float x, float y) { return x * y; }
static inline float __fadd_rn(float x, float y) { return x + y; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline float __uint_as_float(unsigned u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
static inline unsigned __float_as_uint(float f)
{
    unsigned u;
    memcpy(&u, &f, sizeof u);
    return u;
}
template <typename T> static inline T __ldg(const T *at) { return *at; }
template <typename T> static inline T min(T a, T b) { return b < a ? b : a; }
template <typename T> static inline T max(T a, T b) { return a < b ? b : a; }

/* d += a b for a [16,16] and b [16,8], by a warp, in f32: the fragments of mma.m16n8k16 (kernels/mma.h). */
static inline void wl_sim_mma(float d[4], const float a[8], const float b[4])
{
    float row[4][12], column[8][12], mine[12];
    memcpy(mine, a, 8 * sizeof(float));
    memcpy(mine + 8, b, 4 * sizeof(float));
    const unsigned char *at = wl_sim_meet(0xffffffffu, mine, sizeof mine, WL_SIM_HERE);
    const unsigned lane = wl_sim_lane();
    for (unsigned i = 0; i < 4; i++) memcpy(row[i], at + (lane / 4 * 4 + i) * WL_SIM_SLOT, sizeof row[i]);
    for (unsigned i = 0; i < 8; i++) memcpy(column[i], at + (lane % 4 * 8 + i) * WL_SIM_SLOT, sizeof column[i]);
    for (int i = 0; i < 16; i++) /* element i/4 of d, columns of a from lane i%4 */
        for (int k = 0; k < 4; k++)
            d[i / 4] += row[i % 4][k / 2 * 4 + i / 8 * 2 + k % 2] * column[i / 4 % 2 * 4 + i % 4][8 + k];
}

/* d += a b for a [16,8] and b [8,8] of TF32: the fragments of mma.m16n8k8 (kernels/tf32.h). Bits that TF32 does not
 * have are not read. */
static inline void wl_sim_mma_tf32(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    float row[4][6], column[8][6], mine[6];
    for (int i = 0; i < 6; i++) {
        const uint32_t bits = (i < 4 ? a[i] : b[i - 4]) & ~0x1fffu;
        memcpy(&mine[i], &bits, sizeof bits);
    }
    const unsigned char *at = wl_sim_meet(0xffffffffu, mine, sizeof mine, WL_SIM_HERE);
    const unsigned lane = wl_sim_lane();
    for (unsigned i = 0; i < 4; i++) memcpy(row[i], at + (lane / 4 * 4 + i) * WL_SIM_SLOT, sizeof row[i]);
    for (unsigned i = 0; i < 8; i++) memcpy(column[i], at + (lane % 4 * 8 + i) * WL_SIM_SLOT, sizeof column[i]);
    for (int i = 0; i < 4; i++) /* row i / 2, column i % 2 of this lane's */
        for (int k = 0; k < 8; k++) d[i] += row[k % 4][i / 2 + k / 4 * 2] * column[i % 2 * 4 + k % 4][4 + k / 4];
}

#endif
