/* Four neighbouring f32 numbers of a row, for kernels on rows of any length, and rows divided among blocks. */
#ifndef WL_NN_GPU_KERNELS_FOUR_H
#define WL_NN_GPU_KERNELS_FOUR_H

#include "nn/gpu/kernels/device.h"

WL_DEVICE float4 wl_zero4(void) { return make_float4(0, 0, 0, 0); }

/* Numbers [column, column + 4) of a row of `columns`, zeros beyond it. Rows whose length is a multiple of 4 begin at a
 * multiple of 16 bytes; column is a multiple of 4. */
WL_DEVICE float4 wl_load4(const float *row, int column, int columns)
{
    if (columns % 4 == 0) return column < columns ? *(const float4 *)(row + column) : wl_zero4();
    float4 v = wl_zero4();
    if (column < columns) v.x = row[column];
    if (column + 1 < columns) v.y = row[column + 1];
    if (column + 2 < columns) v.z = row[column + 2];
    if (column + 3 < columns) v.w = row[column + 3];
    return v;
}

WL_DEVICE void wl_store4(float *row, int column, int columns, float4 v)
{
    if (columns % 4 == 0) {
        if (column < columns) *(float4 *)(row + column) = v;
        return;
    }
    if (column < columns) row[column] = v.x;
    if (column + 1 < columns) row[column + 1] = v.y;
    if (column + 2 < columns) row[column + 2] = v.z;
    if (column + 3 < columns) row[column + 3] = v.w;
}

WL_DEVICE float4 wl_add4(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
WL_DEVICE float4 wl_mul4(float4 a, float4 b) { return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
WL_DEVICE float4 wl_scale4(float a, float4 b) { return make_float4(a * b.x, a * b.y, a * b.z, a * b.w); }
WL_DEVICE float4 wl_fma4(float a, float4 b, float4 c)
{
    return make_float4(fmaf(a, b.x, c.x), fmaf(a, b.y, c.y), fmaf(a, b.z, c.z), fmaf(a, b.w, c.w));
}

/* The sums over a warp of eight numbers a lane: lanes 4 n to 4 n + 3 have that of v[n]. Nine shuffles instead of forty:
 * at each step a lane keeps half of its sums and gives the others away. */
WL_DEVICE float wl_warp_sum8(const float v[8], int lane)
{
    float four[4], two[2];
#pragma unroll
    for (int n = 0; n < 4; n++) {
        const bool high = lane & 16;
        four[n] = (high ? v[n + 4] : v[n]) + __shfl_xor_sync(0xffffffffu, high ? v[n] : v[n + 4], 16);
    }
#pragma unroll
    for (int n = 0; n < 2; n++) {
        const bool high = lane & 8;
        two[n] = (high ? four[n + 2] : four[n]) + __shfl_xor_sync(0xffffffffu, high ? four[n] : four[n + 2], 8);
    }
    const bool high = lane & 4;
    float one = (high ? two[1] : two[0]) + __shfl_xor_sync(0xffffffffu, high ? two[0] : two[1], 4);
    one += __shfl_xor_sync(0xffffffffu, one, 2);
    return one + __shfl_xor_sync(0xffffffffu, one, 1);
}

/* Rows [from, to) of part p, when units of `unit` rows are divided among `parts`. */
WL_DEVICE void wl_part_rows(int rows, int unit, int parts, int p, int *from, int *to)
{
    const int units = (rows + unit - 1) / unit, each = (units + parts - 1) / parts * unit;
    *from = p * each < rows ? p * each : rows;
    *to = *from + each < rows ? *from + each : rows;
}

#endif
