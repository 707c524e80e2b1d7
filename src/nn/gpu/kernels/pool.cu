/* A thread takes eight channels of a pixel of the result. Backward that is a pixel of dx: it visits the windows that
 * cover the pixel in a fixed order, so nothing is added by two threads. Bytes of an element of y, of size s, with
 * windows of k pixels that overlap in the cache: forward k/overlap s + s (+ 2: index), backward the same. */
#include "nn/gpu/kernels/pool.h"

#include "nn/gpu/kernels/image.h"

/* Pixels or windows [from, to) along an axis. */
struct span {
    int from, to;
};

/* Those inside the image that window `at` covers. */
WL_DEVICE struct span pixels_of(int at, int stride, int pad, int kernel, int size)
{
    const int from = at * stride - pad, to = from + kernel;
    return { from < 0 ? 0 : from, to > size ? size : to };
}

/* Of `count` windows those that cover pixel `at`. */
WL_DEVICE struct span windows_of(int at, int stride, int pad, int kernel, int count)
{
    const int last = (at + pad) / stride, before = at + pad - kernel;
    return { before < 0 ? 0 : before / stride + 1, last + 1 > count ? count : last + 1 };
}

/* Where a thread is: eight channels from `c` of column `x` and line `y` of image `n`. */
struct place {
    int n, c, x, y;
    bool outside;
};

WL_DEVICE struct place place_of(const struct wl_gpu_pool &a, int lines, int columns)
{
    const int groups = (a.width + WL_PACK - 1) / WL_PACK, i = (int)(blockIdx.y * blockDim.x + threadIdx.x);
    struct place at;
    at.n = (int)blockIdx.x / lines;
    at.y = (int)blockIdx.x % lines;
    at.x = i / groups;
    at.c = i % groups * WL_PACK;
    at.outside = at.x >= columns;
    return at;
}

/* The thread's channels of the first pixel of line y of its image. */
WL_DEVICE int64_t line_of(const struct wl_gpu_pool &a, const struct place &at, int lines, int columns, int y)
{
    return ((int64_t)at.n * lines + y) * columns * a.width + at.c;
}

/* dx: what `add` makes of each window (p, q) that covers the thread's pixel, and of its dy, which is at a.dy + from. */
template <typename T, bool WHOLE, typename ADD> WL_DEVICE void windows_backward(const struct wl_gpu_pool &a, ADD add)
{
    const struct place at = place_of(a, a.h, a.w);
    if (at.outside) return;
    const struct span rows = windows_of(at.y, a.stride[0], a.pad[0], a.r, a.p);
    const struct span columns = windows_of(at.x, a.stride[1], a.pad[1], a.s, a.q);
    const int count = a.width - at.c;
    float dx[WL_PACK] = {};
    for (int p = rows.from; p < rows.to; p++) {
        const int64_t line = line_of(a, at, a.p, a.q, p);
        for (int q = columns.from; q < columns.to; q++) {
            const int64_t from = line + (int64_t)q * a.width;
            float dy[WL_PACK];
            wl_load_some((const T *)a.dy + from, WHOLE, count, dy);
            add(at, p, q, from, dy, dx);
        }
    }
    wl_store_some((T *)a.dx + line_of(a, at, a.h, a.w, at.y) + (int64_t)at.x * a.width, WHOLE, count, dx);
}

/* ---- maximum ---- */

/* As wl_load_some and wl_store_some, of indices. */
WL_DEVICE void load_index(const uint16_t *from, bool whole, int count, int to[WL_PACK])
{
    if (whole) {
        const struct wl_pack<struct wl_bf16> p = wl_pack_load((const struct wl_bf16 *)from);
#pragma unroll
        for (int i = 0; i < WL_PACK; i++) to[i] = (int)(p.quad[0].word[i / 2] >> i % 2 * 16 & 0xffffu);
        return;
    }
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) to[i] = i < count ? from[i] : 0;
}
WL_DEVICE void store_index(uint16_t *to, bool whole, int count, const int from[WL_PACK])
{
    if (whole) {
        struct wl_quad quad;
#pragma unroll
        for (int i = 0; i < WL_PACK / 2; i++) quad.word[i] = (uint32_t)from[2 * i] | (uint32_t)from[2 * i + 1] << 16;
        *(struct wl_quad *)to = quad;
        return;
    }
#pragma unroll
    for (int i = 0; i < WL_PACK; i++)
        if (i < count) to[i] = (uint16_t)from[i];
}

