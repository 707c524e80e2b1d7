#include "nn/cpu/chunks.h"
#include "nn/cpu/cpu.h"
#include "nn/simd/simd.h"

#include <string.h>

enum { BLOCK = WL_SIMD_BLOCK };

static void dense(const struct wl_dense_args *a)
{
    const struct wl_simd *simd = wl_simd();
    simd->pack(a->w, 1, a->m.f, a->m.f, a->m.k, a->scratch);
    const int64_t blocks = (a->m.n + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks; b++)
        simd->dense(a, a->scratch, b * BLOCK, b + 1 < blocks ? (b + 1) * BLOCK : a->m.n);
}

/* Scratch: packed weights, the chunks' sums, a block a thread. */
static void dense_backward(const struct wl_dense_grad *a)
{
    const struct wl_simd *simd = wl_simd();
    const size_t weights = (size_t)(a->m.f * a->m.k), part = weights + (size_t)a->m.k;
    float *const parts = a->scratch + a->m.k * WL_SIMD_ROUND(a->m.f), *const blocks = parts + WL_CHUNKS * part;
    simd->pack(a->w, a->m.f, 1, a->m.k, a->m.f, a->scratch);
#pragma omp parallel for schedule(dynamic)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        float *const dw = parts + (size_t)c * part;
        wl_chunk_rows(a->m.n, c, &from, &to);
        memset(dw, 0, part * sizeof *dw);
        simd->dense_backward(a, a->scratch, from, to, blocks + wl_chunk_thread() * BLOCK * a->m.k, dw, dw + weights);
    }
    wl_chunk_sum(parts, part, weights, a->dw);
    if (a->db) wl_chunk_sum(parts + weights, part, (size_t)a->m.k, a->db);
}

static size_t dense_scratch(struct wl_matrix m, bool backward)
{
    if (!backward) return (size_t)(m.f * WL_SIMD_ROUND(m.k));
    return (size_t)(m.k * WL_SIMD_ROUND(m.f) + WL_CHUNKS * (m.f * m.k + m.k)) +
           wl_chunk_threads() * (size_t)(BLOCK * m.k);
}

static const struct wl_dense_kernels kernels = { dense, dense_backward, dense_scratch };

const struct wl_op_rules wl_cpu_op_dense = { wl_lower_rows, wl_lower_rows_backward, .lowering = &wl_rows_dense,
                                             .kernels = &kernels };
