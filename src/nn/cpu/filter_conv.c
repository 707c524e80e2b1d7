#include "nn/cpu/chunks.h"
#include "nn/cpu/cpu.h"
#include "nn/ref/ref.h"
#include "nn/simd/simd.h"

#include <string.h>

enum { BLOCK = WL_SIMD_BLOCK };

static int64_t filter_rows(int64_t gaussians) { return gaussians > WL_SIMD_WINDOW ? gaussians : WL_SIMD_WINDOW; }

static bool fills_vectors(int64_t f) { return f % WL_SIMD_LANES == 0; }

/* Scratch begins with w0' and packed w2 or w2'; `rest` is what follows. */
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
    const struct wl_simd *simd = wl_simd();
    const struct wl_filter_packed packed = pack_filter(a, false, &blocks);
#pragma omp parallel for schedule(dynamic)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_segments(a->pair_start, a->molecules, c, &from, &to);
        simd->filter_conv(a, &packed, from, to, blocks + wl_chunk_thread() * 2 * BLOCK * a->f);
    }
}

/* The sums of a chunk, contiguous. */
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
    const struct wl_simd *simd = wl_simd();
    const struct wl_filter_packed packed = pack_filter(a, true, &parts);
    const size_t part = sums_size(a->f, a->gaussians);
    float *const blocks = parts + WL_CHUNKS * part;
#pragma omp parallel for schedule(dynamic)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        const struct wl_filter_sums s = filter_sums(a->f, a->gaussians, parts + (size_t)c * part);
        wl_chunk_segments(a->pair_start, a->molecules, c, &from, &to);
        memset(s.dw0, 0, part * sizeof(float));
        simd->filter_conv_backward(g, &packed, from, to, blocks + wl_chunk_thread() * 4 * BLOCK * a->f, &s);
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

static const struct wl_filter_kernels kernels = { filter_conv, filter_conv_backward, filter_scratch };

const struct wl_op_rules wl_cpu_op_filter_conv = { wl_lower_rows, wl_lower_rows_backward,
                                                   .lowering = &wl_rows_filter_conv, .kernels = &kernels };
