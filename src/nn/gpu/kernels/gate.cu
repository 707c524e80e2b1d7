/* gate: rows times the product of a small basis and a matrix. A warp takes a row, a lane four features of 128 at a
 * time, whose weights for eight functions of the basis stay in its registers from row to row.
 *
 * A row takes 4 (2 f + k) bytes and 2 f k flop forward, 4 (4 f + 2 k) bytes and 6 f k flop backward (f = 128, k = 6: 1
 * kB and 2 kB): device memory bounds both. */
#include "nn/gpu/kernels/gate.h"

#include "nn/gpu/kernels/four.h"

enum { FUNCTIONS = 8, WARPS = 4 };

/* The weights of features [j, j + 4) for functions [i, i + 8), 0 beyond both. */
WL_DEVICE void weights_of(const float *w, int f, int k, int j, int i, float4 to[FUNCTIONS])
{
#pragma unroll
    for (int n = 0; n < FUNCTIONS; n++) {
        const bool known = i + n < k;
        to[n].x = known && j < f ? w[(int64_t)j * k + i + n] : 0;
        to[n].y = known && j + 1 < f ? w[(int64_t)(j + 1) * k + i + n] : 0;
        to[n].z = known && j + 2 < f ? w[(int64_t)(j + 2) * k + i + n] : 0;
        to[n].w = known && j + 3 < f ? w[(int64_t)(j + 3) * k + i + n] : 0;
    }
}

WL_DEVICE void basis_of(const float *basis, int k, int row, int i, float to[FUNCTIONS])
{
#pragma unroll
    for (int n = 0; n < FUNCTIONS; n++) to[n] = i + n < k ? basis[(int64_t)row * k + i + n] : 0;
}

WL_DEVICE float4 gate_of(const float basis[FUNCTIONS], const float4 w[FUNCTIONS])
{
    float4 g = wl_zero4();
#pragma unroll
    for (int n = 0; n < FUNCTIONS; n++) g = wl_fma4(basis[n], w[n], g);
    return g;
}

/* to = v, or to += v after the first eight functions. */
WL_DEVICE void put(float *to, int j, int f, int i, float4 v)
{
    wl_store4(to, j, f, i ? wl_add4(wl_load4(to, j, f), v) : v);
}

WL_KERNEL(gate, 128, struct wl_gpu_gate)
{
    const int rows = *a.rows, lane = (int)threadIdx.x % 32, warps = (int)gridDim.x * WARPS;
    for (int i = 0; i < a.k; i += FUNCTIONS)
        for (int j = lane * 4; j < a.f; j += 128) {
            float4 w[FUNCTIONS];
            weights_of(a.w, a.f, a.k, j, i, w);
            for (int r = (int)blockIdx.x * WARPS + (int)threadIdx.x / 32; r < rows; r += warps) {
                float basis[FUNCTIONS];
                const int64_t at = (int64_t)r * a.f;
                basis_of(a.basis, a.k, r, i, basis);
                put(a.y + at, j, a.f, i, wl_mul4(wl_load4(a.x + at, j, a.f), gate_of(basis, w)));
            }
        }
}

/* Function i + lane/4 of d_basis: the sum over lanes of d w. After the first 128 features, or with `add`, to what is
 * there. */
WL_DEVICE void put_basis(const struct wl_gpu_gate_backward &a, int row, int i, bool add, float4 d,
                         const float4 w[FUNCTIONS])
{
    float sum[FUNCTIONS];
#pragma unroll
    for (int n = 0; n < FUNCTIONS; n++) sum[n] = d.x * w[n].x + d.y * w[n].y + d.z * w[n].z + d.w * w[n].w;
    const int lane = (int)threadIdx.x % 32, n = i + lane / 4;
    const float all = wl_warp_sum8(sum, lane);
    if (lane % 4 || n >= a.k) return;
    float *const to = a.d_basis + (int64_t)row * a.k + n;
    *to = (add ? *to : 0) + all;
}

/* Part blockIdx.x of dw: the sums of the block's warps in their order. */
WL_DEVICE void put_weights(const struct wl_gpu_gate_backward &a, int j, int i, const float4 dw[FUNCTIONS],
                           float4 (*shared)[FUNCTIONS][32])
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    float *const part = a.parts.at + (int64_t)blockIdx.x * a.parts.apart;
    __syncthreads(); /* the sums before these are read */
#pragma unroll
    for (int n = 0; n < FUNCTIONS; n++) shared[warp][n][lane] = dw[n];
    __syncthreads();
#pragma unroll
    for (int n = warp; n < FUNCTIONS; n += WARPS) {
        float4 sum = shared[0][n][lane];
        for (int w = 1; w < WARPS; w++) sum = wl_add4(sum, shared[w][n][lane]);
        if (i + n >= a.k) continue;
        float *const to = part + (int64_t)j * a.k + i + n;
        if (j < a.f) to[0] = sum.x;
        if (j + 1 < a.f) to[a.k] = sum.y;
        if (j + 2 < a.f) to[2 * a.k] = sum.z;
        if (j + 3 < a.f) to[3 * a.k] = sum.w;
    }
}

WL_KERNEL(gate_backward, 128, struct wl_gpu_gate_backward)
{
    __shared__ float4 shared[WARPS][FUNCTIONS][32];
    const int lane = (int)threadIdx.x % 32;
    int from, to;
    wl_part_rows(*a.rows, WARPS, a.parts.n, (int)blockIdx.x, &from, &to);
    for (int i = 0; i < a.k; i += FUNCTIONS)
        for (int first = 0; first < a.f; first += 128) {
            const int j = first + lane * 4;
            float4 w[FUNCTIONS], dw[FUNCTIONS];
            weights_of(a.w, a.f, a.k, j, i, w);
#pragma unroll
            for (int n = 0; n < FUNCTIONS; n++) dw[n] = wl_zero4();
            for (int r = from + (int)threadIdx.x / 32; r < to; r += WARPS) {
                float basis[FUNCTIONS];
                const int64_t at = (int64_t)r * a.f;
                basis_of(a.basis, a.k, r, i, basis);
                const float4 dy = wl_load4(a.dy + at, j, a.f), d = wl_mul4(dy, wl_load4(a.x + at, j, a.f));
                put(a.dx + at, j, a.f, i, wl_mul4(dy, gate_of(basis, w)));
                put_basis(a, r, i, a.add || first, d, w);
#pragma unroll
                for (int n = 0; n < FUNCTIONS; n++) dw[n] = wl_fma4(basis[n], d, dw[n]);
            }
            put_weights(a, j, i, dw, shared);
        }
}
