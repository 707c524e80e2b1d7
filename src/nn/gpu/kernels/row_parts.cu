#include "nn/gpu/kernels/row_parts.h"

#include "nn/gpu/kernels/device.h"

/* Eight warps take every eighth part each, a lane a number: 4 bytes of a part and number. */
WL_KERNEL(sum_row_parts, 256, struct wl_gpu_sum_row_parts)
{
    __shared__ float shared[8][WL_GPU_ROW_SUMS];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int64_t i = (int64_t)blockIdx.x * WL_GPU_ROW_SUMS + lane;
    const bool mine = i < a.n_first + a.n_second;
    float sum = 0;
    for (int p = warp; mine && p < a.parts.n; p += 8) sum += a.parts.at[p * a.parts.apart + i];
    shared[warp][lane] = sum;
    __syncthreads();
    if (warp || !mine) return;
    for (int w = 1; w < 8; w++) sum += shared[w][lane];
    if (i < a.n_first)
        a.first[i] = sum;
    else
        a.second[i - a.n_first] = sum;
}
