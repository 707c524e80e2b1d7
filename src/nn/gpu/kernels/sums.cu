#include "nn/gpu/kernels/sums.h"

#include "nn/gpu/kernels/column_sums.h"

WL_DEVICE void sum_32(const struct wl_gpu_sum_parts &a, int64_t j)
{
    __shared__ float of_warp[8][32];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    float sum = 0;
    if (j < a.size) {
#pragma unroll 8
        for (int64_t i = warp; i < a.n; i += 8) sum += a.parts[i * a.size + j];
    }
    __syncthreads();
    of_warp[warp][lane] = sum;
    __syncthreads();
    if (warp || j >= a.size) return;
#pragma unroll
    for (int w = 1; w < 8; w++) sum += of_warp[w][lane];
    if (a.rest && j >= a.cut)
        a.rest[j - a.cut] = sum;
    else
        a.to[j] = sum;
}

WL_KERNEL(sum_parts, 256, struct wl_gpu_sum_parts)
{
    for (int64_t j = (int64_t)blockIdx.x * 32; j < a.size; j += (int64_t)gridDim.x * 32)
        sum_32(a, j + threadIdx.x % 32);
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
