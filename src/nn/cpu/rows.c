/* Operations on rows: the loops of nn/wide, shared out among the threads. Gradients of weights are summed in CHUNKS
 * parts of fixed bounds, then the parts in their order, so the number of threads does not change a bit. */
#include "nn/cpu/cpu.h"
#include "nn/ref/ref.h"
#include "nn/threads.h"
#include "nn/wide/wide.h"

#include <string.h>

enum { CHUNKS = 16, BLOCK = WL_WIDE_BLOCK };

static size_t threads(void) { return (size_t)omp_get_max_threads(); }

static int this_thread(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

/* Rows [*from, *to) of chunk c. */
static void chunk_rows(int64_t rows, int c, int64_t *from, int64_t *to)
{
    *from = rows * c / CHUNKS;
    *to = rows * (c + 1) / CHUNKS;
}

/* sum [n] = the parts, which lie `apart` floats from each other. */
static void add_parts(const float *parts, size_t apart, size_t n, float *sum)
{
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) {
        float x = parts[i];
        for (size_t c = 1; c < CHUNKS; c++) x += parts[c * apart + i];
        sum[i] = x;
    }
}

/* ---- dense ------------------------------------------------------------------------------------------------------- */

static void dense(const struct wl_dense_args *a)
{
    const struct wl_wide *wide = wl_wide();
    wide->pack(a->w, 1, a->m.f, a->m.f, a->m.k, a->scratch);
    const int64_t blocks = (a->m.n + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks; b++)
        wide->dense(a, a->scratch, b * BLOCK, b + 1 < blocks ? (b + 1) * BLOCK : a->m.n);
}

/* Scratch: packed weights, the chunks' sums, a block a thread. */
static void dense_backward(const struct wl_dense_grad *a)
{
    const struct wl_wide *wide = wl_wide();
    const size_t weights = (size_t)(a->m.f * a->m.k), part = weights + (size_t)a->m.k;
    float *const parts = a->scratch + a->m.k * WL_WIDE_ROUND(a->m.f), *const blocks = parts + CHUNKS * part;
    if (a->dx) wide->pack(a->w, a->m.f, 1, a->m.k, a->m.f, a->scratch);
#pragma omp parallel for schedule(dynamic)
    for (int c = 0; c < CHUNKS; c++) {
        int64_t from, to;
        float *const dw = parts + (size_t)c * part;
        chunk_rows(a->m.n, c, &from, &to);
        memset(dw, 0, part * sizeof *dw);
        wide->dense_backward(a, a->scratch, from, to, blocks + this_thread() * BLOCK * a->m.k, dw, dw + weights);
    }
    add_parts(parts, part, weights, a->dw);
    if (a->db) add_parts(parts + weights, part, (size_t)a->m.k, a->db);
}

static size_t dense_scratch(struct wl_matrix m, bool backward)
{
    if (!backward) return (size_t)(m.f * WL_WIDE_ROUND(m.k));
    return (size_t)(m.k * WL_WIDE_ROUND(m.f) + CHUNKS * (m.f * m.k + m.k)) + threads() * (size_t)(BLOCK * m.k);
}

/* ---- filter_conv ------------------------------------------------------------------------------------------------- */

static int64_t filter_rows(int64_t gaussians) { return gaussians > WL_WIDE_WINDOW ? gaussians : WL_WIDE_WINDOW; }

static bool fills_vectors(int64_t f) { return f % WL_WIDE_LANES == 0; }

/* The molecules of chunk c: about a sixteenth of the pairs. A molecule goes where its first pair does; those without
 * one too. */
static void chunk_molecules(const struct wl_filter_args *a, int c, int64_t *from, int64_t *to)
{
    int64_t pairs[2], at[2];
    chunk_rows(a->pair_start[a->molecules], c, &pairs[0], &pairs[1]);
    for (int i = 0; i < 2; i++)
        for (at[i] = 0; at[i] < a->molecules && a->pair_start[at[i]] < pairs[i];) at[i]++;
    *from = c == 0 ? 0 : at[0];
    *to = c == CHUNKS - 1 ? a->molecules : at[1];
}

/* w0' as the loops want it: [rows,f]. */
static void transpose_first(const struct wl_filter_args *a, float *to)
{
    const int64_t rows = filter_rows(a->gaussians);
    for (int64_t k = 0; k < rows; k++)
        for (int64_t j = 0; j < a->f; j++) to[k * a->f + j] = k < a->gaussians ? a->w0[j * a->gaussians + k] : 0;
}

/* Scratch begins with w0' and packed w2 or w2'; `rest` is what lies behind. */
static struct wl_filter_packed pack_filter(const struct wl_filter_args *a, bool backward, float **rest)
{
    const int64_t first = filter_rows(a->gaussians) * a->f, second = a->f * WL_WIDE_ROUND(a->f);
    float *const w0 = a->scratch, *const w2 = w0 + first;
    transpose_first(a, w0);
    wl_wide()->pack(a->w2, backward ? a->f : 1, backward ? 1 : a->f, a->f, a->f, w2);
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
    const struct wl_wide *wide = wl_wide();
    const struct wl_filter_packed packed = pack_filter(a, false, &blocks);
#pragma omp parallel for schedule(dynamic)
    for (int c = 0; c < CHUNKS; c++) {
        int64_t from, to;
        chunk_molecules(a, c, &from, &to);
        wide->filter_conv(a, &packed, from, to, blocks + this_thread() * 2 * BLOCK * a->f);
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
    const struct wl_wide *wide = wl_wide();
    const struct wl_filter_packed packed = pack_filter(a, true, &parts);
    const size_t part = sums_size(a->f, a->gaussians);
    float *const blocks = parts + CHUNKS * part;
#pragma omp parallel for schedule(dynamic)
    for (int c = 0; c < CHUNKS; c++) {
        int64_t from, to;
        const struct wl_filter_sums s = filter_sums(a->f, a->gaussians, parts + (size_t)c * part);
        chunk_molecules(a, c, &from, &to);
        memset(s.dw0, 0, part * sizeof(float));
        wide->filter_conv_backward(g, &packed, from, to, blocks + this_thread() * 4 * BLOCK * a->f, &s);
    }
    const struct wl_filter_sums s = filter_sums(a->f, a->gaussians, parts);
    add_parts(s.dw2, part, (size_t)(a->f * a->f), g->dw2);
    add_parts(s.db2, part, (size_t)a->f, g->db2);
    add_parts(s.db0, part, (size_t)a->f, g->db0);
    add_parts(s.dw0, part, (size_t)(a->gaussians * a->f), s.dw0);
    for (int64_t j = 0; j < a->f; j++)
        for (int64_t k = 0; k < a->gaussians; k++) g->dw0[j * a->gaussians + k] = s.dw0[k * a->f + j];
}

static size_t filter_scratch(int64_t f, int64_t gaussians, bool backward)
{
    const size_t packed = (size_t)(filter_rows(gaussians) * f + f * WL_WIDE_ROUND(f));
    const size_t block = (size_t)(BLOCK * f);
    return packed + (backward ? CHUNKS * sums_size(f, gaussians) + threads() * 4 * block : threads() * 2 * block);
}

const struct wl_rows_kernels wl_cpu_rows = {
    .dense = dense,
    .dense_backward = dense_backward,
    .dense_scratch = dense_scratch,
    .filter_conv = filter_conv,
    .filter_conv_backward = filter_conv_backward,
    .filter_scratch = filter_scratch,
};
