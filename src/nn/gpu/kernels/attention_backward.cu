/* With p = 2^(score scale log2 e - lse) and d = what a mask leaves of dy v': dv = (masked p)' dy, ds = p (d - delta),
 * dq = ds k scale, dk = ds' q scale. */
#include "nn/gpu/kernels/attention_masks.h"

enum { QUERIES = WL_GPU_ATTENTION_QUERIES };
constexpr float LOG2_E = 1.4426950408889634f;

/* ---- delta ---- */

template <typename T> WL_DEVICE void delta(const struct wl_gpu_attention_backward &a)
{
    const int lane = (int)threadIdx.x % 32, width = a.heads * a.f;
    const int64_t rows = (int64_t)a.n * a.s, warps = (int64_t)gridDim.x * (blockDim.x / 32);
    for (int64_t row = (int64_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; row < rows; row += warps)
        for (int head = 0; head < a.heads; head++) {
            const T *y = (const T *)a.y + row * width + head * a.f, *dy = (const T *)a.dy + row * width + head * a.f;
            float sum = 0;
            for (int j = lane; j < a.f; j += 32) sum += wl_load(y[j]) * wl_load(dy[j]);
            sum = wl_warp_sum(sum);
            if (lane == 0) a.delta[(row / a.s * a.heads + head) * a.s + row % a.s] = sum;
        }
}

WL_KERNEL(attention_delta_f32, 256, struct wl_gpu_attention_backward) { delta<float>(a); }
WL_KERNEL(attention_delta_bf16, 256, struct wl_gpu_attention_backward) { delta<wl_bf16>(a); }
WL_KERNEL(attention_delta_f16, 256, struct wl_gpu_attention_backward) { delta<wl_f16>(a); }

/* ---- what both kernels share ---- */

/* The 16 rows of a factor that a warp multiplies with all tiles: in registers; in f32 they stay in shared memory, since
 * the compiler keeps both parts of each number where it can (mma.h), and spills. */
template <typename T, int F> struct held_rows {
    struct wl_frag_a<T> a[F / 16];
    __device__ __forceinline__ void take(const uint32_t *tile, int row)
    {
#pragma unroll
        for (int k = 0; k < F / 16; k++) a[k] = wl_tile_a<T, F>(tile, row, k * 16);
    }
    __device__ __forceinline__ struct wl_frag_a<T> at(int k) const {
        return a[k];
    }
};
template <int F> struct held_rows<float, F> {
    const volatile uint32_t *first; /* this lane's */
    __device__ __forceinline__ void take(const uint32_t *tile, int row)
    {
        const int lane = (int)threadIdx.x % 32;
        first = tile + (row + lane / 4) * wl_tile<float, F>::WORDS + 2 * (lane % 4);
    }
    __device__ __forceinline__ struct wl_frag_a<float> at(int k) const {
        struct wl_frag_a<float> a;
#pragma unroll
        for (int i = 0; i < 8; i++)
            a.v[i] = wl_bits_float(first[i / 2 % 2 * 8 * wl_tile<float, F>::WORDS + k * 16 + i / 4 * 8 + i % 2]);
        return a;
    }
};

/* Sums [16,F] of a warp times `scale`, to rows first + g and first + g + 8 of `to`, where these are less than `rows`.
 */
template <typename T, int F>
WL_DEVICE void store_rows(const float sum[F / 8][4], float scale, T *to, int64_t stride, int first, int rows, int f)
{
    const int g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        if (first + g + 8 * r >= rows) continue;
        T *row = to + (first + g + 8 * r) * stride;
#pragma unroll
        for (int c = 0; c < F / 8; c++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                if (c * 8 + 2 * t + i < f) row[c * 8 + 2 * t + i] = wl_narrow<T>(sum[c][2 * r + i] * scale);
    }
}

/* ---- dq: a warp has 16 queries and goes over the keys, 16 at a time ---- */

/* Of a warp's queries g and g + 8. */
struct query_rows {
    float lse[2], delta[2];
    const struct wl_mask_row *mask; /* of the block */
};

/* ds of eight keys, from `key` of the tile on. */
template <typename T, int F>
WL_DEVICE void key_gradients(const struct wl_gpu_attention_backward &a, const struct query_rows &rows,
                             const struct held_rows<T, F> &q, const struct held_rows<T, F> &dy, const uint32_t *keys,
                             const uint32_t *values, int key, int limit, float ds[4])
{
    const int t = (int)threadIdx.x % 4;
    float d[4] = {};
    ds[0] = ds[1] = ds[2] = ds[3] = 0;
#pragma unroll
    for (int k = 0; k < F / 16; k++) wl_mma(ds, q.at(k), wl_tile_rows<T, F>(keys, key, k * 16));
#pragma unroll
    for (int k = 0; k < F / 16; k++) wl_mma(d, dy.at(k), wl_tile_rows<T, F>(values, key, k * 16));
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float p = key + 2 * t + i % 2 < limit ? exp2f(ds[i] * (a.scale * LOG2_E) - rows.lse[i / 2]) : 0;
        const uint32_t mask = a.drop.drop
                                  ? rows.mask[threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 * 8].pair[key / 32]
                                  : 0xffffffffu;
        const float masked = mask >> (key % 32 + 2 * t + i % 2) & 1 ? d[i] * (a.drop.drop ? a.drop.scale : 1) : 0;
        ds[i] = p * (masked - rows.delta[i / 2]);
    }
}

