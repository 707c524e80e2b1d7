#include "nn/gpu/kernels/layer_norm.h"

#include "nn/gpu/kernels/dropout_mask.h"
#include "nn/gpu/kernels/vector.h"

/* ---- a warp a row: lane l has columns 256 c + 8 l + i ---- */

enum { CHUNK = 32 * WL_PACK, CHUNKS = WL_GPU_NORM_WARP_F / CHUNK };

/* z = x + dropout(branch) of eight columns. */
template <typename T>
WL_DEVICE void take_pack(const struct wl_gpu_layer_norm &a, int64_t at, uint32_t kept, float scale, float z[WL_PACK])
{
    float branch[WL_PACK];
    if (a.x_f32)
        wl_load8((const float *)a.x + at, z);
    else
        wl_load8((const T *)a.x + at, z);
    if (!a.branch) return;
    wl_load8((const T *)a.branch + at, branch);
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) z[i] += kept >> i & 1 ? branch[i] * scale : 0;
}

/* Which of this lane's eight columns of a chunk are kept, by bit. The whole warp comes here. */
WL_DEVICE uint32_t kept_bits(const struct wl_gpu_dropout &d, int64_t row, int sample_rows, int f, int from)
{
    const uint32_t sample = (uint32_t)row / (uint32_t)sample_rows, line = (uint32_t)row % (uint32_t)sample_rows;
    return wl_mask_eight(d, sample, ((int64_t)line * f + from) / WL_MASK_GROUP, (int)threadIdx.x % 32);
}

template <typename T>
WL_DEVICE void finish_pack(const struct wl_gpu_layer_norm &a, int64_t row, int column, float inverse,
                           const float z[WL_PACK])
{
    float y[WL_PACK], by[WL_PACK];
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) y[i] = z[i] * inverse;
    if (a.hat) wl_store8((T *)a.hat + row * a.f + column, y);
    wl_load8(a.gamma + column, by);
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) y[i] *= by[i];
    wl_load8(a.beta + column, by);
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) y[i] += by[i];
    wl_store8((T *)a.y + row * a.f + column, y);
}

/* z - mean, and its inverse deviation. */
WL_DEVICE float center(const struct wl_gpu_layer_norm &a, float sum, float z[CHUNKS][WL_PACK])
{
    const int lane = (int)threadIdx.x % 32;
    const float mean = wl_warp_sum(sum) / (float)a.f;
    float squares = 0;
#pragma unroll
    for (int c = 0; c < CHUNKS; c++)
#pragma unroll
        for (int i = 0; i < WL_PACK; i++) {
            z[c][i] -= mean;
            if (c * CHUNK + lane * WL_PACK < a.f) squares += z[c][i] * z[c][i];
        }
    return 1 / sqrtf(wl_warp_sum(squares) / (float)a.f + a.eps);
}

template <typename T> WL_DEVICE void norm_warp(const struct wl_gpu_layer_norm &a)
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const bool drops = a.branch && a.drop.drop;
    for (int64_t row = (int64_t)blockIdx.x * WL_GPU_NORM_WARPS + warp; row < a.rows;
         row += (int64_t)gridDim.x * WL_GPU_NORM_WARPS) {
        float z[CHUNKS][WL_PACK] = {}, sum = 0;
#pragma unroll
        for (int c = 0; c < CHUNKS; c++) {
            if (c * CHUNK >= a.f) break;
            const uint32_t kept = drops ? kept_bits(a.drop, row, a.sample_rows, a.f, c * CHUNK) : 0xffu;
            if (c * CHUNK + lane * WL_PACK < a.f)
                take_pack<T>(a, row * a.f + c * CHUNK + lane * WL_PACK, kept, drops ? a.drop.scale : 1, z[c]);
#pragma unroll
            for (int i = 0; i < WL_PACK; i++) sum += z[c][i];
        }
        const float inverse = center(a, sum, z);
#pragma unroll
        for (int c = 0; c < CHUNKS; c++)
            if (c * CHUNK + lane * WL_PACK < a.f) finish_pack<T>(a, row, c * CHUNK + lane * WL_PACK, inverse, z[c]);
        if (a.inverse && lane == 0) a.inverse[row] = inverse;
    }
}

