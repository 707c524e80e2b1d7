/* Products of floats on tensor cores, which read TF32 (11 bits): each float is the sum of a big part and a small one,
 * and of the four products the three that count are taken, so that no more is lost than in f32 (Ootomo and Yokota 2022,
 * arXiv:2203.03341). Only from sm_80 on. */
#ifndef WL_NN_GPU_KERNELS_TF32_H
#define WL_NN_GPU_KERNELS_TF32_H

#include "nn/gpu/kernels/device.h"

#if defined __CUDACC__ && !(defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800)
#define WL_HAS_TF32 0
#else
#define WL_HAS_TF32 1

/* The bits of v rounded to the nearest, halves away from 0. */
WL_DEVICE uint32_t wl_tf32(float v)
{
#ifdef __CUDACC__
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
    return bits;
#else
    return (wl_float_bits(v) + 0x1000u) & ~0x1fffu;
#endif
}

struct wl_tf32_parts {
    uint32_t big, small;
};

WL_DEVICE struct wl_tf32_parts wl_tf32_split(float v)
{
    struct wl_tf32_parts p;
    p.big = wl_tf32(v);
    p.small = wl_tf32(v - wl_bits_float(p.big));
    return p;
}

/* d [16,8] += a [16,8] b [8,8] in the fragments of PTX's mma.m16n8k8: with g = lane/4 and t = lane%4 a lane has of a
 * rows g (0, 2) and g + 8 (1, 3) of terms t (0, 1) and t + 4 (2, 3), of b these terms of column g, and of d what
 * m16n8k16 has. Which term of the sum is called t is free, if it is the same in a and b. */
WL_DEVICE void wl_mma_tf32(float d[4], const uint32_t a[4], const uint32_t b[2])
{
#ifdef __CUDACC__
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
                 "{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    wl_sim_mma_tf32(d, a, b);
#endif
}

/* The same of floats: small products first. */
WL_DEVICE void wl_mma_3tf32(float d[4], const struct wl_tf32_parts a[4], const struct wl_tf32_parts b[2])
{
    const uint32_t a_big[4] = { a[0].big, a[1].big, a[2].big, a[3].big }, b_big[2] = { b[0].big, b[1].big };
    const uint32_t a_small[4] = { a[0].small, a[1].small, a[2].small, a[3].small },
                   b_small[2] = { b[0].small, b[1].small };
    wl_mma_tf32(d, a_small, b_big);
    wl_mma_tf32(d, a_big, b_small);
    wl_mma_tf32(d, a_big, b_big);
}
#endif

#endif
