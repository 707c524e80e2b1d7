/* A thread takes eight neighbours, 16 bytes of 16-bit numbers. */
#include "nn/gpu/kernels/elementwise.h"

#include "nn/gpu/kernels/vector.h"

/* y[i] = of(a[i], b[i]). */
template <typename A, typename B, typename Y, typename OF>
WL_DEVICE void map_pairs(const A *a, const B *b, Y *y, int64_t n, const OF &of)
{
    for (int64_t i = wl_thread() * WL_PACK; i < n; i += wl_threads() * WL_PACK) {
        float u[WL_PACK], v[WL_PACK];
        if (i + WL_PACK > n) {
            for (int64_t k = i; k < n; k++) y[k] = wl_narrow<Y>(of(wl_load(a[k]), wl_load(b[k])));
            continue;
        }
        wl_load8(a + i, u);
        wl_load8(b + i, v);
#pragma unroll
        for (int k = 0; k < WL_PACK; k++) u[k] = of(u[k], v[k]);
        wl_store8(y + i, u);
    }
}

template <typename X, typename Y, typename OF> WL_DEVICE void map_numbers(const X *x, Y *y, int64_t n, const OF &of)
{
    for (int64_t i = wl_thread() * WL_PACK; i < n; i += wl_threads() * WL_PACK) {
        float u[WL_PACK];
        if (i + WL_PACK > n) {
            for (int64_t k = i; k < n; k++) y[k] = wl_narrow<Y>(of(wl_load(x[k])));
            continue;
        }
        wl_load8(x + i, u);
#pragma unroll
        for (int k = 0; k < WL_PACK; k++) u[k] = of(u[k]);
        wl_store8(y + i, u);
    }
}

/* A comparison, not fmaxf, so that a NAN becomes 0 as in nn/ref. */
struct relu_of {
    WL_MEMBER float operator()(float x) const { return x > 0 ? x : 0; }
};
struct gradient_of {
    WL_MEMBER float operator()(float y, float dy) const { return y > 0 ? dy : 0; }
};
struct sum_of {
    bool relu;
    WL_MEMBER float operator()(float a, float b) const { return relu && !(a + b > 0) ? 0 : a + b; }
};
struct itself_of {
    WL_MEMBER float operator()(float x) const { return x; }
};
template <typename T> struct rounded_of {
    WL_MEMBER float operator()(float x) const { return wl_load(wl_narrow<T>(x)); }
};

#define ADD(name, A, B, Y)                                                                \
    WL_KERNEL(name, 256, struct wl_gpu_add)                                               \
    {                                                                                     \
        map_pairs((const A *)a.a, (const B *)a.b, (Y *)a.y, a.n, sum_of { a.relu != 0 }); \
    }
ADD(add_f32_f32_f32, float, float, float)
#define ADD_16(name, T)                         \
    ADD(add_f32_f32_##name, float, float, T)    \
    ADD(add_f32_##name##_f32, float, T, float)  \
    ADD(add_f32_##name##_##name, float, T, T)   \
    ADD(add_##name##_f32_f32, T, float, float)  \
    ADD(add_##name##_f32_##name, T, float, T)   \
    ADD(add_##name##_##name##_f32, T, T, float) \
    ADD(add_##name##_##name##_##name, T, T, T)
ADD_16(bf16, wl_bf16)
ADD_16(f16, wl_f16)

#define RELU(name, T)                                                                                           \
    WL_KERNEL(relu_##name, 256, struct wl_gpu_relu) { map_numbers((const T *)a.x, (T *)a.y, a.n, relu_of {}); } \
    WL_KERNEL(relu_backward_##name, 256, struct wl_gpu_relu_backward)                                           \
    {                                                                                                           \
        map_pairs((const T *)a.y, (const T *)a.dy, (T *)a.dx, a.n, gradient_of {});                             \
    }
RELU(f32, float)
RELU(bf16, wl_bf16)
RELU(f16, wl_f16)

#define CAST(name, FROM, TO)                                              \
    WL_KERNEL(cast_##name, 256, struct wl_gpu_cast)                       \
    {                                                                     \
        map_numbers((const FROM *)a.from, (TO *)a.to, a.n, itself_of {}); \
    }
CAST(f32_f32, float, float)
CAST(f32_bf16, float, wl_bf16)
CAST(bf16_f32, wl_bf16, float)
CAST(bf16_bf16, wl_bf16, wl_bf16)
CAST(f32_f16, float, wl_f16)
CAST(f16_f32, wl_f16, float)
CAST(f16_f16, wl_f16, wl_f16)

#define ROUND(name, T)                                                            \
    WL_KERNEL(round_##name, 256, struct wl_gpu_cast)                              \
    {                                                                             \
        map_numbers((const float *)a.from, (float *)a.to, a.n, rounded_of<T> {}); \
    }
ROUND(bf16, wl_bf16)
ROUND(f16, wl_f16)
