#include "nn/gpu/kernels/update.h"

#include "nn/gpu/kernels/device.h"

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
    return (int64_t)((int)blockIdx.x - s.first_block) * WL_GPU_SPAN_BLOCK + k * 256 + (int)threadIdx.x;
}

WL_KERNEL(sgd, 256, struct wl_gpu_sgd)
{
    const struct wl_gpu_span &s = a.span[span_of_block(a.span, a.spans)];
#pragma unroll
    for (int k = 0; k < WL_GPU_SPAN_BLOCK / 256; k++) {
        const int64_t i = element(s, k);
        if (i >= s.n) return;
        const float w = s.w[i], d = a.scale * s.g[i] + s.decay * w, m = a.momentum * s.slot[0][i] + d;
        s.slot[0][i] = m;
        s.w[i] = w - a.rate * (a.nesterov ? d + a.momentum * m : m);
    }
}

WL_KERNEL(adam, 256, struct wl_gpu_adam)
{
    const struct wl_gpu_span &s = a.span[span_of_block(a.span, a.spans)];
    const float l2 = a.shrinks ? 0 : s.decay, shrink = a.shrinks ? 1 - a.lr * s.decay : 1;
#pragma unroll
    for (int k = 0; k < WL_GPU_SPAN_BLOCK / 256; k++) {
        const int64_t i = element(s, k);
        if (i >= s.n) return;
        const float w = s.w[i], d = a.scale * s.g[i] + l2 * w;
        const float mean = a.beta[0] * s.slot[0][i] + a.rest[0] * d;
        const float square = a.beta[1] * s.slot[1][i] + a.rest[1] * d * d;
        s.slot[0][i] = mean;
        s.slot[1][i] = square;
        s.w[i] = shrink * w - a.rate * mean / (a.root * sqrtf(square) + a.eps);
    }
}

WL_KERNEL(update_statistics, 256, struct wl_gpu_statistics)
{
    const struct wl_gpu_statistic &s = a.of[blockIdx.y];
    for (int64_t i = wl_thread(); i < s.n; i += wl_threads())
        s.running[i] += s.share * (s.sum[i] / a.micro_batches - s.running[i]);
}

WL_KERNEL(sum_moments, 256, struct wl_gpu_moments)
{
    for (int64_t i = wl_thread(); i < a.n; i += wl_threads())
#pragma unroll
        for (int k = 0; k < 2; k++) a.sum[k][i] = (a.first ? 0 : a.sum[k][i]) + a.factor[k] * a.of[k][i];
}
