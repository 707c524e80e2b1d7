#include "nn/cpu/chunks.h"
#include "nn/cpu/cpu.h"
#include "nn/lowering/filter_table.h"
#include "nn/ref/ref.h"
#include "nn/simd/simd.h"

#include <string.h>

/* A table's gradients are summed in so many parts. */
enum { BLOCK = WL_SIMD_BLOCK, TABLE_PARTS = 4 };

static int64_t filter_rows(int64_t gaussians) { return gaussians > WL_SIMD_WINDOW ? gaussians : WL_SIMD_WINDOW; }

static bool fills_vectors(const struct wl_filter_args *a) { return a->f % WL_SIMD_LANES == 0; }

/* ---- memory: packed weights, then the table, then parts of sums and blocks --------------------------------------- */

static float *take(float **at, size_t floats)
{
    float *const from = *at;
    *at += floats;
    return from;
}

static size_t packed_size(const struct wl_filter_args *a) { return (size_t)(a->f * WL_SIMD_ROUND(a->f)); }

static struct wl_filter_packed pack_filter(const struct wl_filter_args *a, bool backward, float **at)
{
    const int64_t f = a->f, rows = filter_rows(a->gaussians);
    float *const w0 = take(at, (size_t)(rows * f)), *const w2 = take(at, packed_size(a)), *w2_backward = NULL;
    wl_chunk_transpose(a->w0, f, a->gaussians, rows, w0);
    wl_simd()->pack(a->w2, 1, f, f, f, w2);
    if (backward) wl_simd()->pack(a->w2, f, 1, f, f, w2_backward = take(at, packed_size(a)));
    return (struct wl_filter_packed) { .w0 = w0, .w2 = w2, .w2_backward = w2_backward };
}

static size_t table_rows_size(const struct wl_filter_args *a)
{
    return (size_t)(wl_filter_table_most(a->gaussians) * a->f);
}

/* The sums of a part, contiguous. */
static struct wl_filter_sums filter_sums(const struct wl_filter_args *a, float *at)
{
    const int64_t f = a->f;
    struct wl_filter_sums s = { .dw0 = at };
    s.db0 = s.dw0 + filter_rows(a->gaussians) * f;
    s.dw2 = s.db0 + f;
    s.db2 = s.dw2 + f * f;
    return s;
}

static size_t sums_size(const struct wl_filter_args *a)
{
    return (size_t)((filter_rows(a->gaussians) + a->f + 2) * a->f);
}

static size_t filter_scratch(const struct wl_filter_args *a, bool backward)
{
    if (!fills_vectors(a)) return wl_ref_filter_scratch(a, backward);
    const size_t packed = (size_t)(filter_rows(a->gaussians) * a->f) + packed_size(a) * (backward ? 2 : 1),
                 table = a->exact ? 0 : table_rows_size(a) * (backward ? 3 + TABLE_PARTS : 3),
                 block = (size_t)(BLOCK * a->f) * wl_chunk_threads();
    return packed + table + (backward ? WL_CHUNKS * sums_size(a) + 4 * block : 2 * block);
}

/* The gradients of the parameters are the sums of their parts; the first part of dw0 is overwritten. */
static void add_up(const struct wl_filter_grad *g, float *parts, int count)
{
    const struct wl_filter_args *a = &g->of;
    const size_t part = sums_size(a), f = (size_t)a->f;
    const struct wl_filter_sums s = filter_sums(a, parts);
    wl_chunk_sum_parts(s.dw2, count, part, f * f, g->dw2);
    wl_chunk_sum_parts(s.db2, count, part, f, g->db2);
    wl_chunk_sum_parts(s.db0, count, part, f, g->db0);
    wl_chunk_sum_parts(s.dw0, count, part, (size_t)a->gaussians * f, s.dw0);
    wl_chunk_transpose(s.dw0, a->gaussians, a->f, a->f, g->dw0);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

struct table {
    struct wl_filter_table of;
    struct wl_filter_rows rows;
};

static void fill(const struct wl_filter_args *a, const struct wl_filter_packed *packed, const struct table *t)
{
#pragma omp parallel for schedule(static)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_rows(t->of.nodes, c, &from, &to);
        wl_simd()->filter_nodes(a, packed, &t->of, from, to, &t->rows);
    }
}

static bool is_smooth(const struct wl_filter_args *a, const struct table *t)
{
    enum { ARRAYS = 3 };
    const float *const rows[ARRAYS] = { t->rows.filters, t->rows.hidden, t->rows.slopes };
    struct wl_filter_roughness part[ARRAYS][WL_CHUNKS], r;
    const int64_t nodes = t->of.nodes;
#pragma omp parallel for schedule(static)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_rows(nodes, c, &from, &to);
        for (int i = 0; i < ARRAYS; i++) part[i][c] = wl_simd()->filter_roughness(rows[i], nodes, a->f, from, to);
    }
    for (int i = 0; i < ARRAYS; i++) {
        r = part[i][0];
        for (int c = 1; c < WL_CHUNKS; c++) r = wl_filter_rougher(r, part[i][c]);
        if (!wl_filter_smooth(r, nodes)) return false;
    }
    return true;
}

