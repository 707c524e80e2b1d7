/* Bytes of an element of size s: forward s (the second and third look find it in the cache), backward 2 s. */
#include "nn/gpu/kernels/cross_entropy.h"

#include "nn/gpu/kernels/device.h"

enum { THREADS = 256, WARPS = THREADS / 32 };

/* The same number in all threads of the block, in an order that does not change. All threads call it; `shared` may be
 * used again after the next barrier. */
WL_DEVICE float block_max(float v, float *shared)
{
    v = wl_warp_max(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = v;
    __syncthreads();
    v = shared[0];
    for (int i = 1; i < WARPS; i++) v = fmaxf(v, shared[i]);
    return v;
}
WL_DEVICE float block_sum(float v, float *shared)
{
    v = wl_warp_sum(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (int i = 0; i < WARPS; i++) v += shared[i];
    return v;
}

/* Does class j rank before the label? Written so that every class does where the label's logit is NAN. */
WL_DEVICE bool ranks_before(float v, int64_t j, float of_label, int64_t label)
{
    return !(of_label > v || (of_label == v && label <= j));
}

template <typename T> WL_DEVICE void cross_entropy(const struct wl_gpu_cross_entropy &a)
{
    __shared__ float shared[WARPS];
    const int64_t row = blockIdx.x, label = a.labels[row];
    const T *x = (const T *)a.x + row * a.k;
    if (label < 0) return; /* all threads of the block */
    const float of_label = wl_load(x[label]);
    float top = -INFINITY, sum = 0, before = 0;
    for (int64_t j = threadIdx.x; j < a.k; j += THREADS) top = fmaxf(top, wl_load(x[j]));
    top = block_max(top, shared);
    for (int64_t j = threadIdx.x; j < a.k; j += THREADS) {
        const float v = wl_load(x[j]);
        sum += expf(v - top);
        before += ranks_before(v, j, of_label, label) ? 1.f : 0.f;
    }
    sum = block_sum(sum, shared);
    before = block_sum(before, shared);
    if (threadIdx.x) return;
    a.facts[WL_GPU_ENTROPY_LOG_SUM * a.n + row] = top + logf(sum);
    a.facts[WL_GPU_ENTROPY_LOSS * a.n + row] = logf(sum) - (of_label - top);
    a.facts[WL_GPU_ENTROPY_RANK * a.n + row] = before;
}

/* A thread's share of all rows, then of all threads: rows, those with rank below 1 and 5, and their loss. */
struct totals {
    double loss;
    int64_t rows, top1, top5;
};

WL_DEVICE void add_up(const struct wl_gpu_cross_entropy &a, struct totals *t)
{
    *t = {};
    for (int64_t i = threadIdx.x; i < a.n; i += THREADS) {
        if (a.labels[i] < 0) continue;
        const float rank = a.facts[WL_GPU_ENTROPY_RANK * a.n + i];
        t->loss += (double)a.facts[WL_GPU_ENTROPY_LOSS * a.n + i];
        t->rows++;
        t->top1 += rank < 1;
        t->top5 += rank < 5;
    }
}

WL_DEVICE void count(const struct wl_gpu_cross_entropy &a, const struct totals &t)
{
    *a.loss = t.rows ? (float)(t.loss / (double)t.rows) : 0;
    *a.scale = t.rows ? (float)(a.weight / (double)t.rows) : 0;
    a.counts->loss_sum += a.weight * t.loss;
    if (!(fabs(t.loss) < INFINITY)) a.counts->not_finite = 1;
    if (!a.counts_samples) return;
    a.counts->samples += t.rows;
    a.counts->top1 += t.top1;
    a.counts->top5 += t.top5;
}

WL_KERNEL(cross_entropy_sum, THREADS, struct wl_gpu_cross_entropy)
{
    __shared__ struct totals of_threads[THREADS];
    add_up(a, &of_threads[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x) return;
    struct totals all = {};
    for (int i = 0; i < THREADS; i++) {
        all.loss += of_threads[i].loss;
        all.rows += of_threads[i].rows;
        all.top1 += of_threads[i].top1;
        all.top5 += of_threads[i].top5;
    }
    count(a, all);
}

template <typename T> WL_DEVICE void backward(const struct wl_gpu_cross_entropy &a)
{
    const int64_t row = blockIdx.x, label = a.labels[row];
    const float log_sum = label < 0 ? 0 : a.facts[WL_GPU_ENTROPY_LOG_SUM * a.n + row],
                scale = *a.scale * a.run->loss_scale;
    const T *x = (const T *)a.x + row * a.k;
    T *dx = (T *)a.dx + row * a.k;
    for (int64_t j = threadIdx.x; j < a.k; j += THREADS) {
        const float softmax = label < 0 ? 0 : expf(wl_load(x[j]) - log_sum);
        dx[j] = wl_narrow<T>(label < 0 ? 0 : scale * (softmax - (j == label ? 1.f : 0.f)));
    }
}

#define KERNELS(type, T)                                                                           \
    WL_KERNEL(cross_entropy_##type, THREADS, struct wl_gpu_cross_entropy) { cross_entropy<T>(a); } \
    WL_KERNEL(cross_entropy_backward_##type, THREADS, struct wl_gpu_cross_entropy) { backward<T>(a); }

KERNELS(f32, float)
KERNELS(bf16, struct wl_bf16)
KERNELS(f16, struct wl_f16)
