/* Sums by column of what a kernel computes element by element. */
#ifndef WL_NN_GPU_KERNELS_COLUMN_SUMS_H
#define WL_NN_GPU_KERNELS_COLUMN_SUMS_H

#include "nn/gpu/kernels/sums.h"
#include "nn/gpu/kernels/vector.h"

/* A block of 256 threads takes the rows of part blockIdx.y and 256 columns: a warp every eighth row, a lane eight
 * columns (or, where f is not a multiple of 8, columns lane, lane + 32 ...). of.eight(at, v) gives elements at to
 * at + 7, of.one(at) a single one; each is asked for once. Then warp after warp adds its sums. `parts` may be NULL. */
enum { WL_SUM_WARPS = 8 };
static_assert(WL_GPU_SUM_COLUMNS == 32 * WL_PACK, "eight columns a lane");

template <typename OF>
WL_DEVICE void wl_column_sums(const OF &of, int64_t rows, int64_t f, int64_t of_part, float *parts)
{
    __shared__ float sums[WL_SUM_WARPS][WL_GPU_SUM_COLUMNS];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const bool packed = f % WL_PACK == 0;
    const int64_t from = (int64_t)blockIdx.x * WL_GPU_SUM_COLUMNS, first = (int64_t)blockIdx.y * of_part;
    const int64_t end = first + of_part < rows ? first + of_part : rows, apart = packed ? 1 : 32;
    const int64_t column = from + (packed ? lane * WL_PACK : lane);
    float sum[WL_PACK] = {};
    for (int64_t r = first + warp; r < end; r += WL_SUM_WARPS) {
        float v[WL_PACK] = {};
        if (packed && column < f) of.eight(r * f + column, v);
#pragma unroll
        for (int i = 0; i < WL_PACK; i++)
            if (!packed && column + i * 32 < f) v[i] = of.one(r * f + column + i * 32);
#pragma unroll
        for (int i = 0; i < WL_PACK; i++) sum[i] += v[i];
    }
    if (!parts) return;
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) sums[warp][column - from + i * apart] = sum[i];
    __syncthreads();
    float total = 0;
#pragma unroll
    for (int w = 0; w < WL_SUM_WARPS; w++) total += sums[w][threadIdx.x];
    if (from + threadIdx.x < f) parts[(int64_t)blockIdx.y * f + from + threadIdx.x] = total;
}

#endif
