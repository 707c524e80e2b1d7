/* Products of matrices in f32 by tiles: a block multiplies a strip of a with a strip of b, of which it holds `DEPTH`
 * terms of each sum in shared memory, two buffers of it: one is filled while the other is multiplied. Operands are
 * objects with `load4(row, column)`, four numbers of a row, zeros outside; so gathered rows, gradients before an
 * activation and Gaussians of a distance are made where they are read and never written.
 *
 * 2 M N flop for each 4 (M + N) bytes of a step. Sums are fused multiply-adds in the order of the depth, at FMA rate on
 * tiles of 128 x 128 (8 x 8 a thread: 64 multiply-adds for 4 reads of 16 bytes). From sm_80 on, large tiles are
 * multiplied on tensor cores as three products of TF32 (tf32.h). These round sums towards 0, a bias that grows with the
 * length of a sum, so that eight terms are summed there and added in f32. For 262,144 products a tile and step of 16
 * terms a multiprocessor takes 768 clocks of an H100's tensor cores at their peak (about 1,200 by this instruction),
 * and 2,048 of FMA. */
#ifndef WL_NN_GPU_KERNELS_TILE_PRODUCT_H
#define WL_NN_GPU_KERNELS_TILE_PRODUCT_H

#include "nn/gpu/kernels/four.h"
#include "nn/gpu/kernels/row_parts.h"
#include "nn/gpu/kernels/tf32.h"

/* A matrix [rows,columns] as it is. */
struct wl_matrix_operand {
    const float *at;
    int rows, columns;
    __device__ __forceinline__ float4 load4(int row, int column) const
    {
        return row < rows ? wl_load4(at + (int64_t)row * columns, column, columns) : wl_zero4();
    }
};

/* Row r is row index[r] of a matrix. */
struct wl_gathered_operand {
    const float *at;
    const int32_t *index;
    int rows, columns;
    __device__ __forceinline__ float4 load4(int row, int column) const
    {
        return row < rows ? wl_load4(at + (int64_t)index[row] * columns, column, columns) : wl_zero4();
    }
};

/* A tile of M rows and N columns; a thread has TM x TN of it: in groups of 4 x 4 that are spread over the tile, or, of
 * a tile for tensor cores, in fragments of its warp's part, 8 TM rows and 4 TN columns. */
template <int M_, int N_, int TM_, int TN_, bool TENSOR_CORES_ = false> struct wl_tile {
    enum {
        TENSOR_CORES = TENSOR_CORES_,
        M = M_,
        N = N_,
        TM = TM_,
        TN = TN_,
        DEPTH = 16,
        ACROSS = N / TN,
        THREADS = M / TM * ACROSS,
        A_LOADS = M * DEPTH / 4 / THREADS,
        B_LOADS = N * DEPTH / 4 / THREADS,
        PAD = 4 /* keeps rows at 16 bytes, and columns out of one bank */
    };
    struct memory {
        float a[2][DEPTH][M + PAD], b[2][DEPTH][N + PAD];
    };
};
using wl_large_tile = wl_tile<128, 128, 8, 8>; /* 256 threads, 34 KB */
using wl_tensor_tile = wl_tile<128, 128, 8, 8, true>;
using wl_small_tile = wl_tile<32, 64, 4, 4>; /* 128 threads, 13 KB: where large ones would be too few */

/* A kernel on large tiles: two blocks a multiprocessor, so that one multiplies while the other waits, on architectures
 * from `first` to 90. Turing's shared memory (75) has room for one; elsewhere registers would be spilled. */
#ifdef __CUDA_ARCH__
#define WL_LARGE_TILE_BLOCKS(first) (__CUDA_ARCH__ / 10 >= (first) && __CUDA_ARCH__ / 10 <= 90 ? 2 : 1)
#else
#define WL_LARGE_TILE_BLOCKS(first) 1
#endif
#ifdef __CUDACC__
#define WL_LARGE_TILE_KERNEL(name, first, args) \
    extern "C" __global__ void __launch_bounds__(256, WL_LARGE_TILE_BLOCKS(first)) name(const __grid_constant__ args a)
#else
#define WL_LARGE_TILE_KERNEL(name, first, args) WL_KERNEL(name, 256, args)
#endif

/* NAME_large, NAME_tensor and NAME_small run body<tile>(arguments, memory). On tensor cores a block has a
 * multiprocessor for itself: with two of them registers would be spilled. */
