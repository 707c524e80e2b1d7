/* Bytes of an element of size s: forward 3 s (x twice, y), with a sum 4 s; backward 5 s (x and dy twice, dx), with a
 * sum 7 s. A thread sums at most some hundred elements in f32, around one of them; blocks are added up in double, so
 * one pass over x gives a variance as good as two do. */
#include "nn/gpu/kernels/batch_norm.h"

#include "nn/gpu/kernels/image.h"

enum { SUMS = 2 * WL_PACK, LANES = 32, SLICES = WL_GPU_TILE_THREADS / LANES };

/* Numbers of a thread's channels; of those that only pad, 0. */
WL_DEVICE void of_channels(const float *v, int channel, int channels, float to[WL_PACK])
{
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) to[i] = channel + i < channels ? v[channel + i] : 0;
}

struct line {
    float mean[WL_PACK], scale[WL_PACK], beta[WL_PACK];
};

WL_DEVICE void line_of(const struct wl_gpu_batch_norm &a, int channel, struct line &l)
{
    of_channels(a.mean, channel, a.channels, l.mean);
    of_channels(a.gamma, channel, a.channels, l.scale);
    of_channels(a.beta, channel, a.channels, l.beta);
#pragma unroll
    for (int i = 0; i < WL_PACK; i++)
        if (channel + i < a.channels) l.scale[i] /= sqrtf(a.var[channel + i] + a.eps);
}

/* A block's sums, of its threads in order, to its row of `parts`. All threads call it. */
WL_DEVICE void store_part(const struct wl_gpu_batch_norm &a, const struct wl_tile_part &p, const float sums[2][WL_PACK])
{
    __shared__ float shared[SUMS][WL_GPU_TILE_THREADS + 1];
    const int t = (int)threadIdx.x, groups = a.tiles.groups, wide = groups * WL_PACK;
#pragma unroll
    for (int k = 0; k < SUMS; k++) shared[k][t] = sums[k / WL_PACK][k % WL_PACK];
    __syncthreads(); /* the block's sums are there */
    for (int i = t; i < 2 * wide; i += (int)blockDim.x) {
        const int half = i / wide, c = i % wide, to = (int)blockIdx.y * wide + c;
        float sum = 0;
        for (int row = 0; row < p.rows; row++) sum += shared[half * WL_PACK + c % WL_PACK][row * groups + c / WL_PACK];
        if (to < a.tiles.width) a.parts[((int64_t)blockIdx.x * 2 + half) * a.tiles.width + to] = sum;
    }
}

/* The two sums of a channel over all parts: a block takes LANES channels, SLICES threads a channel. They are there in
 * the threads of the first slice. All threads call it. */
WL_DEVICE void sum_parts(const struct wl_gpu_batch_norm &a, double sums[2])
{
    __shared__ double shared[2][SLICES][LANES];
    const int lane = (int)threadIdx.x % LANES, slice = (int)threadIdx.x / LANES;
    const int64_t channel = (int64_t)blockIdx.x * LANES + lane, width = a.tiles.width;
    sums[0] = sums[1] = 0;
    for (int i = slice; i < a.n_parts && channel < width; i += SLICES) {
        sums[0] += (double)a.parts[(int64_t)i * 2 * width + channel];
        sums[1] += (double)a.parts[((int64_t)i * 2 + 1) * width + channel];
    }
    shared[0][slice][lane] = sums[0];
    shared[1][slice][lane] = sums[1];
    __syncthreads();
    if (slice) return;
    for (int i = 1; i < SLICES; i++) {
        sums[0] += shared[0][i][lane];
        sums[1] += shared[1][i][lane];
    }
}

/* ---- forward ---- */

template <typename T> WL_DEVICE void sums(const struct wl_gpu_batch_norm &a)
{
    const struct wl_tile_part p = wl_tile_part_of(a.tiles);
    const T *x = (const T *)a.x + p.channel;
    const int64_t count = a.tiles.width - p.channel;
    float around[WL_PACK], sums[2][WL_PACK] = {};
    if (!p.idle) wl_load_some(x, a.tiles.aligned, count, around);
    for (int64_t i = p.first; i < a.tiles.pixels && !p.idle; i += p.step) {
        float v[WL_PACK];
        wl_load_some(x + i * a.tiles.width, a.tiles.aligned, count, v);
#pragma unroll
        for (int k = 0; k < WL_PACK; k++) {
            const float d = v[k] - around[k];
            sums[0][k] += d;
            sums[1][k] += d * d;
        }
    }
    store_part(a, p, sums);
}

