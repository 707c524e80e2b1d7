#include "nn/gpu/kernels/tokens.h"

#include "nn/gpu/kernels/vector.h"

/* A lane's columns of WL_GPU_TOKEN_COLUMNS from `first` on: eight neighbours where f is a multiple of 8, else every
 * thirty-second. */
struct columns {
    int first, f;
    bool packed;
};

WL_DEVICE struct columns columns_of(int from, int f)
{
    const int lane = (int)threadIdx.x % 32;
    struct columns c;
    c.packed = f % WL_PACK == 0;
    c.first = from + (c.packed ? lane * WL_PACK : lane);
    c.f = f;
    return c;
}

/* Columns beyond the row are read as 0 and not written. */
template <typename T> WL_DEVICE void load_columns(const struct columns &c, const T *row, float v[WL_PACK])
{
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) v[i] = 0;
    if (c.packed && c.first < c.f) wl_load8(row + c.first, v);
    if (c.packed) return;
#pragma unroll
    for (int i = 0; i < WL_PACK; i++)
        if (c.first + i * 32 < c.f) v[i] = wl_load(row[c.first + i * 32]);
}

template <typename T> WL_DEVICE void store_columns(const struct columns &c, const float v[WL_PACK], T *row)
{
    if (c.packed && c.first < c.f) wl_store8(row + c.first, v);
    if (c.packed) return;
#pragma unroll
    for (int i = 0; i < WL_PACK; i++)
        if (c.first + i * 32 < c.f) row[c.first + i * 32] = wl_narrow<T>(v[i]);
}

WL_DEVICE void add_columns(const struct columns &c, const float *row, float v[WL_PACK])
{
    float other[WL_PACK];
    load_columns(c, row, other);
#pragma unroll
    for (int i = 0; i < WL_PACK; i++) v[i] += other[i];
}

/* The number of this warp in the grid, and how many there are. */
WL_DEVICE int64_t warp_number(void) { return (int64_t)blockIdx.x * WL_GPU_TOKEN_WARPS + threadIdx.x / 32; }
WL_DEVICE int64_t warp_count(void) { return (int64_t)gridDim.x * WL_GPU_TOKEN_WARPS; }

template <typename T> WL_DEVICE void embed_tokens(const struct wl_gpu_embed_tokens &a)
{
    for (int64_t i = warp_number(); i < a.n; i += warp_count()) {
        const float *word = a.word + (int64_t)a.tokens[i] * a.f, *position = a.position + i % a.s * a.f;
        for (int from = 0; from < a.f; from += WL_GPU_TOKEN_COLUMNS) {
            const struct columns c = columns_of(from, a.f);
            float v[WL_PACK];
            load_columns(c, word, v);
            add_columns(c, position, v);
            add_columns(c, a.segment, v);
            store_columns(c, v, (T *)a.y + i * a.f);
        }
    }
}

WL_KERNEL(embed_tokens_f32, WL_GPU_TOKEN_THREADS, struct wl_gpu_embed_tokens) { embed_tokens<float>(a); }
WL_KERNEL(embed_tokens_bf16, WL_GPU_TOKEN_THREADS, struct wl_gpu_embed_tokens) { embed_tokens<wl_bf16>(a); }
WL_KERNEL(embed_tokens_f16, WL_GPU_TOKEN_THREADS, struct wl_gpu_embed_tokens) { embed_tokens<wl_f16>(a); }

/* ---- gradients of tables ---- */

WL_DEVICE int warp_sum_of(int v)
{
#pragma unroll
    for (int i = 16; i; i /= 2) v += __shfl_xor_sync(0xffffffffu, v, i);
    return v;
}

WL_KERNEL(token_order, WL_GPU_TOKEN_THREADS, struct wl_gpu_token_order)
{
    const int lane = (int)threadIdx.x % 32;
    for (int64_t i = warp_number(); i < a.n; i += warp_count()) {
        const int32_t token = a.tokens[i];
        int before = 0;
#pragma unroll 4
        for (int64_t k = lane; k < a.n; k += 32) before += a.tokens[k] < token + (k < i);
        before = warp_sum_of(before);
        if (lane) continue;
        a.order[before] = (int32_t)i;
        a.sorted[before] = token;
    }
}

WL_KERNEL(zero_floats, WL_GPU_TOKEN_THREADS, struct wl_gpu_zero)
{
    for (int64_t i = wl_thread(); i < a.n; i += wl_threads()) a.to[i] = 0;
}