template <typename T, int F>
WL_DEVICE void add_keys(const struct wl_gpu_attention_backward &args, const struct query_rows &rows,
                        const struct held_rows<T, F> &q, const struct held_rows<T, F> &dy, const uint32_t *keys,
                        const uint32_t *values, int limit, float dq[F / 8][4])
{
#pragma unroll 1
    for (int k = 0; k * 16 < limit; k++) {
        float ds[2][4];
#pragma unroll
        for (int j = 0; j < 2; j++) key_gradients<T, F>(args, rows, q, dy, keys, values, k * 16 + j * 8, limit, ds[j]);
        const struct wl_frag_a<T> a = wl_frag_of<T>(ds[0], ds[1]);
#pragma unroll
        for (int c = 0; c < F / 8; c++) wl_mma(dq[c], a, wl_tile_columns<T, F>(keys, k * 16, c * 8));
    }
}

WL_DEVICE struct query_rows query_rows_of(const struct wl_gpu_attention_backward &a, const struct wl_head_part &head,
                                          int first)
{
    struct query_rows rows;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int row = first + (int)threadIdx.x % 32 / 4 + 8 * r;
        const int64_t at = (head.sample * a.heads + head.head) * a.s + row;
        rows.lse[r] = row < a.s ? a.lse[at] : 0;
        rows.delta[r] = row < a.s ? a.delta[at] : 0;
    }
    return rows;
}

template <typename T, int F> WL_DEVICE void attention_dq(const struct wl_gpu_attention_backward &a)
{
    enum { KEYS = sizeof(T) == 4 ? 32 : 128, THREADS = 128, WORDS = wl_tile<T, F>::WORDS };
    WL_DYNAMIC_SHARED(uint32_t,
                      keys); /* [KEYS], then as many values, masks [QUERIES], in f32 queries and dy [QUERIES] */
    uint32_t *values = keys + KEYS * WORDS, *end = values + KEYS * WORDS;
    struct wl_mask_row *masks = (struct wl_mask_row *)end;
    uint32_t *q_tile = sizeof(T) == 4 ? end + QUERIES * 4 : keys;
    uint32_t *dy_tile = sizeof(T) == 4 ? q_tile + QUERIES * WORDS : values;
    const struct wl_head_part head = wl_head_part_of(a.lengths, a.s, a.heads, a.f);
    const int first = (int)blockIdx.x * QUERIES, warp_row = (int)threadIdx.x / 32 * 16;
    const int stride = 3 * head.width;
    const T *x = (const T *)a.x + wl_head_x(head, a.s), *dy = (const T *)a.dy + head.first;
    struct held_rows<T, F> q, dya;
    float dq[F / 8][4] = {};
    wl_tile_load<T, F>(q_tile, x + (int64_t)first * stride, stride, QUERIES, a.s - first, a.f, THREADS);
    wl_tile_load<T, F>(dy_tile, dy + (int64_t)first * head.width, head.width, QUERIES, a.s - first, a.f, THREADS);
    __syncthreads();
    q.take(q_tile, warp_row);
    dya.take(dy_tile, warp_row);
    struct query_rows rows = query_rows_of(a, head, first + warp_row);
    rows.mask = masks;
#pragma unroll 1
    for (int at = 0; at < head.length; at += KEYS) {
        const int limit = head.length - at < KEYS ? head.length - at : KEYS;
        __syncthreads();
        wl_tile_load<T, F>(keys, x + (int64_t)at * stride + head.width, stride, KEYS, limit, a.f, THREADS);
        wl_tile_load<T, F>(values, x + (int64_t)at * stride + 2 * head.width, stride, KEYS, limit, a.f, THREADS);
        if (a.drop.drop)
            wl_mask_table(a.drop, head.sample, (int64_t)head.head * a.s, a.s, first, at, warp_row, warp_row + 16,
                          masks);
        __syncthreads();
        if (first + warp_row >= a.s) continue;
        add_keys<T, F>(a, rows, q, dya, keys, values, limit, dq);
    }
    store_rows<T, F>(dq, a.scale, (T *)a.dx + wl_head_x(head, a.s), stride, first + warp_row, a.s, a.f);
}

