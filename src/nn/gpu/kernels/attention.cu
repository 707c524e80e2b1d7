#include "nn/gpu/kernels/attention_masks.h"

enum { THREADS = 128, QUERIES = WL_GPU_ATTENTION_QUERIES };

/* A warp's 16 queries: sums over keys of 2^(score - largest) v, and of 2^(score - largest). Row r is g + 8 r. */
template <int F> struct state {
    float o[F / 8][4], largest[2], total[2];
};

/* p = scores times scale log2 e, -INFINITY from `limit` on. */
template <typename T, int F, int KEYS>
WL_DEVICE void scores(const struct wl_frag_a<T> q[F / 16], const uint32_t *keys, int limit, float scale,
                      float p[KEYS / 8][4])
{
    const int t = (int)threadIdx.x % 4;
#pragma unroll
    for (int j = 0; j < KEYS / 8; j++) {
        p[j][0] = p[j][1] = p[j][2] = p[j][3] = 0;
        if (j * 8 < limit) {
#pragma unroll
            for (int k = 0; k < F / 16; k++) wl_mma(p[j], q[k], wl_tile_rows<T, F>(keys, j * 8, k * 16));
        }
#pragma unroll
        for (int i = 0; i < 4; i++) p[j][i] = j * 8 + 2 * t + i % 2 < limit ? p[j][i] * scale : -INFINITY;
    }
}

/* p = 2^(p - largest), with the sums so far brought down to the new largest. */
template <int F, int KEYS> WL_DEVICE void soften(struct state<F> *s, float p[KEYS / 8][4])
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float most = s->largest[r];
#pragma unroll
        for (int j = 0; j < KEYS / 8; j++) most = fmaxf(most, fmaxf(p[j][2 * r], p[j][2 * r + 1]));
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
        const float shrink = exp2f(s->largest[r] - most);
        s->largest[r] = most;
        s->total[r] *= shrink;
#pragma unroll
        for (int c = 0; c < F / 8; c++) s->o[c][2 * r] *= shrink, s->o[c][2 * r + 1] *= shrink;
#pragma unroll
        for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
            for (int i = 2 * r; i < 2 * r + 2; i++) {
                p[j][i] = exp2f(p[j][i] - most);
                s->total[r] += p[j][i];
            }
    }
}

/* 0 where `rows`, those of queries g and g + 8, have no bit. */
template <int KEYS> WL_DEVICE void drop(const struct wl_mask_row rows[2], float p[KEYS / 8][4])
{
    const int t = (int)threadIdx.x % 4;
#pragma unroll
    for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (!(rows[i / 2].pair[j / 4] >> (j % 4 * 8 + 2 * t + i % 2) & 1)) p[j][i] = 0;
}

template <typename T, int F, int KEYS>
WL_DEVICE void add_values(const float p[KEYS / 8][4], const uint32_t *values, int limit, struct state<F> *s)
{
#pragma unroll
    for (int k = 0; k < KEYS / 16; k++) {
        if (k * 16 >= limit) break;
        const struct wl_frag_a<T> a = wl_frag_of<T>(p[2 * k], p[2 * k + 1]);
#pragma unroll
        for (int c = 0; c < F / 8; c++) wl_mma(s->o[c], a, wl_tile_columns<T, F>(values, k * 16, c * 8));
    }
}

template <typename T, int F>
WL_DEVICE void finish(const struct wl_gpu_attention &a, const struct wl_head_part &head, int query, struct state<F> *s)
{
    const int t = (int)threadIdx.x % 4;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float total = s->total[r];
        total += __shfl_xor_sync(0xffffffffu, total, 1);
        total += __shfl_xor_sync(0xffffffffu, total, 2);
        const float by = total > 0 ? (a.drop.drop ? a.drop.scale : 1) / total : 0;
        const int row = query + (int)threadIdx.x % 32 / 4 + 8 * r;
        if (row >= a.s) continue;
        T *to = (T *)a.y + head.first + (int64_t)row * head.width;
#pragma unroll
        for (int c = 0; c < F / 8; c++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                if (c * 8 + 2 * t + i < a.f) to[c * 8 + 2 * t + i] = wl_narrow<T>(s->o[c][2 * r + i] * by);
        if (a.lse && t == 0)
            a.lse[(head.sample * a.heads + head.head) * a.s + row] = total > 0 ? s->largest[r] + log2f(total) : 0;
    }
}

template <typename T, int F> WL_DEVICE void attention(const struct wl_gpu_attention &a)
{
    enum { KEYS = sizeof(T) == 4 ? 64 : 128 };
    WL_DYNAMIC_SHARED(uint32_t, keys); /* [KEYS], then as many values, then masks [QUERIES] */
    uint32_t *values = keys + KEYS * wl_tile<T, F>::WORDS;
    struct wl_mask_row *masks = (struct wl_mask_row *)(values + KEYS * wl_tile<T, F>::WORDS);
    const struct wl_head_part head = wl_head_part_of(a.lengths, a.s, a.heads, a.f);
    const int first = (int)blockIdx.x * QUERIES, warp_row = (int)threadIdx.x / 32 * 16, g = (int)threadIdx.x % 32 / 4;
    const int64_t stride = 3 * (int64_t)head.width;
    const T *x = (const T *)a.x + wl_head_x(head, a.s);
    struct wl_frag_a<T> q[F / 16];
    struct state<F> s = {
    };
    s.largest[0] = s.largest[1] = -INFINITY;
    wl_tile_load<T, F>(keys, x + first * stride, stride, QUERIES, a.s - first, a.f, THREADS);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < F / 16; k++) q[k] = wl_tile_a<T, F>(keys, warp_row, k * 16);
#pragma unroll 1
    for (int at = 0; at < head.length; at += KEYS) {
        const int limit = head.length - at < KEYS ? head.length - at : KEYS;
        float p[KEYS / 8][4];
        __syncthreads();
        wl_tile_load<T, F>(keys, x + at * stride + head.width, stride, KEYS, limit, a.f, THREADS);
        wl_tile_load<T, F>(values, x + at * stride + 2 * head.width, stride, KEYS, limit, a.f, THREADS);
        if (a.drop.drop)
            wl_mask_table(a.drop, head.sample, (int64_t)head.head * a.s, a.s, first, at, warp_row, warp_row + 16,
                          masks);
        __syncthreads();
        if (first + warp_row >= a.s) continue;
        scores<T, F, KEYS>(q, keys, limit, a.scale * 1.4426950408889634f, p);
        soften<F, KEYS>(&s, p);
        if (a.drop.drop) {
            const struct wl_mask_row rows[2] = { masks[warp_row + g], masks[warp_row + g + 8] };
            drop<KEYS>(rows, p);
        }
        add_values<T, F, KEYS>(p, values, limit, &s);
    }
    if (first + warp_row < a.s) finish<T, F>(a, head, first + warp_row, &s);
}

#define KERNEL(name, T, F) \
    WL_KERNEL(name, THREADS, struct wl_gpu_attention) { attention<T, F>(a); }
KERNEL(attention_32_f32, float, 32)
KERNEL(attention_32_bf16, wl_bf16, 32)
KERNEL(attention_32_f16, wl_f16, 32)
KERNEL(attention_64_f32, float, 64)
KERNEL(attention_64_bf16, wl_bf16, 64)
KERNEL(attention_64_f16, wl_f16, 64)
