#include "nn/gpu/kernels/sums.h"

#include "nn/gpu/kernels/column_sums.h"

WL_KERNEL(sum_parts, 256, struct wl_gpu_sum_parts)
{
    for (int64_t j = wl_thread(); j < a.size; j += wl_threads()) {
        float sum = 0;
#pragma unroll 8
        for (int64_t i = 0; i < a.n; i++) sum += a.parts[i * a.size + j];
        a.to[j] = sum;
    }
}

/* The elements as they are. */
template <typename T> struct elements {
    const T *x;
    __device__ __forceinline__ void eight(int64_t at, float v[WL_PACK]) const { wl_load8(x + at, v); }
    __device__ __forceinline__ float one(int64_t at) const { return wl_load(x[at]); }
};

template <typename T> WL_DEVICE void column_sums(const struct wl_gpu_column_sums &a)
{
    const struct elements<T> all = {
        (const T *)a.x
    };
    wl_column_sums(all, a.rows, a.f, a.of_part, a.parts);
}

WL_KERNEL(column_sums_f32, 256, struct wl_gpu_column_sums) { column_sums<float>(a); }
WL_KERNEL(column_sums_bf16, 256, struct wl_gpu_column_sums) { column_sums<wl_bf16>(a); }
WL_KERNEL(column_sums_f16, 256, struct wl_gpu_column_sums) { column_sums<wl_f16>(a); }
