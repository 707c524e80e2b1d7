#include "nn/gpu/kernels/fields.h"

#include "nn/gpu/kernels/vector.h"

template <typename T> WL_DEVICE void patches(const struct wl_gpu_patches &a)
{
    const int n = (int)blockIdx.x / a.h, y = (int)blockIdx.x % a.h;
    const int x = (int)blockIdx.y * WL_GPU_FIELD_THREADS + (int)threadIdx.x;
    if (x >= a.w) return;
    const int64_t square = ((int64_t)n * (a.h / a.side) + y / a.side) * (a.w / a.side) + x / a.side;
    const int64_t row = square * a.c * a.side * a.side + (int64_t)(y % a.side) * a.line + x % a.side * a.point;
    const int64_t image = ((int64_t)n * a.c * a.h + y) * a.w + x, area = (int64_t)a.h * a.w;
    const T *from = (const T *)a.from;
    T *to = (T *)a.to;
    if (a.to_image) {
#pragma unroll 4
        for (int c = 0; c < a.c; c++) to[image + c * area] = from[row + (int64_t)c * a.channel];
    } else {
#pragma unroll 4
        for (int c = 0; c < a.c; c++) to[row + (int64_t)c * a.channel] = from[image + c * area];
    }
}

WL_KERNEL(patches_f32, WL_GPU_FIELD_THREADS, struct wl_gpu_patches) { patches<float>(a); }
WL_KERNEL(patches_bf16, WL_GPU_FIELD_THREADS, struct wl_gpu_patches) { patches<wl_bf16>(a); }
WL_KERNEL(patches_f16, WL_GPU_FIELD_THREADS, struct wl_gpu_patches) { patches<wl_f16>(a); }

/* Eight numbers of x plus those of p, from i on in this piece. */
template <typename T> WL_DEVICE void add_pack(const struct wl_gpu_position &a, int64_t from, int64_t i)
{
    float x[WL_PACK], p[WL_PACK];
    wl_load8((const T *)a.x + from + i, x);
    wl_load8(a.p + i, p);
#pragma unroll
    for (int k = 0; k < WL_PACK; k++) x[k] += p[k];
    if (a.y_f32)
        wl_store8((float *)a.y + from + i, x);
    else
        wl_store8((T *)a.y + from + i, x);
}

template <typename T> WL_DEVICE void add_one(const struct wl_gpu_position &a, int64_t from, int64_t i)
{
    const float sum = wl_load(((const T *)a.x)[from + i]) + a.p[i];
    if (a.y_f32)
        ((float *)a.y)[from + i] = sum;
    else
        ((T *)a.y)[from + i] = wl_narrow<T>(sum);
}

template <typename T> WL_DEVICE void position(const struct wl_gpu_position &a)
{
    const int64_t from = (int64_t)blockIdx.y * a.size;
    const bool packed = a.size % WL_PACK == 0;
    for (int64_t i = wl_thread(); i < (packed ? a.size / WL_PACK : a.size); i += wl_threads()) {
        if (packed)
            add_pack<T>(a, from, i * WL_PACK);
        else
            add_one<T>(a, from, i);
    }
}

WL_KERNEL(position_f32, WL_GPU_FIELD_THREADS, struct wl_gpu_position) { position<float>(a); }
WL_KERNEL(position_bf16, WL_GPU_FIELD_THREADS, struct wl_gpu_position) { position<wl_bf16>(a); }
WL_KERNEL(position_f16, WL_GPU_FIELD_THREADS, struct wl_gpu_position) { position<wl_f16>(a); }

template <typename T> WL_DEVICE void sum_pack(const struct wl_gpu_sum_pieces &a, int64_t i)
{
    float sum[WL_PACK] = {}, v[WL_PACK];
#pragma unroll 2
    for (int64_t k = 0; k < a.n; k++) {
        wl_load8((const T *)a.x + k * a.size + i, v);
#pragma unroll
        for (int j = 0; j < WL_PACK; j++) sum[j] += v[j];
    }
    wl_store8(a.to + i, sum);
}

template <typename T> WL_DEVICE void sum_pieces(const struct wl_gpu_sum_pieces &a)
{
    const bool packed = a.size % WL_PACK == 0;
    for (int64_t i = wl_thread(); i < (packed ? a.size / WL_PACK : a.size); i += wl_threads()) {
        if (packed) {
            sum_pack<T>(a, i * WL_PACK);
            continue;
        }
        float sum = 0;
        for (int64_t k = 0; k < a.n; k++) sum += wl_load(((const T *)a.x)[k * a.size + i]);
        a.to[i] = sum;
    }
    for (int64_t i = a.size + wl_thread(); i < a.room; i += wl_threads()) a.to[i] = 0;
}

WL_KERNEL(sum_pieces_f32, WL_GPU_FIELD_THREADS, struct wl_gpu_sum_pieces) { sum_pieces<float>(a); }
WL_KERNEL(sum_pieces_bf16, WL_GPU_FIELD_THREADS, struct wl_gpu_sum_pieces) { sum_pieces<wl_bf16>(a); }
WL_KERNEL(sum_pieces_f16, WL_GPU_FIELD_THREADS, struct wl_gpu_sum_pieces) { sum_pieces<wl_f16>(a); }
