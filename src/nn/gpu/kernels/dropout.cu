/* Dropout of plain memory; backward is the same function of dy. Bytes of an element of size s: 2 s. */
#include "nn/gpu/kernels/dropout_apply.h"

#include "nn/gpu/kernels/dropout_mask.h"
#include "nn/gpu/kernels/vector.h"

enum { OF_WARP = 32 * WL_PACK };

/* Samples of a multiple of eight elements: a warp draws the masks of 256 neighbours together. */
template <typename T> WL_DEVICE void drop_runs(const struct wl_gpu_dropout_apply &a)
{
    const int lane = (int)threadIdx.x % 32;
    const int64_t f = a.drop.f, runs = (f + OF_WARP - 1) / OF_WARP;
    for (int64_t i = wl_thread() / 32; i < a.n * runs; i += wl_threads() / 32) {
        const int64_t sample = i / runs, first = i % runs * OF_WARP, j = first + lane * WL_PACK;
        const uint32_t kept = a.drop.drop ? wl_mask_eight(a.drop, sample, first / WL_MASK_GROUP, lane) : 0xffu;
        if (j >= f) continue;
        float v[WL_PACK];
        wl_load8((const T *)a.x + sample * f + j, v);
#pragma unroll
        for (int k = 0; k < WL_PACK; k++) v[k] = kept >> k & 1 ? v[k] * a.drop.scale : 0;
        wl_store8((T *)a.y + sample * f + j, v);
    }
}

template <typename T> WL_DEVICE void drop_one_by_one(const struct wl_gpu_dropout_apply &a)
{
    const T *x = (const T *)a.x;
    for (int64_t i = wl_thread(); i < a.n * a.drop.f; i += wl_threads()) {
        const bool kept = wl_mask_kept(a.drop, i / a.drop.f, i % a.drop.f);
        ((T *)a.y)[i] = wl_narrow<T>(kept ? wl_load(x[i]) * a.drop.scale : 0);
    }
}

template <typename T> WL_DEVICE void dropout(const struct wl_gpu_dropout_apply &a)
{
    if (a.drop.f % WL_PACK)
        drop_one_by_one<T>(a);
    else
        drop_runs<T>(a);
}

#define KERNELS(type, T) \
    WL_KERNEL(dropout_##type, 256, struct wl_gpu_dropout_apply) { dropout<T>(a); }

KERNELS(f32, float)
KERNELS(bf16, struct wl_bf16)
KERNELS(f16, struct wl_f16)
