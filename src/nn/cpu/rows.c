/* Operations on rows: the loops of nn/wide, shared out among the threads. */
#include "nn/cpu/chunks.h"
#include "nn/cpu/cpu.h"
#include "nn/ref/ref.h"
#include "nn/simd/simd.h"

#include <string.h>

enum { BLOCK = WL_SIMD_BLOCK };

/* ---- dense ------------------------------------------------------------------------------------------------------- */

static void dense(const struct wl_dense_args *a)
{
    const struct wl_simd *wide = wl_simd();
    wide->pack(a->w, 1, a->m.f, a->m.f, a->m.k, a->scratch);
    const int64_t blocks = (a->m.n + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks; b++)
        wide->dense(a, a->scratch, b * BLOCK, b + 1 < blocks ? (b + 1) * BLOCK : a->m.n);
}

/* Scratch: packed weights, the chunks' sums, a block a thread. */
static void dense_backward(const struct wl_dense_grad *a)
{
    const struct wl_simd *wide = wl_simd();
    const size_t weights = (size_t)(a->m.f * a->m.k), part = weights + (size_t)a->m.k;
    float *const parts = a->scratch + a->m.k * WL_SIMD_ROUND(a->m.f), *const blocks = parts + WL_CHUNKS * part;
    wide->pack(a->w, a->m.f, 1, a->m.k, a->m.f, a->scratch);
#pragma omp parallel for schedule(dynamic)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        float *const dw = parts + (size_t)c * part;
        wl_chunk_rows(a->m.n, c, &from, &to);
        memset(dw, 0, part * sizeof *dw);
        wide->dense_backward(a, a->scratch, from, to, blocks + wl_chunk_thread() * BLOCK * a->m.k, dw, dw + weights);
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

/* ---- filter_conv ------------------------------------------------------------------------------------------------- */

static int64_t filter_rows(int64_t gaussians) { return gaussians > WL_SIMD_WINDOW ? gaussians : WL_SIMD_WINDOW; }

static bool fills_vectors(int64_t f) { return f % WL_SIMD_LANES == 0; }

/* Scratch begins with w0' and packed w2 or w2'; `rest` is what lies behind. */
static struct wl_filter_packed pack_filter(const struct wl_filter_args *a, bool backward, float **rest)
{
    const int64_t first = filter_rows(a->gaussians) * a->f, second = a->f * WL_SIMD_ROUND(a->f);
    float *const w0 = a->scratch, *const w2 = w0 + first;
    wl_chunk_transpose(a->w0, a->f, a->gaussians, filter_rows(a->gaussians), w0);
    wl_simd()->pack(a->w2, backward ? a->f : 1, backward ? 1 : a->f, a->f, a->f, w2);
    *rest = w2 + second;
    return (struct wl_filter_packed) { .w0 = w0, .w2 = w2 };
}

static void filter_conv(const struct wl_filter_args *a)
{
    if (!fills_vectors(a->f)) {
        wl_ref_filter_conv(a);
        return;
    }
    float *blocks;
    const struct wl_simd *wide = wl_simd();
    const struct wl_filter_packed packed = pack_filter(a, false, &blocks);
#pragma omp parallel for schedule(dynamic)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_segments(a->pair_start, a->molecules, c, &from, &to);
        wide->filter_conv(a, &packed, from, to, blocks + wl_chunk_thread() * 2 * BLOCK * a->f);
    }
}

/* The sums of a chunk, one behind the other. */
static struct wl_filter_sums filter_sums(int64_t f, int64_t gaussians, float *at)
{
    struct wl_filter_sums s = { .dw0 = at };
    s.db0 = s.dw0 + filter_rows(gaussians) * f;
    s.dw2 = s.db0 + f;
    s.db2 = s.dw2 + f * f;
    return s;
}

static size_t sums_size(int64_t f, int64_t gaussians) { return (size_t)((filter_rows(gaussians) + f + 2) * f); }

static void filter_conv_backward(const struct wl_filter_grad *g)
{
    const struct wl_filter_args *a = &g->of;
    if (!fills_vectors(a->f)) {
        wl_ref_filter_conv_backward(g);
        return;
    }
    float *parts;
    const struct wl_simd *wide = wl_simd();
    const struct wl_filter_packed packed = pack_filter(a, true, &parts);
    const size_t part = sums_size(a->f, a->gaussians);
    float *const blocks = parts + WL_CHUNKS * part;
#pragma omp parallel for schedule(dynamic)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        const struct wl_filter_sums s = filter_sums(a->f, a->gaussians, parts + (size_t)c * part);
        wl_chunk_segments(a->pair_start, a->molecules, c, &from, &to);
        memset(s.dw0, 0, part * sizeof(float));
        wide->filter_conv_backward(g, &packed, from, to, blocks + wl_chunk_thread() * 4 * BLOCK * a->f, &s);
    }
    const struct wl_filter_sums s = filter_sums(a->f, a->gaussians, parts);
    wl_chunk_sum(s.dw2, part, (size_t)(a->f * a->f), g->dw2);
    wl_chunk_sum(s.db2, part, (size_t)a->f, g->db2);
    wl_chunk_sum(s.db0, part, (size_t)a->f, g->db0);
    wl_chunk_sum(s.dw0, part, (size_t)(a->gaussians * a->f), s.dw0);
    wl_chunk_transpose(s.dw0, a->gaussians, a->f, a->f, g->dw0);
}

static size_t filter_scratch(int64_t f, int64_t gaussians, bool backward)
{
    const size_t packed = (size_t)(filter_rows(gaussians) * f + f * WL_SIMD_ROUND(f));
    const size_t block = (size_t)(BLOCK * f);
    return packed + (backward ? WL_CHUNKS * sums_size(f, gaussians) + wl_chunk_threads() * 4 * block
                              : wl_chunk_threads() * 2 * block);
}

const struct wl_rows_kernels wl_cpu_rows = {
    .dense = dense,
    .dense_backward = dense_backward,
    .dense_scratch = dense_scratch,
    .filter_conv = filter_conv,
    .filter_conv_backward = filter_conv_backward,
    .filter_scratch = filter_scratch,
    .bessel_basis = wl_cpu_bessel_basis,
    .bessel_basis_backward = wl_cpu_bessel_basis_backward,
    .spherical_table = wl_cpu_spherical_table,
    .spherical_basis = wl_cpu_spherical_basis,
    .angular_basis = wl_cpu_angular_basis,
    .gate = wl_cpu_gate,
    .gate_backward = wl_cpu_gate_backward,
    .gate_scratch = wl_cpu_gate_scratch,
    .edge_concat = wl_cpu_edge_concat,
    .edge_concat_backward = wl_cpu_edge_concat_backward,
    .triplet_conv = wl_cpu_triplet_conv,
    .triplet_conv_backward = wl_cpu_triplet_conv_backward,
    .triplet_scratch = wl_cpu_triplet_scratch,
};
