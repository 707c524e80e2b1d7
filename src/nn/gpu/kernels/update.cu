#include "nn/gpu/kernels/update.h"

#include "nn/gpu/kernels/vector.h"

/* The span that this block belongs to. */
WL_DEVICE int span_of_block(const struct wl_gpu_span *span, int spans)
{
    int low = 0, high = spans;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if ((int)blockIdx.x < span[middle].first_block)
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* Element k of this thread in a span; neighbouring threads take neighbouring numbers. */
WL_DEVICE int64_t element(const struct wl_gpu_span &s, int k)
{
    return (int64_t)((int)blockIdx.x - s.first_block) * WL_GPU_SPAN_BLOCK + k * WL_GPU_SPAN_THREADS + (int)threadIdx.x;
}

/* w is the value of number i now. */
WL_DEVICE void put_copy(const struct wl_gpu_span &s, int f16, int64_t i, float w)
{
    if (!s.copy) return;
    if (s.channels != s.padded) i = i / s.channels * s.padded + i % s.channels;
    ((uint16_t *)s.copy)[i] = f16 ? wl_narrow<wl_f16>(w).bits : wl_narrow<wl_bf16>(w).bits;
}

/* Number i of the span becomes w. */
WL_DEVICE void put(const struct wl_gpu_span &s, int f16, int64_t i, float w)
{
    s.w[i] = w;
    put_copy(s, f16, i, w);
}

WL_KERNEL(sgd, WL_GPU_SPAN_THREADS, struct wl_gpu_sgd)
{
    const struct wl_gpu_span &s = a.span[span_of_block(a.span, a.spans)];
#pragma unroll
    for (int k = 0; k < WL_GPU_SPAN_BLOCK / WL_GPU_SPAN_THREADS; k++) {
        const int64_t i = element(s, k);
        if (i >= s.n) return;
        const float w = s.w[i], d = a.scale * s.g[i] + s.decay * w, m = a.momentum * s.slot[0][i] + d;
        s.slot[0][i] = m;
        put(s, a.f16, i, w - a.rate * (a.nesterov ? d + a.momentum * m : m));
    }
}

WL_KERNEL(adam, WL_GPU_SPAN_THREADS, struct wl_gpu_adam)
{
    const struct wl_gpu_span &s = a.span[span_of_block(a.span, a.spans)];
    const float l2 = a.shrinks ? 0 : s.decay, shrink = a.shrinks ? 1 - a.lr * s.decay : 1;
#pragma unroll
    for (int k = 0; k < WL_GPU_SPAN_BLOCK / WL_GPU_SPAN_THREADS; k++) {
        const int64_t i = element(s, k);
        if (i >= s.n) return;
        const float w = s.w[i], d = a.scale * s.g[i] + l2 * w;
        const float mean = a.beta[0] * s.slot[0][i] + a.rest[0] * d;
        const float square = a.beta[1] * s.slot[1][i] + a.rest[1] * d * d;
        s.slot[0][i] = mean;
        s.slot[1][i] = square;
        put(s, a.f16, i, shrink * w - a.rate * mean / (a.root * sqrtf(square) + a.eps));
    }
}

WL_KERNEL(copy_parameters, WL_GPU_SPAN_THREADS, struct wl_gpu_copies)
{
    const struct wl_gpu_span &s = a.span[span_of_block(a.span, a.spans)];
#pragma unroll
    for (int k = 0; k < WL_GPU_SPAN_BLOCK / WL_GPU_SPAN_THREADS; k++) {
        const int64_t i = element(s, k);
        if (i < s.n) put_copy(s, a.f16, i, s.w[i]);
    }
}

WL_KERNEL(update_statistics, 256, struct wl_gpu_statistics)
{
    const struct wl_gpu_statistic &s = a.of[blockIdx.y];
    for (int64_t i = wl_thread(); i < s.n; i += wl_threads())
        s.running[i] += s.share * (s.sum[i] / a.micro_batches - s.running[i]);
}

WL_DEVICE bool is_finite(float v) { return (wl_float_bits(v) & 0x7f800000u) != 0x7f800000u; }

/* All threads that find one write the same word. */
WL_KERNEL(check_finite, 256, struct wl_gpu_finite)
{
    bool finite = true;
    for (int64_t i = wl_thread() * WL_PACK; i < a.n; i += wl_threads() * WL_PACK) {
        float v[WL_PACK] = {};
        if (i + WL_PACK <= a.n) {
            wl_load8(a.v + i, v);
#pragma unroll
            for (int k = 0; k < WL_PACK; k++) finite = finite && is_finite(v[k]);
            continue;
        }
        for (int64_t k = i; k < a.n; k++) finite = finite && is_finite(a.v[k]);
    }
    if (!finite) a.counts->overflow = 1;
}

WL_KERNEL(sum_moments, 256, struct wl_gpu_moments)
{
    for (int64_t i = wl_thread(); i < a.n; i += wl_threads())
#pragma unroll
        for (int k = 0; k < 2; k++) a.sum[k][i] = (a.first ? 0 : a.sum[k][i]) + a.factor[k] * a.of[k][i];
}