WL_DEVICE void give(const struct wl_gpu_token_sums &a, const struct columns &c, int32_t token, float sum[WL_PACK])
{
    float *to = a.dword + (int64_t)token * a.f;
    if (a.add) add_columns(c, to, sum);
    store_columns(c, sum, to);
}

/* Sorted tokens that a warp takes: `first` to `end` - 1, of which lane l has number first + l. */
struct chunk {
    int64_t first, end;
    int32_t token, order;
    uint32_t ends;             /* bit l: the rows of lane l's token end there, or the chunk does */
    bool from_before, goes_on; /* the first token's rows begin before; the last one's go on after */
};

WL_DEVICE struct chunk chunk_of(const struct wl_gpu_token_sums &a, int64_t number)
{
    struct chunk c;
    c.first = number * WL_GPU_TOKEN_CHUNK;
    c.end = c.first + WL_GPU_TOKEN_CHUNK < a.n ? c.first + WL_GPU_TOKEN_CHUNK : a.n;
    const int64_t at = c.first + threadIdx.x % 32, mine = at < c.end ? at : c.end - 1;
    c.token = a.sorted[mine];
    c.order = a.order[mine];
    c.ends = __ballot_sync(0xffffffffu, at < c.end && (at + 1 == c.end || a.sorted[at + 1] != c.token));
    c.from_before = c.first > 0 && a.sorted[c.first - 1] == a.sorted[c.first];
    c.goes_on = c.end < a.n && a.sorted[c.end] == a.sorted[c.end - 1];
    return c;
}

/* The sum of the rows that end with `entry` of the chunk: all of a token, or a part. */
WL_DEVICE void end_run(const struct wl_gpu_token_sums &a, const struct chunk &k, const struct columns &c, int entry,
                       float sum[WL_PACK])
{
    const int32_t token = __shfl_sync(0xffffffffu, k.token, entry);
    float *part = a.parts + k.first / WL_GPU_TOKEN_CHUNK * 2 * a.f;
    if (k.from_before && !(k.ends & ((1u << entry) - 1)))
        store_columns(c, sum, part);
    else if (k.goes_on && k.first + entry + 1 == k.end)
        store_columns(c, sum, part + a.f);
    else
        give(a, c, token, sum);
}

template <typename T>
WL_DEVICE void sum_chunk(const struct wl_gpu_token_sums &a, const struct chunk &k, const struct columns &c)
{
    enum { AHEAD = 2 }; /* rows that are loaded before they are added */
    float sum[WL_PACK] = {}, rows[AHEAD][WL_PACK];
    const int count = (int)(k.end - k.first);
#pragma unroll 1
    for (int from = 0; from < count; from += AHEAD) {
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const int32_t row = __shfl_sync(0xffffffffu, k.order, from + i);
            load_columns(c, (const T *)a.dy + (int64_t)row * a.f, rows[i]);
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (from + i >= count) break;
#pragma unroll
            for (int j = 0; j < WL_PACK; j++) sum[j] += rows[i][j];
            if (!(k.ends >> (from + i) & 1)) continue;
            end_run(a, k, c, from + i, sum);
#pragma unroll
            for (int j = 0; j < WL_PACK; j++) sum[j] = 0;
        }
    }
}

template <typename T> WL_DEVICE void token_sums(const struct wl_gpu_token_sums &a)
{
    const int64_t chunks = (a.n + WL_GPU_TOKEN_CHUNK - 1) / WL_GPU_TOKEN_CHUNK;
    const int tiles = (a.f + WL_GPU_TOKEN_COLUMNS - 1) / WL_GPU_TOKEN_COLUMNS;
    for (int64_t i = warp_number(); i < chunks * tiles; i += warp_count())
        sum_chunk<T>(a, chunk_of(a, i / tiles), columns_of((int)(i % tiles) * WL_GPU_TOKEN_COLUMNS, a.f));
}

WL_KERNEL(token_sums_f32, WL_GPU_TOKEN_THREADS, struct wl_gpu_token_sums) { token_sums<float>(a); }
WL_KERNEL(token_sums_bf16, WL_GPU_TOKEN_THREADS, struct wl_gpu_token_sums) { token_sums<wl_bf16>(a); }
WL_KERNEL(token_sums_f16, WL_GPU_TOKEN_THREADS, struct wl_gpu_token_sums) { token_sums<wl_f16>(a); }

