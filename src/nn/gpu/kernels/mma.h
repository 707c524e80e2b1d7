/* Products of a warp on tensor cores: d [16,8] += a [16,16] b [16,8], in the fragments of PTX's mma.m16n8k16. With g =
 * lane/4 and t = lane%4 a lane has
 *     a: rows g and g + 8, columns 2t, 2t + 1, 2t + 8, 2t + 9     b: those rows of column g
 *     d: rows g (0, 1) and g + 8 (2, 3), columns 2t and 2t + 1.
 * 16-bit numbers are in pairs. Floats are multiplied as three products of TF32 (tf32.h). Sums are f32. Before sm_80
 * there are products of f16 by 8 columns (sm_75) and none of the others: those of floats, and all on sm_70, are made of
 * shuffles; bf16 is refused there before a kernel runs. Fragments and shuffles are what the tests check; the
 * instructions themselves only a GPU can. */
#ifndef WL_NN_GPU_KERNELS_MMA_H
#define WL_NN_GPU_KERNELS_MMA_H

#include "nn/gpu/kernels/tf32.h"
#include "nn/gpu/kernels/vector.h"

/* Register i of a: row g + 8 (i%2), columns 2t + 8 (i/2) and the next. Of b: rows 2t + 8 i and the next. */
template <typename T> struct wl_frag_a {
    uint32_t pair[4];
};
template <typename T> struct wl_frag_b {
    uint32_t pair[2];
};
template <> struct wl_frag_a<float> {
    float v[8]; /* 2 i + h: number h of pair i */
};
template <> struct wl_frag_b<float> {
    float v[4];
};

/* The numbers of pair i. */
template <typename T> WL_DEVICE void wl_frag_set(struct wl_frag_a<T> *a, int i, float low, float high)
{
    a->pair[i] = wl_pair<T>(low, high);
}
WL_DEVICE void wl_frag_set(struct wl_frag_a<float> *a, int i, float low, float high)
{
    a->v[2 * i] = low;
    a->v[2 * i + 1] = high;
}

/* Sums [16,16] as a factor: d0 has the columns 0 to 7. */
template <typename T> WL_DEVICE struct wl_frag_a<T> wl_frag_of(const float d0[4], const float d1[4]) {
    struct wl_frag_a<T> a;
    wl_frag_set(&a, 0, d0[0], d0[1]);
    wl_frag_set(&a, 1, d0[2], d0[3]);
    wl_frag_set(&a, 2, d1[0], d1[1]);
    wl_frag_set(&a, 3, d1[2], d1[3]);
    return a;
}

/* ---- the product ---- */

#ifdef __CUDACC__
/* Lane by lane: column k of a comes from this row's lanes, of b's columns 2t and 2t + 1 from theirs. */
WL_DEVICE void
wl_mma_by_shuffles(float d[4], const float a[8], const float b[4])
{
    const int lane = (int)threadIdx.x % 32, row = lane / 4 * 4, column = lane % 4 * 8;
#pragma unroll 1 /* a product is code of 32 instructions, and there are hundreds */
    for (int j = 0; j < 4; j++)
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float a0 = __shfl_sync(0xffffffffu, a[k / 2 * 4 + k % 2], row + j);
            const float a1 = __shfl_sync(0xffffffffu, a[k / 2 * 4 + 2 + k % 2], row + j);
            const float b0 = __shfl_sync(0xffffffffu, b[k], column + j);
            const float b1 = __shfl_sync(0xffffffffu, b[k], column + 4 + j);
            d[0] += a0 * b0;
            d[1] += a0 * b1;
            d[2] += a1 * b0;
            d[3] += a1 * b1;
        }
}
#else
/* By the simulator, in f32. */
#define wl_mma_by_shuffles(d, a, b) wl_sim_mma(d, a, b)
#endif