/* The first of several equal ones, as nn/ref; a NAN is larger than numbers. */
template <typename T, bool WHOLE> WL_DEVICE void max_pool(const struct wl_gpu_pool &a)
{
    const struct place at = place_of(a, a.p, a.q);
    if (at.outside) return;
    const struct span rows = pixels_of(at.y, a.stride[0], a.pad[0], a.r, a.h);
    const struct span columns = pixels_of(at.x, a.stride[1], a.pad[1], a.s, a.w);
    /* of pixel (0, 0) of the image */
    const int of_origin = (a.pad[0] - at.y * a.stride[0]) * a.s + a.pad[1] - at.x * a.stride[1];
    float best[WL_PACK];
    int index[WL_PACK];
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) {
        best[i] = -INFINITY;
        index[i] = of_origin + rows.from * a.s + columns.from;
    }
    for (int y = rows.from; y < rows.to; y++) {
        const T *line = (const T *)a.x + line_of(a, at, a.h, a.w, y);
        for (int x = columns.from; x < columns.to; x++) {
            float v[WL_PACK];
            wl_load_some(line + (int64_t)x * a.width, WHOLE, a.width - at.c, v);
#pragma unroll
            for (int i = 0; i < WL_PACK; i++)
                if (v[i] > best[i] || v[i] != v[i]) {
                    best[i] = v[i];
                    index[i] = of_origin + y * a.s + x;
                }
        }
    }
    const int64_t to = line_of(a, at, a.p, a.q, at.y) + (int64_t)at.x * a.width;
    wl_store_some((T *)a.y + to, WHOLE, a.width - at.c, best);
    if (a.index) store_index(a.index + to, WHOLE, a.width - at.c, index);
}

template <typename T, bool WHOLE> WL_DEVICE void max_pool_backward(const struct wl_gpu_pool &a)
{
    windows_backward<T, WHOLE>(a, [&](const struct place &at, int p, int q, int64_t from, const float *dy, float *dx) {
        const int mine = (at.y + a.pad[0] - p * a.stride[0]) * a.s + at.x + a.pad[1] - q * a.stride[1];
        int index[WL_PACK];
        load_index(a.index + from, WHOLE, a.width - at.c, index);
#pragma unroll
        for (int i = 0; i < WL_PACK; i++) dx[i] += index[i] == mine ? dy[i] : 0;
    });
}

/* ---- mean ---- */

WL_DEVICE float share_of(const struct wl_gpu_pool &a, struct span rows, struct span columns)
{
    return 1 / (float)(a.exclude_pad ? (rows.to - rows.from) * (columns.to - columns.from) : a.r * a.s);
}

template <typename T, bool WHOLE> WL_DEVICE void avg_pool(const struct wl_gpu_pool &a)
{
    const struct place at = place_of(a, a.p, a.q);
    if (at.outside) return;
    const struct span rows = pixels_of(at.y, a.stride[0], a.pad[0], a.r, a.h);
    const struct span columns = pixels_of(at.x, a.stride[1], a.pad[1], a.s, a.w);
    const float share = share_of(a, rows, columns);
    const int count = a.width - at.c;
    float sum[WL_PACK] = {};
    for (int y = rows.from; y < rows.to; y++) {
        const T *line = (const T *)a.x + line_of(a, at, a.h, a.w, y);
        for (int x = columns.from; x < columns.to; x++) {
            float v[WL_PACK];
            wl_load_some(line + (int64_t)x * a.width, WHOLE, count, v);
#pragma unroll
            for (int i = 0; i < WL_PACK; i++) sum[i] += v[i];
        }
    }
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) sum[i] *= share;
    wl_store_some((T *)a.y + line_of(a, at, a.p, a.q, at.y) + (int64_t)at.x * a.width, WHOLE, count, sum);
}

template <typename T, bool WHOLE> WL_DEVICE void avg_pool_backward(const struct wl_gpu_pool &a)
{
    windows_backward<T, WHOLE>(a, [&](const struct place &, int p, int q, int64_t, const float *dy, float *dx) {
        const float share =
            share_of(a, pixels_of(p, a.stride[0], a.pad[0], a.r, a.h), pixels_of(q, a.stride[1], a.pad[1], a.s, a.w));
#pragma unroll
        for (int i = 0; i < WL_PACK; i++) dx[i] += dy[i] * share;
    });
}

#define KERNEL(name, type, T)                               \
    WL_KERNEL_ALONE(name##_##type, 256, struct wl_gpu_pool) \
    {                                                       \
        if (a.width % WL_PACK)                              \
            name<T, false>(a);                              \
        else                                                \
            name<T, true>(a);                               \
    }
#define KERNELS(type, T)               \
    KERNEL(max_pool, type, T)          \
    KERNEL(max_pool_backward, type, T) \
    KERNEL(avg_pool, type, T)          \
    KERNEL(avg_pool_backward, type, T)

KERNELS(f32, float)
KERNELS(bf16, struct wl_bf16)
KERNELS(f16, struct wl_f16)