WL_KERNEL(layer_norm_warp_f32, WL_GPU_NORM_THREADS, struct wl_gpu_layer_norm) { norm_warp<float>(a); }
WL_KERNEL(layer_norm_warp_bf16, WL_GPU_NORM_THREADS, struct wl_gpu_layer_norm) { norm_warp<wl_bf16>(a); }
WL_KERNEL(layer_norm_warp_f16, WL_GPU_NORM_THREADS, struct wl_gpu_layer_norm) { norm_warp<wl_f16>(a); }

/* ---- a block a row ---- */

/* The same sum in every thread. All threads of the block come here. */
WL_DEVICE float block_sum(float v)
{
    __shared__ float of_warp[WL_GPU_NORM_WARPS];
    v = wl_warp_sum(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
#pragma unroll
    for (int i = 0; i < WL_GPU_NORM_WARPS; i++) v += of_warp[i];
    return v;
}

WL_DEVICE bool is_kept(const struct wl_gpu_dropout &d, int64_t element)
{
    return !d.drop || wl_mask_kept(d, element / d.f, element % d.f);
}

template <typename T> WL_DEVICE float take_one(const struct wl_gpu_layer_norm &a, int64_t at)
{
    const float x = a.x_f32 ? ((const float *)a.x)[at] : wl_load(((const T *)a.x)[at]);
    if (!a.branch || !is_kept(a.drop, at)) return x;
    return x + wl_load(((const T *)a.branch)[at]) * (a.drop.drop ? a.drop.scale : 1);
}

template <typename T> WL_DEVICE void norm_block(const struct wl_gpu_layer_norm &a)
{
    WL_DYNAMIC_SHARED(float, z); /* each thread reads what it wrote */
    for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        const int64_t at = row * a.f;
        float sum = 0, squares = 0;
        for (int j = (int)threadIdx.x; j < a.f; j += WL_GPU_NORM_THREADS) sum += z[j] = take_one<T>(a, at + j);
        const float mean = block_sum(sum) / (float)a.f;
        for (int j = (int)threadIdx.x; j < a.f; j += WL_GPU_NORM_THREADS) {
            z[j] -= mean;
            squares += z[j] * z[j];
        }
        const float inverse = 1 / sqrtf(block_sum(squares) / (float)a.f + a.eps);
        for (int j = (int)threadIdx.x; j < a.f; j += WL_GPU_NORM_THREADS) {
            const float hat = z[j] * inverse;
            ((T *)a.y)[at + j] = wl_narrow<T>(hat * a.gamma[j] + a.beta[j]);
            if (a.hat) ((T *)a.hat)[at + j] = wl_narrow<T>(hat);
        }
        if (a.inverse && threadIdx.x == 0) a.inverse[row] = inverse;
    }
}

WL_KERNEL(layer_norm_block_f32, WL_GPU_NORM_THREADS, struct wl_gpu_layer_norm) { norm_block<float>(a); }
WL_KERNEL(layer_norm_block_bf16, WL_GPU_NORM_THREADS, struct wl_gpu_layer_norm) { norm_block<wl_bf16>(a); }
WL_KERNEL(layer_norm_block_f16, WL_GPU_NORM_THREADS, struct wl_gpu_layer_norm) { norm_block<wl_f16>(a); }

/* ---- backward, a warp a row ---- */

/* This lane's columns of a row, and of the sums over rows. */
template <typename T> struct norm_row {
    struct wl_pack<T> dy[CHUNKS], hat[CHUNKS];
    float sum, along; /* of g and g hat, over the row; then their means */
};

