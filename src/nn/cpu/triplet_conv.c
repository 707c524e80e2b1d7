#include "nn/cpu/chunks.h"
#include "nn/cpu/cpu.h"
#include "nn/ref/ref.h"
#include "nn/simd/simd.h"

#include <string.h>

enum { BLOCK = WL_SIMD_BLOCK, EIGHT = WL_SIMD_EIGHT };

static bool triplet_fits(const struct wl_triplet_args *a)
{
    return a->bilinear == EIGHT && WL_SIMD_ROUND(a->f) == a->f;
}

static size_t vt_size(const struct wl_triplet_args *a) { return (size_t)(a->orders * a->radials * EIGHT); }

static size_t matrix_size(const struct wl_triplet_args *a) { return (size_t)(a->f * EIGHT * a->f); }

/* Of one thread. */
static size_t block_size(const struct wl_triplet_args *a)
{
    return (size_t)(BLOCK * (2 * a->orders * EIGHT + BLOCK * EIGHT + (2 * EIGHT + 1) * a->f));
}

/* Scratch begins with v' and the packed matrix, forward [8 f,f], backward [f,8 f]. */
static struct wl_triplet_packed pack_triplets(const struct wl_triplet_args *a, bool backward, float **rest)
{
    float *const vt = a->scratch, *const w = vt + vt_size(a);
    const int64_t row_stride = EIGHT * a->f;
    wl_chunk_transpose(a->v, EIGHT, a->orders * a->radials, a->orders * a->radials, vt);
    if (backward)
        wl_simd()->pack(a->w, row_stride, 1, a->f, row_stride, w);
    else
        wl_simd()->pack(a->w, 1, row_stride, row_stride, a->f, w);
    *rest = w + matrix_size(a);
    return (struct wl_triplet_packed) { vt, w };
}

static void triplet_conv(const struct wl_triplet_args *a)
{
    if (!triplet_fits(a)) {
        wl_ref_triplet_conv(a);
        return;
    }
    float *blocks;
    const struct wl_triplet_packed packed = pack_triplets(a, false, &blocks);
#pragma omp parallel for schedule(dynamic)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_segments(a->edge_start, a->atoms, c, &from, &to);
        wl_simd()->triplet_conv(a, &packed, from, to, blocks + (size_t)wl_chunk_thread() * block_size(a));
    }
}

static void triplet_conv_backward(const struct wl_triplet_grad *g)
{
    const struct wl_triplet_args *a = &g->of;
    if (!triplet_fits(a)) {
        wl_ref_triplet_conv_backward(g);
        return;
    }
    float *parts;
    const struct wl_triplet_packed packed = pack_triplets(a, true, &parts);
    const size_t matrix = matrix_size(a), part = matrix + vt_size(a);
    float *const blocks = parts + WL_CHUNKS * part;
#pragma omp parallel for schedule(dynamic)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        float *const dw = parts + (size_t)c * part;
        wl_chunk_segments(a->edge_start, a->atoms, c, &from, &to);
        memset(dw, 0, part * sizeof *dw);
        wl_simd()->triplet_conv_backward(g, &packed, from, to, blocks + (size_t)wl_chunk_thread() * block_size(a),
                                         dw + matrix, dw);
    }
    wl_chunk_sum(parts, part, matrix, g->dw);
    wl_chunk_sum(parts + matrix, part, vt_size(a), parts + matrix);
    wl_chunk_transpose(parts + matrix, a->orders * a->radials, EIGHT, EIGHT, g->dv);
}

static size_t triplet_scratch(const struct wl_triplet_args *shape, bool backward)
{
    if (!triplet_fits(shape)) return 0;
    const size_t part = backward ? WL_CHUNKS * (matrix_size(shape) + vt_size(shape)) : 0;
    return vt_size(shape) + matrix_size(shape) + part + wl_chunk_threads() * block_size(shape);
}

static const struct wl_triplet_kernels kernels = { triplet_conv, triplet_conv_backward, triplet_scratch };

const struct wl_op_rules wl_cpu_op_triplet_conv = { wl_lower_rows, wl_lower_rows_backward,
                                                    .lowering = &wl_rows_triplet_conv, .kernels = &kernels };