template <typename T> WL_DEVICE void wl_frag_widen(const uint32_t *pair, int n, float *to)
{
#pragma unroll
    for (int i = 0; i < n; i++) {
        T low, high;
        low.bits = (uint16_t)pair[i];
        high.bits = (uint16_t)(pair[i] >> 16);
        to[2 * i] = wl_load(low);
        to[2 * i + 1] = wl_load(high);
    }
}

template <typename T>
WL_DEVICE void wl_mma_widened(float d[4], const struct wl_frag_a<T> &a, const struct wl_frag_b<T> &b)
{
    float av[8], bv[4];
    wl_frag_widen<T>(a.pair, 4, av);
    wl_frag_widen<T>(b.pair, 2, bv);
    wl_mma_by_shuffles(d, av, bv);
}

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
#define WL_MMA_16(types, d, a, b)                                                                           \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." types ".f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9}," \
                 "{%0,%1,%2,%3};"                                                                           \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                           \
                 : "r"(a.pair[0]), "r"(a.pair[1]), "r"(a.pair[2]), "r"(a.pair[3]), "r"(b.pair[0]), "r"(b.pair[1]))

WL_DEVICE void wl_mma(float d[4], const struct wl_frag_a<wl_bf16> &a, const struct wl_frag_b<wl_bf16> &b)
{
    WL_MMA_16("bf16.bf16", d, a, b);
}
WL_DEVICE void wl_mma(float d[4], const struct wl_frag_a<wl_f16> &a, const struct wl_frag_b<wl_f16> &b)
{
    WL_MMA_16("f16.f16", d, a, b);
}

/* Columns 2t and 2t + 1 of a half of a are its terms t and t + 4, and so are b's rows. */
WL_DEVICE void wl_mma(float d[4], const struct wl_frag_a<float> &a, const struct wl_frag_b<float> &b)
{
#pragma unroll
    for (int half = 0; half < 2; half++) { /* columns 0 to 7 of a, then 8 to 15 */
        const float *v = a.v + 4 * half, *w = b.v + 2 * half;
        const struct wl_tf32_parts parts[4] = { wl_tf32_split(v[0]), wl_tf32_split(v[2]), wl_tf32_split(v[1]),
                                                wl_tf32_split(v[3]) };
        const struct wl_tf32_parts others[2] = { wl_tf32_split(w[0]), wl_tf32_split(w[1]) };
        wl_mma_3tf32(d, parts, others);
    }
}
#else
WL_DEVICE void wl_mma(float d[4], const struct wl_frag_a<wl_bf16> &a, const struct wl_frag_b<wl_bf16> &b)
{
#ifdef __CUDACC__
    (void)d, (void)a, (void)b;
    __trap(); /* the rule has refused it */
#else
    wl_mma_widened(d, a, b);
#endif
}
WL_DEVICE void wl_mma(float d[4], const struct wl_frag_a<float> &a, const struct wl_frag_b<float> &b)
{
    wl_mma_by_shuffles(d, a.v, b.v);
}
WL_DEVICE void wl_mma(float d[4], const struct wl_frag_a<wl_f16> &a, const struct wl_frag_b<wl_f16> &b)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 750
#pragma unroll
    for (int i = 0; i < 2; i++)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a.pair[2 * i]), "r"(a.pair[2 * i + 1]), "r"(b.pair[i]));
#else
    wl_mma_widened(d, a, b);
#endif
}
#endif

/* ---- tiles in shared memory: rows of F numbers as words, padded by 16 bytes, so that fragments meet no bank twice
 * ---- */

template <typename T, int F> struct wl_tile {
    enum { NUMBERS = 4 / (int)sizeof(T), WORDS = F / NUMBERS + 4 }; /* of a word, of a row */
};

/* Rows [0, rows) of the tile, by `threads` threads: `valid` rows of f numbers, `stride` numbers apart; the rest is 0.
 */
