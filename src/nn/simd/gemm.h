/* Matrix products of a few dozen to a few thousand rows, small enough to share a cache with other data: rows
 * times packed weights, and the products of columns that make weights' gradients. Everything is f32 and row-major, and
 * sums run in an order that does not depend on the number of threads.
 *
 * A tile of TILE_ROWS x PANEL sums stays in registers: with AVX-512 24 of 32, and each step of k loads four vectors and
 * six numbers for 24 multiply-adds. */
#ifndef WL_NN_SIMD_GEMM_H
#define WL_NN_SIMD_GEMM_H

#include "nn/simd/simd.h"
#include "nn/simd/vector.h"

#include <stdbool.h>
#include <stddef.h>

/* A source may ask for another tile with AVX-512, WL_GEMM_ROWS x WL_GEMM_VECTORS. */
#ifndef WL_GEMM_ROWS
#define WL_GEMM_ROWS    6
#define WL_GEMM_VECTORS 4
#endif
#ifdef __AVX512F__
enum { TILE_ROWS = WL_GEMM_ROWS, TILE_VECTORS = WL_GEMM_VECTORS };
#else
enum { TILE_ROWS = 6, TILE_VECTORS = 1 };
#endif
enum {
    PANEL = TILE_VECTORS * LANES, /* columns */
    DEPTH = 128,                  /* of k at once: so much of a panel stays in the first cache */
    BLOCK = WL_SIMD_BLOCK,        /* rows that callers work on at once: a multiple of TILE_ROWS */
};

/* Contiguous panels of PANEL columns, each [k,PANEL]; columns beyond n are 0. b(k,j) = at[k*row + j*col]. */
INLINE void pack(const float *at, int64_t row, int64_t col, int64_t k, int64_t n, float *to)
{
    for (int64_t j = 0; j < n; j += PANEL, to += k * PANEL)
        for (int64_t i = 0; i < k; i++)
            for (int64_t c = 0; c < PANEL; c++) to[i * PANEL + c] = j + c < n ? at[i * row + (j + c) * col] : 0;
}

/* Sums of k products: row i of a steps by `row`, its elements by `col`; rows of b by `b_row`. */
struct operands {
    const float *a, *b;
    int64_t row, col, b_row, k;
};

/* Row i of the tile is row first[i], so that a ragged tile repeats its last one. */
INLINE void tile_sums(const struct operands *o, const int64_t first[TILE_ROWS], vec sum[TILE_ROWS][TILE_VECTORS])
{
    const float *a[TILE_ROWS], *b = o->b;
#pragma GCC unroll 8
    for (int i = 0; i < TILE_ROWS; i++) a[i] = o->a + first[i] * o->row;
    const int64_t col = o->col, b_row = o->b_row;
    for (int64_t k = 0; k < o->k; k++, b += b_row) {
        vec line[TILE_VECTORS];
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++) line[v] = vec_load(b + v * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < TILE_ROWS; i++) {
            const float x = a[i][k * col];
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; v++) sum[i][v] += x * line[v];
        }
    }
}

/* rows x cols of the tile go to c, or are added to it. */
INLINE void tile_store(vec sum[TILE_ROWS][TILE_VECTORS], int64_t rows, int64_t cols, bool add, float *c, int64_t ldc)
{
    if (rows >= TILE_ROWS && cols >= PANEL) {
#pragma GCC unroll 8
        for (int i = 0; i < TILE_ROWS; i++)
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; v++) {
                float *at = c + i * ldc + v * LANES;
                vec_store(at, add ? vec_load(at) + sum[i][v] : sum[i][v]);
            }
        return;
    }
    float spill[TILE_ROWS * PANEL];
#pragma GCC unroll 8
    for (int i = 0; i < TILE_ROWS; i++)
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++) vec_store(spill + i * PANEL + v * LANES, sum[i][v]);
    for (int64_t i = 0; i < rows && i < TILE_ROWS; i++)
        for (int64_t j = 0; j < cols && j < PANEL; j++) {
            float *at = c + i * ldc + j;
            *at = (add ? *at : 0) + spill[i * PANEL + j];
        }
}

INLINE void tile_product(const struct operands *o, int64_t rows, int64_t cols, bool add, float *c, int64_t ldc)
{
    vec sum[TILE_ROWS][TILE_VECTORS];
    int64_t first[TILE_ROWS];
#pragma GCC unroll 8
    for (int i = 0; i < TILE_ROWS; i++) {
        first[i] = i < rows ? i : rows - 1;
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++) sum[i][v] = (vec) { 0 };
    }
    tile_sums(o, first, sum);
    tile_store(sum, rows, cols, add, c, ldc);
}

/* c [m,n] = a [m,k] b, or added to it; b packed [k,n]. */
static inline __attribute__((unused)) void rows_product(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                                                        const float *packed, bool add, float *c, int64_t ldc)
{
    for (int64_t d = 0; d < k; d += DEPTH)
        for (int64_t j = 0; j < n; j += PANEL)
            for (int64_t i = 0; i < m; i += TILE_ROWS) {
                const struct operands o = { .a = a + i * lda + d,
                                            .b = packed + j * k + d * PANEL,
                                            .row = lda,
                                            .col = 1,
                                            .b_row = PANEL,
                                            .k = k - d < DEPTH ? k - d : DEPTH };
                tile_product(&o, m - i, n - j, add || d > 0, c + i * ldc + j, ldc);
            }
}

/* c [n,k] += a' b for a [m,n], b [m,k] of m <= BLOCK rows. */
static inline __attribute__((unused)) void columns_product(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                                                           const float *b, int64_t ldb, float *c, int64_t ldc)
{
    float ragged[BLOCK * PANEL];
    for (int64_t j = 0; j < k; j += PANEL) {
        const float *panel = b + j;
        int64_t row = ldb;
        if (k - j < PANEL) {
            pack(panel, ldb, 1, m, k - j, ragged);
            panel = ragged;
            row = PANEL;
        }
        for (int64_t i = 0; i < n; i += TILE_ROWS) {
            const struct operands o = { .a = a + i, .b = panel, .row = 1, .col = lda, .b_row = row, .k = m };
            tile_product(&o, n - i, k - j, true, c + i * ldc + j, ldc);
        }
    }
}

/* The same with b in contiguous panels [m,PANEL]. */
static inline __attribute__((unused)) void panels_product(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                                                          const float *panels, float *c, int64_t ldc)
{
    for (int64_t j = 0; j < k; j += PANEL, panels += m * PANEL)
        for (int64_t i = 0; i < n; i += TILE_ROWS) {
            const struct operands o = { .a = a + i, .b = panels, .row = 1, .col = lda, .b_row = PANEL, .k = m };
            tile_product(&o, n - i, k - j, true, c + i * ldc + j, ldc);
        }
}

#endif