#define KERNEL(name, threads, body, T, F) \
    WL_KERNEL(name, threads, struct wl_gpu_attention_backward) { body<T, F>(a); }
KERNEL(attention_dq_32_f32, 128, attention_dq, float, 32)
KERNEL(attention_dq_32_bf16, 128, attention_dq, wl_bf16, 32)
KERNEL(attention_dq_32_f16, 128, attention_dq, wl_f16, 32)
KERNEL(attention_dq_64_f32, 128, attention_dq, float, 64)
KERNEL(attention_dq_64_bf16, 128, attention_dq, wl_bf16, 64)
KERNEL(attention_dq_64_f16, 128, attention_dq, wl_f16, 64)

/* ---- dk and dv: a warp has 16 keys and goes over the queries, 16 at a time; scores are [keys, queries] ---- */

/* A tile of queries in shared memory. */
struct query_tile {
    uint32_t *q, *dy;
    struct wl_mask_row *masks;
    float *lse, *delta;
};

template <typename T, int F> struct key_rows {
    struct held_rows<T, F> k, v;
    float dk[F / 8][4], dv[F / 8][4];
    float scale, kept_scale;
    int limit; /* of the 16 keys, those that count */
    bool drops;
};

/* Masked p and ds of eight queries, from `query` of the tile on. */
template <typename T, int F>
WL_DEVICE void query_gradients(const struct key_rows<T, F> &rows, const struct query_tile &tile, int query, float p[4],
                               float ds[4])
{
    const int g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4, warp = (int)threadIdx.x / 32;
    p[0] = p[1] = p[2] = p[3] = ds[0] = ds[1] = ds[2] = ds[3] = 0;
#pragma unroll
    for (int k = 0; k < F / 16; k++) {
        wl_mma(p, rows.k.at(k), wl_tile_rows<T, F>(tile.q, query, k * 16));
        wl_mma(ds, rows.v.at(k), wl_tile_rows<T, F>(tile.dy, query, k * 16));
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int row = query + 2 * t + i % 2, key = g + i / 2 * 8;
        const uint32_t mask = rows.drops ? tile.masks[row].pair[warp / 2] >> (warp % 2 * 16) : 0xffffu;
        const float kept = mask >> key & 1 ? rows.kept_scale : 0;
        const float all = key < rows.limit ? exp2f(p[i] * rows.scale - tile.lse[row]) : 0;
        p[i] = all * kept;
        ds[i] = all * (ds[i] * kept - tile.delta[row]);
    }
}

template <typename T, int F>
WL_DEVICE void add_queries(struct key_rows<T, F> *rows, const struct query_tile &tile, int limit)
{
#pragma unroll 1
    for (int k = 0; k < limit; k += 16) {
        float p[2][4], ds[2][4];
#pragma unroll
        for (int j = 0; j < 2; j++) query_gradients(*rows, tile, k + j * 8, p[j], ds[j]);
        const struct wl_frag_a<T> pa = wl_frag_of<T>(p[0], p[1]), dsa = wl_frag_of<T>(ds[0], ds[1]);
#pragma unroll
        for (int c = 0; c < F / 8; c++) {
            wl_mma(rows->dv[c], pa, wl_tile_columns<T, F>(tile.dy, k, c * 8));
            wl_mma(rows->dk[c], dsa, wl_tile_columns<T, F>(tile.q, k, c * 8));
        }
    }
}

/* A block's keys, the queries of its tiles, its threads. */
template <typename T> struct dkv_sizes {
    enum { KEYS = WL_GPU_ATTENTION_DKV_KEYS, TILE = 64, THREADS = KEYS / 16 * 32 };
};
template <> struct dkv_sizes<float> {
    enum { KEYS = WL_GPU_ATTENTION_DKV_KEYS_F32, TILE = 32, THREADS = KEYS / 16 * 32 };
};

/* Queries from `at` on: those beyond the sample are 0, with a lse that makes their p finite; dy = 0 makes it count for
 * nothing. */