template <typename T, int F>
WL_DEVICE void wl_tile_load(uint32_t *tile, const T *from, int64_t stride, int rows, int valid, int f, int threads)
{
    typedef struct wl_tile<T, F> tiles;
    for (int i = (int)threadIdx.x; i < rows * (F / WL_PACK); i += threads) {
        const int row = i / (F / WL_PACK), column = i % (F / WL_PACK) * WL_PACK;
        float v[WL_PACK] = {};
        uint32_t *to = tile + row * tiles::WORDS + column / tiles::NUMBERS;
        const T *at = from + row * stride + column;
        if (f % WL_PACK == 0 && row < valid && column < f) {
            wl_pack_store((T *)to, wl_pack_load(at));
            continue;
        }
        for (int k = 0; k < WL_PACK; k++)
            if (row < valid && column + k < f) v[k] = wl_load(at[k]);
        wl_store8((T *)to, v);
    }
}

/* The word with number (row, column) of a tile. */
template <typename T, int F> WL_DEVICE const uint32_t *wl_tile_at(const uint32_t *tile, int row, int column)
{
    return tile + row * wl_tile<T, F>::WORDS + column / wl_tile<T, F>::NUMBERS;
}

/* Pair i of a fragment from memory. */
template <typename FRAG> WL_DEVICE void wl_frag_load(FRAG *f, int i, const uint32_t *at) { f->pair[i] = *at; }
WL_DEVICE void wl_frag_load(struct wl_frag_a<float> *a, int i, const uint32_t *at)
{
    a->v[2 * i] = wl_bits_float(at[0]);
    a->v[2 * i + 1] = wl_bits_float(at[1]);
}
WL_DEVICE void wl_frag_load(struct wl_frag_b<float> *b, int i, const uint32_t *at)
{
    b->v[2 * i] = wl_bits_float(at[0]);
    b->v[2 * i + 1] = wl_bits_float(at[1]);
}

/* a: rows `row` to + 15, columns `column` to + 15 of a tile. */
template <typename T, int F> WL_DEVICE struct wl_frag_a<T> wl_tile_a(const uint32_t *tile, int row, int column) {
    const int lane = (int)threadIdx.x % 32, g = lane / 4, t = lane % 4;
    struct wl_frag_a<T> a;
#pragma unroll
    for (int i = 0; i < 4; i++)
        wl_frag_load(&a, i, wl_tile_at<T, F>(tile, row + g + i % 2 * 8, column + 2 * t + i / 2 * 8));
    return a;
}

/* b: b[k,n] = tile[row + n, column + k]: the product with the rows of the tile. */
template <typename T, int F>
WL_DEVICE struct wl_frag_b<T> wl_tile_rows(const uint32_t *tile, int row, int column) {
    const int lane = (int)threadIdx.x % 32, g = lane / 4, t = lane % 4;
    struct wl_frag_b<T> b;
#pragma unroll
    for (int i = 0; i < 2; i++) wl_frag_load(&b, i, wl_tile_at<T, F>(tile, row + g, column + 2 * t + i * 8));
    return b;
}

/* b: b[k,n] = tile[row + k, column + n]: the product with its columns. */
template <typename T, int F>
WL_DEVICE struct wl_frag_b<T> wl_tile_columns(const uint32_t *tile, int row, int column) {
    const int lane = (int)threadIdx.x % 32, g = lane / 4, t = lane % 4;
    struct wl_frag_b<T> b;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint32_t *at = wl_tile_at<T, F>(tile, row + 2 * t + i * 8, column + g);
        const uint32_t first = at[0], second = at[wl_tile<T, F>::WORDS];
        if constexpr (sizeof(T) == 4) {
            b.v[2 * i] = wl_bits_float(first);
            b.v[2 * i + 1] = wl_bits_float(second);
        } else {
            b.pair[i] = g % 2 ? first >> 16 | (second & 0xffff0000u) : (first & 0xffffu) | second << 16;
        }
    }
    return b;
}

#endif