template <typename T> WL_DEVICE void moments(const struct wl_gpu_batch_norm &a)
{
    double sums[2];
    sum_parts(a, sums);
    const int64_t channel = (int64_t)blockIdx.x * LANES + threadIdx.x;
    if (threadIdx.x >= LANES || channel >= a.channels) return;
    const double n = (double)a.tiles.pixels, by = sums[0] / n, var = sums[1] / n - by * by;
    a.mean[channel] = (float)((double)wl_load(((const T *)a.x)[channel]) + by);
    a.var[channel] = (float)(var < 0 ? 0 : var); /* NAN stays */
}

/* The square of the mean is subtracted, so the variance is as exact as f32 sums of squares are: to 1e-6 or so of the
 * mean's square. Rounding x to bf16 has added as much (2^-18/3). */
WL_DEVICE void moments_of_sums(const struct wl_gpu_batch_norm &a)
{
    const int64_t channel = (int64_t)blockIdx.x * LANES + threadIdx.x;
    if (threadIdx.x >= LANES || channel >= a.channels) return;
    const double n = (double)a.tiles.pixels, mean = (double)a.sum[channel] / n,
                 var = (double)a.squares[channel] / n - mean * mean;
    a.mean[channel] = (float)mean;
    a.var[channel] = (float)(var < 0 ? 0 : var); /* NAN stays */
}

WL_DEVICE float value_of(const struct line &l, int k, float x) { return (x - l.mean[k]) * l.scale[k] + l.beta[k]; }

template <typename T> WL_DEVICE void apply(const struct wl_gpu_batch_norm &a)
{
    const struct wl_tile_part p = wl_tile_part_of(a.tiles);
    const int64_t count = a.tiles.width - p.channel;
    const bool aligned = a.tiles.aligned;
    if (p.idle) return;
    struct line l;
    line_of(a, p.channel, l);
    for (int64_t i = p.first; i < a.tiles.pixels; i += p.step) {
        const int64_t at = i * a.tiles.width + p.channel;
        float v[WL_PACK], z[WL_PACK];
        wl_load_some((const T *)a.x + at, aligned, count, v);
        if (a.z) wl_load_some((const T *)a.z + at, aligned, count, z);
#pragma unroll
        for (int k = 0; k < WL_PACK; k++) {
            v[k] = value_of(l, k, v[k]);
            if (a.z) v[k] = wl_load(wl_narrow<T>(v[k])) + z[k];
            if (a.relu && v[k] <= 0) v[k] = 0;
        }
        wl_store_some((T *)a.y + i * a.of_y.stride + a.of_y.at + p.channel, aligned, count, v);
    }
}

/* ---- backward ---- */

template <typename T> WL_DEVICE void reduce(const struct wl_gpu_batch_norm &a)
{
    const struct wl_tile_part p = wl_tile_part_of(a.tiles);
    const int64_t count = a.tiles.width - p.channel;
    const bool aligned = a.tiles.aligned, from_y = a.relu == WL_GPU_NORM_RELU_FROM_Y;
    float sums[2][WL_PACK] = {};
    struct line l;
    if (!p.idle) line_of(a, p.channel, l);
    for (int64_t i = p.first; i < a.tiles.pixels && !p.idle; i += p.step) {
        const int64_t at = i * a.tiles.width + p.channel;
        float x[WL_PACK], y[WL_PACK], d[WL_PACK];
        wl_load_some((const T *)a.x + at, aligned, count, x);
        wl_load_some((const T *)a.dy + i * a.of_dy.stride + a.of_dy.at + p.channel, aligned, count, d);
        if (from_y) wl_load_some((const T *)a.y + at, aligned, count, y);
#pragma unroll
        for (int k = 0; k < WL_PACK; k++) {
            if (a.relu == WL_GPU_NORM_RELU_FROM_X && !(value_of(l, k, x[k]) > 0)) d[k] = 0;
            if (from_y && !(y[k] > 0)) d[k] = 0;
            sums[0][k] += d[k];
            sums[1][k] += d[k] * (x[k] - l.mean[k]);
        }
        if (from_y) wl_store_some((T *)a.d + at, aligned, count, d);
    }
    store_part(a, p, sums);
}