/* Without nodes: there is none for these parameters and this batch. */
static struct table table_for(const struct wl_filter_args *a, const struct wl_filter_packed *packed, float **at)
{
    struct table t = { .of = { 0 } };
    if (a->exact) return t;
    const size_t size = table_rows_size(a);
    t.rows = (struct wl_filter_rows) { take(at, size), take(at, size), take(at, size) };
    for (int64_t cells = WL_FILTER_COARSEST; cells <= WL_FILTER_FINEST; cells *= 2) {
        t.of = wl_filter_table_of(a, cells);
        if (t.of.nodes > a->pair_start[a->molecules]) break;
        fill(a, packed, &t);
        if (is_smooth(a, &t)) return t;
    }
    t.of.nodes = 0;
    return t;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static void filter_conv(const struct wl_filter_args *a)
{
    if (!fills_vectors(a)) {
        wl_ref_filter_conv(a);
        return;
    }
    float *at = a->scratch;
    const struct wl_simd *simd = wl_simd();
    const struct wl_filter_packed packed = pack_filter(a, false, &at);
    const struct table t = table_for(a, &packed, &at);
#pragma omp parallel for schedule(dynamic)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_segments(a->pair_start, a->molecules, c, &from, &to);
        if (t.of.nodes)
            simd->filter_table_conv(a, &t.of, t.rows.filters, from, to);
        else
            simd->filter_conv(a, &packed, from, to, at + wl_chunk_thread() * 2 * BLOCK * a->f);
    }
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

static void exact_backward(const struct wl_filter_grad *g, const struct wl_filter_packed *packed, float *parts)
{
    const struct wl_filter_args *a = &g->of;
    const size_t part = sums_size(a);
    float *const blocks = parts + WL_CHUNKS * part;
#pragma omp parallel for schedule(dynamic)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        const struct wl_filter_sums s = filter_sums(a, parts + (size_t)c * part);
        wl_chunk_segments(a->pair_start, a->molecules, c, &from, &to);
        memset(s.dw0, 0, part * sizeof(float));
        wl_simd()->filter_conv_backward(g, packed, from, to, blocks + wl_chunk_thread() * 4 * BLOCK * a->f, &s);
    }
    add_up(g, parts, WL_CHUNKS);
}

/* The molecules of a part of the table's gradient: those of some chunks. */
static void part_segments(const struct wl_filter_args *a, int part, int64_t *from, int64_t *to)
{
    enum { CHUNKS = WL_CHUNKS / TABLE_PARTS };
    int64_t ignored;
    wl_chunk_segments(a->pair_start, a->molecules, part * CHUNKS, from, &ignored);
    wl_chunk_segments(a->pair_start, a->molecules, (part + 1) * CHUNKS - 1, &ignored, to);
}

/* Features that one thread takes of a part: all of them, which is fastest, or fewer where there are more threads than
 * parts. Each feature's sums run over pairs in their order, so the width does not change a bit. */
static int64_t slice_width(int64_t f)
{
    const int64_t slices = ((int64_t)wl_chunk_threads() + TABLE_PARTS - 1) / TABLE_PARTS, lanes = WL_SIMD_LANES;
    return (f / lanes + slices - 1) / slices * lanes;
}

/* dx, and the table's gradient [nodes,f]. */
static void pairs_backward(const struct wl_filter_grad *g, const struct table *t, float *d_table)
{
    const struct wl_filter_args *a = &g->of;
    const size_t size = (size_t)(t->of.nodes * a->f);
    const int64_t width = slice_width(a->f), slices = (a->f + width - 1) / width;
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < TABLE_PARTS * slices; i++) {
        const int part = (int)(i / slices);
        const int64_t first = i % slices * width, last = first + width < a->f ? first + width : a->f;
        int64_t from, to;
        part_segments(a, part, &from, &to);
        wl_simd()->filter_table_backward(g, &t->of, t->rows.filters, from, to, first, last,
                                         d_table + (size_t)part * size);
    }
    wl_chunk_sum_parts(d_table, TABLE_PARTS, size, size, d_table);
}

static void nodes_backward(const struct wl_filter_grad *g, const struct wl_filter_packed *packed, const struct table *t,
                           const float *d_table, float *parts)
{
    const struct wl_filter_args *a = &g->of;
    const size_t part = sums_size(a);
    float *const blocks = parts + WL_CHUNKS * part;
#pragma omp parallel for schedule(static)
    for (int c = 0; c < TABLE_PARTS; c++) {
        const int64_t from = t->of.nodes * c / TABLE_PARTS, to = t->of.nodes * (c + 1) / TABLE_PARTS;
        const struct wl_filter_sums s = filter_sums(a, parts + (size_t)c * part);
        memset(s.dw0, 0, part * sizeof(float));
        wl_simd()->filter_nodes_backward(a, packed, &t->of, from, to, &t->rows, d_table,
                                         blocks + wl_chunk_thread() * BLOCK * a->f, &s);
    }
    add_up(g, parts, TABLE_PARTS);
}

static void filter_conv_backward(const struct wl_filter_grad *g)
{
    const struct wl_filter_args *a = &g->of;
    if (!fills_vectors(a)) {
        wl_ref_filter_conv_backward(g);
        return;
    }
    float *at = a->scratch;
    const struct wl_filter_packed packed = pack_filter(a, true, &at);
    const struct table t = table_for(a, &packed, &at);
    if (!t.of.nodes) {
        exact_backward(g, &packed, at);
        return;
    }
    float *const d_table = take(&at, TABLE_PARTS * table_rows_size(a));
    pairs_backward(g, &t, d_table);
    nodes_backward(g, &packed, &t, d_table, at);
}

static const struct wl_filter_kernels kernels = { filter_conv, filter_conv_backward, filter_scratch };

const struct wl_op_rules wl_cpu_op_filter_conv = { wl_lower_rows, wl_lower_rows_backward,
                                                   .lowering = &wl_rows_filter_conv, .kernels = &kernels };