template <typename T>
WL_DEVICE void load_row(const struct wl_gpu_layer_norm_backward &a, int64_t row, struct norm_row<T> *r,
                        float dgamma[CHUNKS][WL_PACK], float dbeta[CHUNKS][WL_PACK])
{
    const int lane = (int)threadIdx.x % 32;
    r->sum = r->along = 0;
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        const int column = c * CHUNK + lane * WL_PACK;
        if (column >= a.f) break;
        r->dy[c] = wl_pack_load((const T *)a.dy + row * a.f + column);
        r->hat[c] = wl_pack_load((const T *)a.hat + row * a.f + column);
    }
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        const int column = c * CHUNK + lane * WL_PACK;
        float gamma[WL_PACK];
        if (column >= a.f) break;
        wl_load8(a.gamma + column, gamma);
#pragma unroll
        for (int i = 0; i < WL_PACK; i++) {
            const float d = wl_pack_get(r->dy[c], i), h = wl_pack_get(r->hat[c], i);
            dgamma[c][i] += d * h;
            dbeta[c][i] += d;
            r->sum += d * gamma[i];
            r->along += d * gamma[i] * h;
        }
    }
    r->sum = wl_warp_sum(r->sum) / (float)a.f;
    r->along = wl_warp_sum(r->along) / (float)a.f;
}

/* dz and dbranch of chunk c. */
template <typename T>
WL_DEVICE void store_pack(const struct wl_gpu_layer_norm_backward &a, int64_t row, int c, const struct norm_row<T> &r)
{
    const int column = c * CHUNK + (int)threadIdx.x % 32 * WL_PACK;
    const bool drops = a.dbranch && a.drop.drop;
    const uint32_t kept = drops ? kept_bits(a.drop, row, a.sample_rows, a.f, c * CHUNK) : 0xffu;
    const float inverse = a.inverse[row], scale = drops ? a.drop.scale : 1;
    float dz[WL_PACK], gamma[WL_PACK];
    if (column >= a.f) return;
    wl_load8(a.gamma + column, gamma);
#pragma unroll
    for (int i = 0; i < WL_PACK; i++)
        dz[i] = inverse * (wl_pack_get(r.dy[c], i) * gamma[i] - r.sum - wl_pack_get(r.hat[c], i) * r.along);
    wl_store8((T *)a.dz + row * a.f + column, dz);
    if (!a.dbranch) return;
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) dz[i] = kept >> i & 1 ? dz[i] * scale : 0;
    wl_store8((T *)a.dbranch + row * a.f + column, dz);
}

/* parts of this block: its warps' sums, one warp after the other. */
WL_DEVICE void store_parts(const struct wl_gpu_layer_norm_backward &a, const float dgamma[CHUNKS][WL_PACK],
                           const float dbeta[CHUNKS][WL_PACK])
{
    __shared__ float sums[2][WL_GPU_NORM_WARP_F];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
#pragma unroll 1
    for (int w = 0; w < WL_GPU_NORM_WARPS; w++) {
        __syncthreads();
        if (warp != w) continue;
#pragma unroll
        for (int c = 0; c < CHUNKS; c++)
#pragma unroll
            for (int i = 0; i < WL_PACK; i++) {
                const int column = c * CHUNK + lane * WL_PACK + i;
                sums[0][column] = w ? sums[0][column] + dgamma[c][i] : dgamma[c][i];
                sums[1][column] = w ? sums[1][column] + dbeta[c][i] : dbeta[c][i];
            }
    }
    __syncthreads();
    float *to = a.parts + (int64_t)blockIdx.x * 2 * a.f;
    for (int j = (int)threadIdx.x; j < a.f; j += WL_GPU_NORM_THREADS) {
        to[j] = sums[0][j];
        to[a.f + j] = sums[1][j];
    }
}

