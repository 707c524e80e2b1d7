#include "nn/gpu/kernels/relative_l2.h"

#include "nn/gpu/kernels/vector.h"

enum { WARPS = WL_GPU_DISTANCE_THREADS / 32 };

/* Of eight elements, or fewer at the end of a sample that is not aligned. */
template <typename T>
WL_DEVICE void add_squares(const T *x, const float *t, int64_t count, bool packed, float *far, float *size)
{
    float xs[WL_PACK] = {}, ts[WL_PACK] = {};
    if (packed) {
        wl_load8(x, xs);
        wl_load8(t, ts);
    }
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) {
        if (!packed && i < count) xs[i] = wl_load(x[i]), ts[i] = t[i];
        *far += (xs[i] - ts[i]) * (xs[i] - ts[i]);
        *size += ts[i] * ts[i];
    }
}

template <typename T> WL_DEVICE void distance_parts(const struct wl_gpu_distance_parts &a)
{
    __shared__ float of_warp[2][WARPS];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int64_t sample = (int64_t)blockIdx.y * a.f, first = (int64_t)blockIdx.x * WL_GPU_DISTANCE_PART;
    const int64_t end = first + WL_GPU_DISTANCE_PART < a.f ? first + WL_GPU_DISTANCE_PART : a.f;
    float far = 0, size = 0;
#pragma unroll 4
    for (int64_t i = first + (int64_t)threadIdx.x * WL_PACK; i < end; i += WL_GPU_DISTANCE_THREADS * WL_PACK)
        add_squares((const T *)a.x + sample + i, a.t + sample + i, end - i, a.f % WL_PACK == 0, &far, &size);
    far = wl_warp_sum(far);
    size = wl_warp_sum(size);
    if (lane == 0) of_warp[0][warp] = far, of_warp[1][warp] = size;
    __syncthreads();
    if (threadIdx.x > 1) return;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) sum += of_warp[threadIdx.x][w];
    a.parts[((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * 2 + threadIdx.x] = sum;
}

WL_KERNEL(distance_parts_f32, WL_GPU_DISTANCE_THREADS, struct wl_gpu_distance_parts) { distance_parts<float>(a); }
WL_KERNEL(distance_parts_bf16, WL_GPU_DISTANCE_THREADS, struct wl_gpu_distance_parts) { distance_parts<wl_bf16>(a); }
WL_KERNEL(distance_parts_f16, WL_GPU_DISTANCE_THREADS, struct wl_gpu_distance_parts) { distance_parts<wl_f16>(a); }

/* Adds the parts of a sample, every 256th by a thread; both sums are in shared memory after it. */
WL_DEVICE void sum_sample(const struct wl_gpu_distance_sum &a, int64_t sample, double sums[2][WL_GPU_DISTANCE_THREADS])
{
    const float *parts = a.parts + sample * a.n_parts * 2;
    double far = 0, size = 0;
    for (int64_t i = threadIdx.x; i < a.n_parts; i += WL_GPU_DISTANCE_THREADS) {
        far += (double)parts[i * 2];
        size += (double)parts[i * 2 + 1];
    }
    __syncthreads();
    sums[0][threadIdx.x] = far;
    sums[1][threadIdx.x] = size;
    for (unsigned half = WL_GPU_DISTANCE_THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x >= half) continue;
        sums[0][threadIdx.x] += sums[0][threadIdx.x + half];
        sums[1][threadIdx.x] += sums[1][threadIdx.x + half];
    }
    __syncthreads();
}

WL_DEVICE bool counts_sample(const struct wl_gpu_distance_sum &a, int64_t sample)
{
    const float first = a.t[sample * a.f];
    return first == first;
}

WL_DEVICE void count_loss(const struct wl_gpu_distance_sum &a, double sum, int64_t samples, bool zero_target)
{
    struct wl_gpu_counts *c = a.counts;
    *a.loss = (float)(samples ? sum / (double)samples : 0);
    c->loss_sum += a.weight * sum;
    if (a.counts_samples) c->samples += samples;
    if (zero_target && !c->error) {
        c->error = WL_GPU_ZERO_TARGET;
        c->error_step = a.step;
    } else if (!(sum - sum == 0)) {
        c->not_finite = 1;
    }
}

WL_KERNEL(distance_sum, WL_GPU_DISTANCE_THREADS, struct wl_gpu_distance_sum)
{
    __shared__ double sums[2][WL_GPU_DISTANCE_THREADS];
    double sum = 0;
    int64_t samples = 0;
    bool zero_target = false;
    for (int64_t i = 0; i < a.n; i++) samples += counts_sample(a, i);
    for (int64_t i = 0; i < a.n; i++) {
        sum_sample(a, i, sums);
        const double far = sqrt(sums[0][0]), size = sqrt(sums[1][0]);
        const bool counts = counts_sample(a, i);
        if (counts) sum += far / size;
        if (counts && size == 0) zero_target = true;
        if (threadIdx.x == 0) a.scale[i] = counts && far > 0 ? (float)(a.weight / (far * size * (double)samples)) : 0;
    }
    if (threadIdx.x == 0) count_loss(a, sum, samples, zero_target);
}

template <typename T> WL_DEVICE void distance_backward(const struct wl_gpu_distance_backward &a)
{
    const int64_t sample = (int64_t)blockIdx.y * a.f;
    const float scale = a.scale[blockIdx.y] * a.run->loss_scale;
    const bool packed = a.f % WL_PACK == 0;
    const T *x = (const T *)a.x + sample;
    T *dx = (T *)a.dx + sample;
    for (int64_t i = wl_thread() * WL_PACK; i < a.f; i += wl_threads() * WL_PACK) {
        float v[WL_PACK] = {}, t[WL_PACK];
        if (packed && scale != 0) {
            wl_load8(x + i, v);
            wl_load8(a.t + sample + i, t);
#pragma unroll
            for (int k = 0; k < WL_PACK; k++) v[k] = scale * (v[k] - t[k]);
        }
        if (packed) {
            wl_store8(dx + i, v);
            continue;
        }
        for (int64_t k = i; k < i + WL_PACK && k < a.f; k++)
            dx[k] = wl_narrow<T>(scale != 0 ? scale * (wl_load(x[k]) - a.t[sample + k]) : 0);
    }
}

WL_KERNEL(distance_backward_f32, WL_GPU_DISTANCE_THREADS, struct wl_gpu_distance_backward)
{
    distance_backward<float>(a);
}
WL_KERNEL(distance_backward_bf16, WL_GPU_DISTANCE_THREADS, struct wl_gpu_distance_backward)
{
    distance_backward<wl_bf16>(a);
}
WL_KERNEL(distance_backward_f16, WL_GPU_DISTANCE_THREADS, struct wl_gpu_distance_backward)
{
    distance_backward<wl_f16>(a);
}
