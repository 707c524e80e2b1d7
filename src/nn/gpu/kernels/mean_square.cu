#include "nn/gpu/kernels/mean_square.h"

#include "nn/gpu/kernels/device.h"

/* The sum over a block of 256 threads, in thread 0: pairs at a distance of 128, 64 ... 1. */
WL_DEVICE void sum_block(struct wl_gpu_loss_part *mine)
{
    __shared__ struct wl_gpu_loss_part all[256];
    all[threadIdx.x] = *mine;
    for (unsigned apart = 128; apart; apart /= 2) {
        __syncthreads();
        if (threadIdx.x >= apart) continue;
        all[threadIdx.x].sum += all[threadIdx.x + apart].sum;
        all[threadIdx.x].rows += all[threadIdx.x + apart].rows;
    }
    if (threadIdx.x == 0) *mine = all[0];
}

/* Divisions by k of 32 bits find the row: a loss has few numbers. */
WL_KERNEL(mean_square_parts, 256, struct wl_gpu_loss_parts)
{
    const int64_t first = (int64_t)blockIdx.x * a.of_part, rows = a.of_part < a.n - first ? a.of_part : a.n - first;
    const float *x = a.x + first * a.k, *target = a.target + first * a.k;
    const uint32_t k = (uint32_t)a.k, count = (uint32_t)(rows * a.k);
    struct wl_gpu_loss_part mine = { 0, 0 };
    for (uint32_t i = threadIdx.x; i < count; i += 256) {
        const uint32_t row = i / k * k;
        if (isnan(target[row])) continue;
        const double d = (double)x[i] - (double)target[i];
        mine.sum += d * d;
        mine.rows += i == row;
    }
    sum_block(&mine);
    if (threadIdx.x == 0) a.parts[blockIdx.x] = mine;
}

WL_KERNEL(mean_square_total, 256, struct wl_gpu_loss_total)
{
    struct wl_gpu_loss_part mine = { 0, 0 };
    if ((int)threadIdx.x < a.n) mine = a.parts[threadIdx.x];
    sum_block(&mine);
    if (threadIdx.x) return;
    const double loss = mine.rows ? mine.sum / (double)(mine.rows * a.k) : 0;
    *a.total = mine;
    *a.loss = (float)loss;
    a.counts->loss_sum += a.weight * loss * (double)mine.rows;
    if (a.counted) a.counts->samples += mine.rows;
    if (!isfinite(loss)) a.counts->not_finite = 1;
}

WL_KERNEL(mean_square_backward, 256, struct wl_gpu_loss_backward)
{
    const float factor = (float)(2 * a.weight / (double)(a.total->rows * a.k)) * a.run->loss_scale;
    for (int64_t i = wl_thread(); i < a.n * a.k; i += wl_threads()) {
        const bool counts = !isnan(a.target[i / a.k * a.k]);
        a.dx[i] = counts ? factor * (a.x[i] - a.target[i]) : 0;
    }
}
