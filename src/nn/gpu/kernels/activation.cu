#include "nn/gpu/kernels/activation.h"

#include "nn/gpu/kernels/column_sums.h"

constexpr float HALF_ROOT = 0.70710678118654752f, DENSITY = 0.39894228040143268f; /* 1/sqrt 2, 1/sqrt(2 pi) */

WL_DEVICE float gelu_of(float u) { return 0.5f * u * (1 + erff(u * HALF_ROOT)); }

WL_DEVICE float slope_of(float u) { return 0.5f * (1 + erff(u * HALF_ROOT)) + u * DENSITY * expf(-0.5f * u * u); }

template <typename T> WL_DEVICE void gelu(const struct wl_gpu_gelu &a)
{
    const T *u = (const T *)a.u;
    T *y = (T *)a.y;
    const int64_t packs = a.n / WL_PACK;
    for (int64_t i = wl_thread(); i < packs; i += wl_threads()) {
        float v[WL_PACK];
        wl_load8(u + i * WL_PACK, v);
#pragma unroll
        for (int k = 0; k < WL_PACK; k++) v[k] = gelu_of(v[k]);
        wl_store8(y + i * WL_PACK, v);
    }
    const int64_t rest = packs * WL_PACK + wl_thread();
    if (rest < a.n) y[rest] = wl_narrow<T>(gelu_of(wl_load(u[rest])));
}

WL_KERNEL(gelu_f32, 256, struct wl_gpu_gelu) { gelu<float>(a); }
WL_KERNEL(gelu_bf16, 256, struct wl_gpu_gelu) { gelu<wl_bf16>(a); }
WL_KERNEL(gelu_f16, 256, struct wl_gpu_gelu) { gelu<wl_f16>(a); }

/* Writes du and gives it to the sums. */
template <typename T> struct slopes {
    const T *u, *dy;
    T *du;
    __device__ __forceinline__ void eight(int64_t at, float v[WL_PACK]) const
    {
        float x[WL_PACK];
        wl_load8(u + at, x);
        wl_load8(dy + at, v);
#pragma unroll
        for (int i = 0; i < WL_PACK; i++) v[i] *= slope_of(x[i]);
        wl_store8(du + at, v);
    }
    __device__ __forceinline__ float one(int64_t at) const
    {
        const float d = wl_load(dy[at]) * slope_of(wl_load(u[at]));
        du[at] = wl_narrow<T>(d);
        return d;
    }
};

template <typename T> WL_DEVICE void gelu_backward(const struct wl_gpu_gelu_backward &a)
{
    const struct slopes<T> all = {
        (const T *)a.u, (const T *)a.dy, (T *)a.du
    };
    wl_column_sums(all, a.rows, a.f, a.of_part, a.parts);
}

WL_KERNEL(gelu_backward_f32, 256, struct wl_gpu_gelu_backward) { gelu_backward<float>(a); }
WL_KERNEL(gelu_backward_bf16, 256, struct wl_gpu_gelu_backward) { gelu_backward<wl_bf16>(a); }
WL_KERNEL(gelu_backward_f16, 256, struct wl_gpu_gelu_backward) { gelu_backward<wl_f16>(a); }