/* With x^ = (x - mean)/deviation: dbeta = sum d, dgamma = sum d x^, dx = gamma/deviation (d - (dbeta + x^ dgamma)/n).
 * Source: nn/ref/batch_norm.c */
WL_DEVICE void gradients(const struct wl_gpu_batch_norm &a)
{
    double sums[2];
    sum_parts(a, sums);
    const int64_t channel = (int64_t)blockIdx.x * LANES + threadIdx.x, width = a.tiles.width;
    if (threadIdx.x >= LANES || channel >= width) return;
    float *slope = a.slope + channel;
    slope[0] = slope[width] = slope[2 * width] = 0;
    if (channel >= a.channels) return;
    const double inverse = 1 / sqrt((double)a.var[channel] + (double)a.eps), n = (double)a.tiles.pixels;
    const double scale = (double)a.gamma[channel] * inverse, dgamma = sums[1] * inverse;
    a.dbeta[channel] = (float)sums[0];
    a.dgamma[channel] = (float)dgamma;
    slope[0] = (float)scale;
    slope[width] = (float)(-scale * inverse * dgamma / n);
    slope[2 * width] = (float)(-scale * sums[0] / n);
}

template <typename T> WL_DEVICE void spread(const struct wl_gpu_batch_norm &a)
{
    const struct wl_tile_part p = wl_tile_part_of(a.tiles);
    const int64_t width = a.tiles.width, count = width - p.channel;
    const bool aligned = a.tiles.aligned, from_y = a.relu == WL_GPU_NORM_RELU_FROM_Y;
    if (p.idle) return;
    struct line l;
    float slope[3][WL_PACK];
    line_of(a, p.channel, l);
#pragma unroll
    for (int j = 0; j < 3; j++) of_channels(a.slope + j * width, p.channel, a.tiles.width, slope[j]);
    for (int64_t i = p.first; i < a.tiles.pixels; i += p.step) {
        const int64_t at = i * width + p.channel;
        const T *from = from_y ? (const T *)a.d + at : (const T *)a.dy + i * a.of_dy.stride + a.of_dy.at + p.channel;
        float x[WL_PACK], d[WL_PACK];
        wl_load_some((const T *)a.x + at, aligned, count, x);
        wl_load_some(from, aligned, count, d);
#pragma unroll
        for (int k = 0; k < WL_PACK; k++) {
            if (a.relu == WL_GPU_NORM_RELU_FROM_X && !(value_of(l, k, x[k]) > 0)) d[k] = 0;
            d[k] = slope[0][k] * d[k] + (slope[1][k] * (x[k] - l.mean[k]) + slope[2][k]);
        }
        wl_store_some((T *)a.dx + at, aligned, count, d);
    }
}

#define KERNELS(type, T)                                                                                   \
    WL_KERNEL(batch_norm_sums_##type, WL_GPU_TILE_THREADS, struct wl_gpu_batch_norm) { sums<T>(a); }       \
    WL_KERNEL(batch_norm_moments_##type, WL_GPU_TILE_THREADS, struct wl_gpu_batch_norm) { moments<T>(a); } \
    WL_KERNEL(batch_norm_apply_##type, WL_GPU_TILE_THREADS, struct wl_gpu_batch_norm) { apply<T>(a); }     \
    WL_KERNEL(batch_norm_reduce_##type, WL_GPU_TILE_THREADS, struct wl_gpu_batch_norm) { reduce<T>(a); }   \
    WL_KERNEL(batch_norm_spread_##type, WL_GPU_TILE_THREADS, struct wl_gpu_batch_norm) { spread<T>(a); }

KERNELS(f32, float)
KERNELS(bf16, struct wl_bf16)
KERNELS(f16, struct wl_f16)

WL_KERNEL(batch_norm_moments_of_sums, WL_GPU_TILE_THREADS, struct wl_gpu_batch_norm) { moments_of_sums(a); }
WL_KERNEL(batch_norm_gradients, WL_GPU_TILE_THREADS, struct wl_gpu_batch_norm) { gradients(a); }