template <typename T, int F>
WL_DEVICE void load_queries(const struct wl_gpu_attention_backward &a, const struct wl_head_part &head, int at, int key,
                            const struct query_tile &tile)
{
    enum { THREADS = dkv_sizes<T>::THREADS, TILE = dkv_sizes<T>::TILE };
    const int64_t stride = 3 * (int64_t)head.width, row = (head.sample * a.heads + head.head) * a.s + at;
    const int valid = a.s - at < TILE ? a.s - at : TILE, warp = (int)threadIdx.x / 32;
    const T *q = (const T *)a.x + wl_head_x(head, a.s), *dy = (const T *)a.dy + head.first;
    wl_tile_load<T, F>(tile.q, q + at * stride, stride, TILE, valid, a.f, THREADS);
    wl_tile_load<T, F>(tile.dy, dy + (int64_t)at * head.width, head.width, TILE, valid, a.f, THREADS);
    if ((int)threadIdx.x < TILE) {
        tile.lse[threadIdx.x] = (int)threadIdx.x < valid ? a.lse[row + threadIdx.x] : 0;
        tile.delta[threadIdx.x] = (int)threadIdx.x < valid ? a.delta[row + threadIdx.x] : 0;
    }
    if (a.drop.drop)
        wl_mask_table(a.drop, head.sample, (int64_t)head.head * a.s, a.s, at, key, warp * 8, warp * 8 + 8, tile.masks);
}

/* Keys and values go through the tiles of queries, as many at a time, or to `held` in f32, where they stay. */
template <typename T, int F>
WL_DEVICE void load_keys(const struct wl_gpu_attention_backward &a, const struct wl_head_part &head, int key,
                         const struct query_tile &tile, uint32_t *held, struct key_rows<T, F> *rows)
{
    enum { THREADS = dkv_sizes<T>::THREADS, PART = 64 };
    const int64_t stride = 3 * (int64_t)head.width;
    const int warp = (int)threadIdx.x / 32;
    const T *from = (const T *)a.x + wl_head_x(head, a.s) + head.width;
    uint32_t *k = sizeof(T) == 4 ? held : tile.q, *v = sizeof(T) == 4 ? k + PART * wl_tile<T, F>::WORDS : tile.dy;
    for (int part = 0; part < dkv_sizes<T>::KEYS / PART; part++) {
        const int at = key + part * PART, valid = head.length - at;
        __syncthreads();
        wl_tile_load<T, F>(k, from + at * stride, stride, PART, valid, a.f, THREADS);
        wl_tile_load<T, F>(v, from + at * stride + head.width, stride, PART, valid, a.f, THREADS);
        __syncthreads();
        if (warp / 4 != part) continue;
        rows->k.take(k, warp % 4 * 16);
        rows->v.take(v, warp % 4 * 16);
    }
    rows->limit = head.length - key - warp * 16;
    rows->scale = a.scale * LOG2_E;
    rows->kept_scale = a.drop.drop ? a.drop.scale : 1;
    rows->drops = a.drop.drop;
}

template <typename T, int F> WL_DEVICE void attention_dkv(const struct wl_gpu_attention_backward &a)
{
    enum { KEYS = dkv_sizes<T>::KEYS, TILE = dkv_sizes<T>::TILE, WORDS = wl_tile<T, F>::WORDS };
    WL_DYNAMIC_SHARED(uint32_t, shared); /* queries and dy [TILE], masks, lse, delta [TILE], in f32 keys and values */
    struct query_tile tile;
    tile.q = shared;
    tile.dy = tile.q + TILE * WORDS;
    tile.masks = (struct wl_mask_row *)(tile.dy + TILE * WORDS);
    tile.lse = (float *)(tile.masks + TILE);
    tile.delta = tile.lse + TILE;
    const struct wl_head_part head = wl_head_part_of(a.lengths, a.s, a.heads, a.f);
    const int key = (int)blockIdx.x * KEYS, warp_key = key + (int)threadIdx.x / 32 * 16;
    struct key_rows<T, F> rows = {
    };
    if (key < head.length) {
        load_keys(a, head, key, tile, (uint32_t *)(tile.delta + TILE), &rows);
#pragma unroll 1
        for (int at = 0; at < a.s; at += TILE) {
            __syncthreads();
            load_queries<T, F>(a, head, at, key, tile);
            __syncthreads();
            if (rows.limit > 0) add_queries(&rows, tile, a.s - at < TILE ? a.s - at : TILE);
        }
    }
    T *dk = (T *)a.dx + wl_head_x(head, a.s) + head.width;
    store_rows<T, F>(rows.dk, a.scale, dk, 3 * (int64_t)head.width, warp_key, a.s, a.f);
    store_rows<T, F>(rows.dv, 1, dk + head.width, 3 * (int64_t)head.width, warp_key, a.s, a.f);
}

KERNEL(attention_dkv_32_f32, 128, attention_dkv, float, 32)
KERNEL(attention_dkv_32_bf16, 256, attention_dkv, wl_bf16, 32)
KERNEL(attention_dkv_32_f16, 256, attention_dkv, wl_f16, 32)
KERNEL(attention_dkv_64_f32, 128, attention_dkv, float, 64)
KERNEL(attention_dkv_64_bf16, 256, attention_dkv, wl_bf16, 64)
KERNEL(attention_dkv_64_f16, 256, attention_dkv, wl_f16, 64)