/* The token that begins in chunk `number` and goes on in others: its parts, in order. */
WL_DEVICE void sum_run(const struct wl_gpu_token_sums &a, int64_t number, const struct columns &c)
{
    const struct chunk k = chunk_of(a, number);
    const int32_t token = a.sorted[k.end - 1];
    float sum[WL_PACK];
    if (!k.goes_on || (k.from_before && a.sorted[k.first] == token)) return;
    load_columns(c, a.parts + (number * 2 + 1) * a.f, sum);
    for (int64_t at = k.end; at < a.n && a.sorted[at] == token; at += WL_GPU_TOKEN_CHUNK)
        add_columns(c, a.parts + at / WL_GPU_TOKEN_CHUNK * 2 * a.f, sum);
    give(a, c, token, sum);
}

WL_KERNEL(token_runs, WL_GPU_TOKEN_THREADS, struct wl_gpu_token_sums)
{
    const int64_t chunks = (a.n + WL_GPU_TOKEN_CHUNK - 1) / WL_GPU_TOKEN_CHUNK;
    const int tiles = (a.f + WL_GPU_TOKEN_COLUMNS - 1) / WL_GPU_TOKEN_COLUMNS;
    for (int64_t i = warp_number(); i < chunks * tiles; i += warp_count())
        sum_run(a, i / tiles, columns_of((int)(i % tiles) * WL_GPU_TOKEN_COLUMNS, a.f));
}

/* ---- gather ---- */

template <typename T> WL_DEVICE void gather(const struct wl_gpu_gather &a)
{
    for (int64_t i = warp_number(); i < a.n; i += warp_count()) {
        const T *from = (const T *)a.x + (i / a.p * a.s + a.positions[i]) * a.f;
        for (int column = 0; column < a.f; column += WL_GPU_TOKEN_COLUMNS) {
            const struct columns c = columns_of(column, a.f);
            float v[WL_PACK];
            load_columns(c, from, v);
            store_columns(c, v, (T *)a.y + i * a.f);
        }
    }
}

WL_KERNEL(gather_f32, WL_GPU_TOKEN_THREADS, struct wl_gpu_gather) { gather<float>(a); }
WL_KERNEL(gather_bf16, WL_GPU_TOKEN_THREADS, struct wl_gpu_gather) { gather<wl_bf16>(a); }
WL_KERNEL(gather_f16, WL_GPU_TOKEN_THREADS, struct wl_gpu_gather) { gather<wl_f16>(a); }

/* Adds the rows of dy that come from row i. */
template <typename T>
WL_DEVICE void add_gathered(const struct wl_gpu_gather_backward &a, int64_t i, const struct columns &c,
                            float sum[WL_PACK])
{
    const int64_t first = i / a.s * a.p;
    const int32_t position = (int32_t)(i % a.s);
    for (int k = 0; k < a.p; k += 32) {
        const int mine = k + (int)threadIdx.x % 32;
        uint32_t hits = __ballot_sync(0xffffffffu, mine < a.p && a.positions[first + mine] == position);
        for (int bit = 0; hits; bit++, hits >>= 1) {
            float v[WL_PACK];
            if (!(hits & 1)) continue;
            load_columns(c, (const T *)a.dy + (first + k + bit) * a.f, v);
#pragma unroll
            for (int j = 0; j < WL_PACK; j++) sum[j] += v[j];
        }
    }
}

template <typename T> WL_DEVICE void gather_backward(const struct wl_gpu_gather_backward &a)
{
    for (int64_t i = warp_number(); i < a.n; i += warp_count())
        for (int column = 0; column < a.f; column += WL_GPU_TOKEN_COLUMNS) {
            const struct columns c = columns_of(column, a.f);
            float sum[WL_PACK] = {};
            add_gathered<T>(a, i, c, sum);
            store_columns(c, sum, (T *)a.dx + i * a.f);
        }
}

WL_KERNEL(gather_backward_f32, WL_GPU_TOKEN_THREADS, struct wl_gpu_gather_backward) { gather_backward<float>(a); }
WL_KERNEL(gather_backward_bf16, WL_GPU_TOKEN_THREADS, struct wl_gpu_gather_backward) { gather_backward<wl_bf16>(a); }
WL_KERNEL(gather_backward_f16, WL_GPU_TOKEN_THREADS, struct wl_gpu_gather_backward) { gather_backward<wl_f16>(a); }
