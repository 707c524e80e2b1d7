#include "nn/gpu/kernels/complex.h"

#include "nn/gpu/kernels/column_sums.h"

/* Part 0 or 1 of column o of block b, in an array [2,blocks,out]. */
WL_DEVICE int32_t part_at(int32_t blocks, int32_t out, int32_t part, int32_t b, int32_t o)
{
    return (part * blocks + b) * out + o;
}

WL_KERNEL(complex_weights, 256, struct wl_gpu_complex_weights)
{
    const int32_t size = 4 * a.in * a.out, imaginary = a.blocks * a.in * a.out;
    for (int64_t at = wl_thread(); at < (int64_t)a.blocks * size; at += wl_threads()) {
        const int32_t i = (int32_t)at, b = i / size, r = i % size / (2 * a.out), c = i % (2 * a.out);
        const bool low = r >= a.in, right = c >= a.out;
        const float *w = a.w + (b * a.in + (low ? r - a.in : r)) * a.out + (right ? c - a.out : c);
        a.to[at] = low == right ? w[0] : low ? -w[imaginary] : w[imaginary];
    }
}

WL_DEVICE float activated(float shrink, float v)
{
    if (v > shrink) return v - shrink;
    return shrink > 0 && v < -shrink ? v + shrink : 0.0f;
}

/* The columns of a lane: eight neighbours where a part has a multiple of eight, else every 32nd. */
WL_KERNEL(complex_activate, 256, struct wl_gpu_complex_activate)
{
    const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32;
    const int32_t f = 2 * a.blocks * a.out;
    const bool packed = a.out % WL_PACK == 0;
    const int32_t apart = packed ? 1 : 32, first = (int32_t)blockIdx.x * 256 + (packed ? lane * WL_PACK : lane);
    float bias[WL_PACK];
#pragma unroll
    for (int k = 0; k < WL_PACK; k++) {
        const int32_t c = first + k * apart;
        bias[k] = c < f ? a.bias[part_at(a.blocks, a.out, c / a.out % 2, c / (2 * a.out), c % a.out)] : 0;
    }
    for (int64_t r = (int64_t)blockIdx.y * 8 + warp; r < a.rows; r += (int64_t)gridDim.y * 8) {
        float *y = a.y + r * f + first, v[WL_PACK];
        if (packed && first < f) {
            wl_load8(y, v);
#pragma unroll
            for (int k = 0; k < WL_PACK; k++) v[k] = activated(a.shrink, v[k] + bias[k]);
            wl_store8(y, v);
        }
#pragma unroll
        for (int k = 0; k < WL_PACK; k++)
            if (!packed && first + k * 32 < f) y[k * 32] = activated(a.shrink, y[k * 32] + bias[k]);
    }
}

/* Writes g and gives it to the sums. */
struct masked {
    const float *y, *dy;
    float *g;
    __device__ __forceinline__ void eight(int64_t at, float v[WL_PACK]) const
    {
        float kept[WL_PACK];
        wl_load8(y + at, kept);
        wl_load8(dy + at, v);
#pragma unroll
        for (int i = 0; i < WL_PACK; i++) v[i] = kept[i] != 0 ? v[i] : 0;
        wl_store8(g + at, v);
    }
    __device__ __forceinline__ float one(int64_t at) const { return g[at] = y[at] != 0 ? dy[at] : 0; }
};

WL_KERNEL(complex_mask, 256, struct wl_gpu_complex_mask)
{
    const struct masked all = { a.y, a.dy, a.g };
    wl_column_sums(all, a.rows, a.f, a.of_part, a.parts);
}

WL_KERNEL(complex_fold, 256, struct wl_gpu_complex_fold)
{
    const int32_t size = a.in * a.out, imaginary = a.blocks * size, wide = 2 * a.out;
    for (int64_t at = wl_thread(); at < imaginary; at += wl_threads()) {
        const int32_t i = (int32_t)at, b = i / size, r = i % size / a.out, c = i % a.out;
        const float *upper = a.dw2 + (int64_t)b * 4 * size + r * wide + c, *lower = upper + a.in * wide;
        a.dw[i] = upper[0] + lower[a.out];
        a.dw[imaginary + i] = upper[a.out] - lower[0];
    }
    for (int64_t at = wl_thread(); at < wide * a.blocks; at += wl_threads()) {
        const int32_t i = (int32_t)at, b = i / wide, part = i / a.out % 2, o = i % a.out;
        a.db[part_at(a.blocks, a.out, part, b, o)] = a.sums[i];
    }
}