#define WL_TILE_KERNELS(name, first, args, body)    \
    WL_LARGE_TILE_KERNEL(name##_large, first, args) \
    {                                               \
        __shared__ wl_large_tile::memory m;         \
        body<wl_large_tile>(a, m);                  \
    }                                               \
    WL_KERNEL(name##_tensor, 256, args)             \
    {                                               \
        __shared__ wl_tensor_tile::memory m;        \
        body<wl_tensor_tile>(a, m);                 \
    }                                               \
    WL_KERNEL(name##_small, 128, args)              \
    {                                               \
        __shared__ wl_small_tile::memory m;         \
        body<wl_small_tile>(a, m);                  \
    }

/* Which of an operand's indices is the depth: its rows or its columns. */
enum wl_depth { WL_DEPTH_COLUMNS, WL_DEPTH_ROWS };

template <int EXTENT, int DEPTH, int THREADS, int LOADS, enum wl_depth D, class Operand>
WL_DEVICE void wl_tile_fetch(const Operand &o, int first, int depth, float4 (&to)[LOADS])
{
#pragma unroll
    for (int l = 0; l < LOADS; l++) {
        const int i = (int)threadIdx.x + l * THREADS;
        if (D == WL_DEPTH_ROWS)
            to[l] = o.load4(depth + i / (EXTENT / 4), first + i % (EXTENT / 4) * 4);
        else
            to[l] = o.load4(first + i / (DEPTH / 4), depth + i % (DEPTH / 4) * 4);
    }
}

template <int EXTENT, int DEPTH, int PITCH, int THREADS, int LOADS, enum wl_depth D>
WL_DEVICE void wl_tile_put(const float4 (&from)[LOADS], float (*to)[PITCH])
{
#pragma unroll
    for (int l = 0; l < LOADS; l++) {
        const int i = (int)threadIdx.x + l * THREADS;
        if (D == WL_DEPTH_ROWS) {
            *(float4 *)&to[i / (EXTENT / 4)][i % (EXTENT / 4) * 4] = from[l];
            continue;
        }
        const int row = i / (DEPTH / 4), depth = i % (DEPTH / 4) * 4;
        to[depth][row] = from[l].x;
        to[depth + 1][row] = from[l].y;
        to[depth + 2][row] = from[l].z;
        to[depth + 3][row] = from[l].w;
    }
}

/* Index in the tile of number i of a thread's T, `at` of its `threads` neighbours along this side. */
template <int T, int EXTENT> WL_DEVICE int wl_tile_index(int at, int i)
{
    return i / 4 * (EXTENT / (T / 4)) + at * 4 + i % 4;
}

template <int T, int EXTENT, int PITCH> WL_DEVICE void wl_tile_read(const float (&line)[PITCH], int at, float (&to)[T])
{
#pragma unroll
    for (int g = 0; g < T / 4; g++) {
        const float4 v = *(const float4 *)&line[wl_tile_index<T, EXTENT>(at, 4 * g)];
        to[4 * g] = v.x;
        to[4 * g + 1] = v.y;
        to[4 * g + 2] = v.z;
        to[4 * g + 3] = v.w;
    }
}

/* ---- on tensor cores: number (2 i + r, 2 j + c) of a thread is in row 16 i + 8 r + lane/4 and column
 * 8 j + 2 (lane%4) + c of its warp's part ---- */

/* The first row and column of this warp's part. */
template <class T> WL_DEVICE int wl_part_row(void)
{
    return (int)threadIdx.x / 32 / (T::N / (4 * T::TN)) * (8 * T::TM);
}
template <class T> WL_DEVICE int wl_part_column(void)
{
    return (int)threadIdx.x / 32 % (T::N / (4 * T::TN)) * (4 * T::TN);
}

/* Terms `depth` to + 7: a lane's are 2t and 2t + 1, which no two lanes read from one bank. */
template <class T>
WL_DEVICE void wl_tile_multiply_8(const typename T::memory &m, int buffer, int depth, float (&sum)[T::TM][T::TN])
{
#if WL_HAS_TF32
    const int lane = (int)threadIdx.x % 32, g = lane / 4, term = depth + lane % 4 * 2;
    const float(*a)[T::M + T::PAD] = m.a[buffer] + term, (*b)[T::N + T::PAD] = m.b[buffer] + term;
    const int row = wl_part_row<T>() + g, column = wl_part_column<T>() + g;
    struct wl_tf32_parts other[T::TN / 2][2];
#pragma unroll
    for (int j = 0; j < T::TN / 2; j++)
#pragma unroll
        for (int k = 0; k < 2; k++) other[j][k] = wl_tf32_split(b[k][column + 8 * j]);
#pragma unroll
    for (int i = 0; i < T::TM / 2; i++) {
        struct wl_tf32_parts one[4];
#pragma unroll
        for (int k = 0; k < 4; k++) one[k] = wl_tf32_split(a[k / 2][row + 16 * i + k % 2 * 8]);
#pragma unroll
        for (int j = 0; j < T::TN / 2; j++) {
            float d[4] = {};
            wl_mma_3tf32(d, one, other[j]);
#pragma unroll
            for (int k = 0; k < 4; k++) sum[2 * i + k / 2][2 * j + k % 2] += d[k];
        }
    }
#else
    (void)m, (void)buffer, (void)depth, (void)sum;
    __trap(); /* the rule has not chosen it */
#endif
}

/* Neighbours of a pair of lanes swap: the even one has four sums of row 8 r of r = 0 then, the odd one of r = 1. */
template <class T, class Finish>
WL_DEVICE void wl_part_finish(int m0, int n0, const float (&sum)[T::TM][T::TN], const Finish &finish)
{
    const int lane = (int)threadIdx.x % 32, odd = lane % 2;
    m0 += wl_part_row<T>() + lane / 4 + 8 * odd;
    n0 += wl_part_column<T>() + lane % 4 / 2 * 4;
#pragma unroll
    for (int i = 0; i < T::TM; i += 2)
#pragma unroll
        for (int j = 0; j < T::TN; j += 2) {
            const float x = __shfl_xor_sync(0xffffffffu, odd ? sum[i][j] : sum[i + 1][j], 1);
            const float y = __shfl_xor_sync(0xffffffffu, odd ? sum[i][j + 1] : sum[i + 1][j + 1], 1);
            finish(m0 + 8 * i, n0 + 4 * j,
                   odd ? make_float4(x, y, sum[i + 1][j], sum[i + 1][j + 1])
                       : make_float4(sum[i][j], sum[i][j + 1], x, y));
        }
}

/* ---- the product ---- */

/* sum += the products of the DEPTH terms in one buffer. */
template <class T> WL_DEVICE void wl_tile_multiply(const typename T::memory &m, int buffer, float (&sum)[T::TM][T::TN])
{
    if constexpr (T::TENSOR_CORES) {
#pragma unroll
        for (int d = 0; d < T::DEPTH; d += 8) wl_tile_multiply_8<T>(m, buffer, d, sum);
        return;
    }
    const int down = (int)threadIdx.x / T::ACROSS, across = (int)threadIdx.x % T::ACROSS;
#pragma unroll
    for (int d = 0; d < T::DEPTH; d++) {
        float a[T::TM], b[T::TN];
        wl_tile_read<T::TM, T::M>(m.a[buffer][d], down, a);
        wl_tile_read<T::TN, T::N>(m.b[buffer][d], across, b);
#pragma unroll
        for (int i = 0; i < T::TM; i++)
#pragma unroll
            for (int j = 0; j < T::TN; j++) sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
    }
}

/* sum = rows [m0, m0 + M) of a times columns [n0, n0 + N) of b, over the depth [from, to). Operands give zeros beyond
 * `to`. `seen` takes what this thread fetches of a: with the depth in rows always the same four columns. */
template <class T, enum wl_depth A_DEPTH, enum wl_depth B_DEPTH, class A, class B>
WL_DEVICE void wl_tile_product(const A &a, const B &b, int m0, int n0, int from, int to, typename T::memory &m,
                               float (&sum)[T::TM][T::TN], float4 &seen)
{
    float4 next_a[T::A_LOADS], next_b[T::B_LOADS];
#pragma unroll
    for (int i = 0; i < T::TM; i++)
#pragma unroll
        for (int j = 0; j < T::TN; j++) sum[i][j] = 0;
    int buffer = 0;
    for (int d = from - T::DEPTH; d < to; d += T::DEPTH) { /* the first turn fetches alone */
        const bool more = d + T::DEPTH < to;
        if (more) {
            wl_tile_fetch<T::M, T::DEPTH, T::THREADS, T::A_LOADS, A_DEPTH>(a, m0, d + T::DEPTH, next_a);
            wl_tile_fetch<T::N, T::DEPTH, T::THREADS, T::B_LOADS, B_DEPTH>(b, n0, d + T::DEPTH, next_b);
        }
        if (d >= from) wl_tile_multiply<T>(m, buffer, sum);
        if (more) {
            buffer ^= 1;
            wl_tile_put<T::M, T::DEPTH, T::M + T::PAD, T::THREADS, T::A_LOADS, A_DEPTH>(next_a, m.a[buffer]);
            wl_tile_put<T::N, T::DEPTH, T::N + T::PAD, T::THREADS, T::B_LOADS, B_DEPTH>(next_b, m.b[buffer]);
#pragma unroll
            for (int l = 0; l < T::A_LOADS; l++) seen = wl_add4(seen, next_a[l]);
        }
        __syncthreads();
    }
}

/* Calls finish(row, column, four sums) for this thread's part of the tile. */
template <class T, class Finish>
WL_DEVICE void wl_tile_finish(int m0, int n0, const float (&sum)[T::TM][T::TN], const Finish &finish)
{
    if constexpr (T::TENSOR_CORES) {
        wl_part_finish<T>(m0, n0, sum, finish);
        return;
    }
    const int down = (int)threadIdx.x / T::ACROSS, across = (int)threadIdx.x % T::ACROSS;
#pragma unroll
    for (int i = 0; i < T::TM; i++)
#pragma unroll
        for (int j = 0; j < T::TN; j += 4)
            finish(m0 + wl_tile_index<T::TM, T::M>(down, i), n0 + wl_tile_index<T::TN, T::N>(across, j),
                   make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]));
}

/* Rows of a times b: tile (blockIdx.x, blockIdx.y). `b_depth`: in b's rows or columns. Blocks beyond `rows` end. */
template <class T, enum wl_depth B_DEPTH, class A, class B, class Finish>
WL_DEVICE void wl_rows_product(const A &a, const B &b, int rows, int depth, typename T::memory &m, const Finish &finish)
{
    const int m0 = (int)blockIdx.x * T::M, n0 = (int)blockIdx.y * T::N;
    if (m0 >= rows) return;
    float sum[T::TM][T::TN];
    float4 seen = wl_zero4();
    wl_tile_product<T, WL_DEPTH_COLUMNS, B_DEPTH>(a, b, m0, n0, 0, depth, m, sum, seen);
    wl_tile_finish<T>(m0, n0, sum, finish);
}

/* ---- sums over rows ---- */

/* A part of a' b over rows: [m,n] numbers, then the sums of a's m columns. */
struct wl_weights_part {
    float *at;
    int m, n, from, to;
};

/* Part blockIdx.z. */
WL_DEVICE struct wl_weights_part wl_weights_part_of(const struct wl_gpu_row_parts &parts, int rows, int m, int n)
{
    const int p = (int)blockIdx.z;
    struct wl_weights_part w = { parts.at + p * parts.apart, m, n, 0, 0 };
    wl_part_rows(rows, 16, parts.n, p, &w.from, &w.to);
    return w;
}

/* The sums of a's columns [m0, m0 + M), of which each thread has those of four in some of the rows. */
template <class T> WL_DEVICE void wl_column_sums(const struct wl_weights_part &w, int m0, float4 seen, float4 *shared)
{
    enum { GROUPS = T::M / 4, ROWS = T::THREADS / GROUPS };
    shared[threadIdx.x] = seen;
    __syncthreads();
    if ((int)threadIdx.x >= GROUPS) return;
    for (int r = 1; r < ROWS; r++) seen = wl_add4(seen, shared[r * GROUPS + (int)threadIdx.x]);
    const int column = m0 + 4 * (int)threadIdx.x;
    float *to = w.at + (int64_t)w.m * w.n;
    if (column < w.m) to[column] = seen.x;
    if (column + 1 < w.m) to[column + 1] = seen.y;
    if (column + 2 < w.m) to[column + 2] = seen.z;
    if (column + 3 < w.m) to[column + 3] = seen.w;
}

/* Tile (blockIdx.x, blockIdx.y) of part blockIdx.z; a and b have rows up to w.to. */
template <class T, class A, class B>
WL_DEVICE void wl_weights_product(const A &a, const B &b, const struct wl_weights_part &w, typename T::memory &m)
{
    const int m0 = (int)blockIdx.x * T::M, n0 = (int)blockIdx.y * T::N;
    float sum[T::TM][T::TN];
    float4 seen = wl_zero4();
    wl_tile_product<T, WL_DEPTH_ROWS, WL_DEPTH_ROWS>(a, b, m0, n0, w.from, w.to, m, sum, seen);
    wl_tile_finish<T>(m0, n0, sum, [&](int row, int column, float4 v) {
        if (row < w.m) wl_store4(w.at + (int64_t)row * w.n, column, w.n, v);
    });
    if (n0 == 0) wl_column_sums<T>(w, m0, seen, (float4 *)&m);
}

#endif