template <typename T> WL_DEVICE void backward_warp(const struct wl_gpu_layer_norm_backward &a)
{
    const int warp = (int)threadIdx.x / 32;
    float dgamma[CHUNKS][WL_PACK] = {}, dbeta[CHUNKS][WL_PACK] = {};
    for (int64_t row = (int64_t)blockIdx.x * WL_GPU_NORM_WARPS + warp; row < a.rows;
         row += (int64_t)gridDim.x * WL_GPU_NORM_WARPS) {
        struct norm_row<T> r;
        load_row(a, row, &r, dgamma, dbeta);
#pragma unroll
        for (int c = 0; c < CHUNKS; c++) {
            if (c * CHUNK >= a.f) break;
            store_pack(a, row, c, r);
        }
    }
    store_parts(a, dgamma, dbeta);
}

WL_KERNEL_ALONE(layer_norm_backward_warp_f32, WL_GPU_NORM_THREADS, struct wl_gpu_layer_norm_backward)
{
    backward_warp<float>(a);
}
WL_KERNEL_ALONE(layer_norm_backward_warp_bf16, WL_GPU_NORM_THREADS, struct wl_gpu_layer_norm_backward)
{
    backward_warp<wl_bf16>(a);
}
WL_KERNEL_ALONE(layer_norm_backward_warp_f16, WL_GPU_NORM_THREADS, struct wl_gpu_layer_norm_backward)
{
    backward_warp<wl_f16>(a);
}

/* ---- backward, a block a row ---- */

template <typename T>
WL_DEVICE void backward_row(const struct wl_gpu_layer_norm_backward &a, int64_t row, float *dgamma, float *dbeta)
{
    const T *dy = (const T *)a.dy + row * a.f, *hat = (const T *)a.hat + row * a.f;
    float sum = 0, along = 0;
    for (int j = (int)threadIdx.x; j < a.f; j += WL_GPU_NORM_THREADS) {
        const float d = wl_load(dy[j]), h = wl_load(hat[j]);
        dgamma[j] += d * h;
        dbeta[j] += d;
        sum += d * a.gamma[j];
        along += d * a.gamma[j] * h;
    }
    sum = block_sum(sum) / (float)a.f;
    along = block_sum(along) / (float)a.f;
    const float inverse = a.inverse[row];
    for (int j = (int)threadIdx.x; j < a.f; j += WL_GPU_NORM_THREADS) {
        const int64_t at = row * a.f + j;
        const float dz = inverse * (wl_load(dy[j]) * a.gamma[j] - sum - wl_load(hat[j]) * along);
        ((T *)a.dz)[at] = wl_narrow<T>(dz);
        if (!a.dbranch) continue;
        ((T *)a.dbranch)[at] = wl_narrow<T>(is_kept(a.drop, at) ? dz * (a.drop.drop ? a.drop.scale : 1) : 0);
    }
}

template <typename T> WL_DEVICE void backward_block(const struct wl_gpu_layer_norm_backward &a)
{
    WL_DYNAMIC_SHARED(float, dgamma); /* then dbeta; each thread has its columns */
    float *dbeta = dgamma + a.f, *to = a.parts + (int64_t)blockIdx.x * 2 * a.f;
    for (int j = (int)threadIdx.x; j < a.f; j += WL_GPU_NORM_THREADS) dgamma[j] = dbeta[j] = 0;
    for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) backward_row<T>(a, row, dgamma, dbeta);
    for (int j = (int)threadIdx.x; j < a.f; j += WL_GPU_NORM_THREADS) {
        to[j] = dgamma[j];
        to[a.f + j] = dbeta[j];
    }
}

WL_KERNEL(layer_norm_backward_block_f32, WL_GPU_NORM_THREADS, struct wl_gpu_layer_norm_backward)
{
    backward_block<float>(a);
}
WL_KERNEL(layer_norm_backward_block_bf16, WL_GPU_NORM_THREADS, struct wl_gpu_layer_norm_backward)
{
    backward_block<wl_bf16>(a);
}
WL_KERNEL(layer_norm_backward_block_f16, WL_GPU_NORM_THREADS, struct wl_gpu_layer_norm_backward)
{
    backward_block<wl_f16>(a);
}
