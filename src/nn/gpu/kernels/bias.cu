#include "nn/gpu/kernels/bias.h"

#include "nn/gpu/kernels/vector.h"

/* A comparison, not fmaxf, so that a NAN becomes 0 as in nn/ref. */
WL_DEVICE float biased(float y, float b, bool relu)
{
    const float v = y + b;
    return relu && !(v > 0) ? 0 : v;
}

template <typename T> WL_DEVICE void bias_one(const struct wl_gpu_bias &a, int64_t i, int64_t column)
{
    T *y = (T *)a.y;
    y[i] = wl_narrow<T>(biased(wl_load(y[i]), a.b ? a.b[column] : 0, a.relu != 0));
}

/* Eight elements of one row, where rows are multiples of eight. */
template <typename T> WL_DEVICE void bias_eight(const struct wl_gpu_bias &a, int64_t i, int64_t column)
{
    float v[WL_PACK], b[WL_PACK] = {};
    wl_load8((const T *)a.y + i, v);
    if (a.b) wl_load8(a.b + column, b);
#pragma unroll
    for (int k = 0; k < WL_PACK; k++) v[k] = biased(v[k], b[k], a.relu != 0);
    wl_store8((T *)a.y + i, v);
}

/* A thread's column moves by the same distance each time: one division, before the loop. */
template <typename T> WL_DEVICE void bias(const struct wl_gpu_bias &a)
{
    const bool packs = a.f % WL_PACK == 0;
    const int64_t each = packs ? WL_PACK : 1, n = a.rows * a.f, step = wl_threads() * each, move = step % a.f;
    int64_t column = wl_thread() * each % a.f;
    for (int64_t i = wl_thread() * each; i < n; i += step) {
        if (packs)
            bias_eight<T>(a, i, column);
        else
            bias_one<T>(a, i, column);
        column += move;
        if (column >= a.f) column -= a.f;
    }
}

WL_KERNEL(bias_f32, 256, struct wl_gpu_bias) { bias<float>(a); }
WL_KERNEL(bias_bf16, 256, struct wl_gpu_bias) { bias<wl_bf16>(a); }
WL_KERNEL(bias_f16, 256, struct wl_gpu_bias) { bias<wl_f16>(a); }
