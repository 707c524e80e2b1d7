/* Continuous-filter convolution in one pass over the pairs: filters of a block of pairs are made in the cache and
 * multiplied onto both atoms of each pair right there.
 *
 * Of the Gaussians of a distance only those matter whose centres are near: sixteen in a row, one vector, beyond which
 * they are below 1e-12. So the first layer multiplies sixteen rows of its weights instead of all. */
#include "nn/lowering/kernels.h"
#include "nn/simd/gemm.h"
#include "nn/simd/levels.h"

#include <math.h>

enum { WINDOW = LANES, GROUP = 8 /* vectors of features that stay in registers */ };

struct window {
    vec gaussians;
    int64_t first;
};

static struct window window_of(const struct wl_filter_args *a, double distance)
{
    const double at = distance / (a->cutoff / (double)(a->gaussians - 1));
    const int64_t last = a->gaussians > WINDOW ? a->gaussians - WINDOW : 0;
    int64_t first = (int64_t)at - (WINDOW / 2 - 1);
    first = first < 0 ? 0 : first > last ? last : first;
    const vec centre = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    const vec off = (float)(at - (double)first) - centre;
    return (struct window) { vec_exp_negative(off * off * -0.5f), first };
}

/* sin^2(pi/2 (1 - d/cutoff)), which is cos^2 of the rest and exact where it vanishes. */
static void cut_of(const struct wl_filter_args *a, int64_t from, int64_t n, float cut[BLOCK])
{
    const float scale = (float)(M_PI / (2 * a->cutoff)), cutoff = (float)a->cutoff;
    float left[BLOCK] = { 0 };
    for (int64_t i = 0; i < n; i++) left[i] = cutoff - a->distance[from + i];
    for (int64_t i = 0; i < n; i += LANES) {
        const vec s = vec_sin_quarter(vec_load(left + i) * scale);
        vec_store(cut + i, s * s);
    }
}

/* `vectors` vectors of the first layer of one pair, from feature j on. */
INLINE void first_layer(const float *w0, const float *b0, int64_t f, int64_t j, struct window w, int vectors,
                        vec sum[GROUP])
{
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) sum[v] = vec_load(b0 + j + v * LANES);
    const float *row = w0 + w.first * f + j;
    for (int k = 0; k < WINDOW; k++, row += f) {
        const float g = w.gaussians[k];
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) sum[v] += g * vec_load(row + v * LANES);
    }
}

INLINE void hidden_group(const struct wl_filter_args *a, const float *w0, struct window w, int64_t j, int vectors,
                         float *hidden, float *slopes)
{
    vec sum[GROUP];
    first_layer(w0, a->b0, a->f, j, w, vectors, sum);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {
        if (slopes) {
            const struct softplus s = vec_softplus_slope(sum[v]);
            vec_store(hidden + j + v * LANES, s.value);
            vec_store(slopes + j + v * LANES, s.slope);
        } else
            vec_store(hidden + j + v * LANES, vec_softplus(sum[v]));
    }
}

/* The hidden features of n pairs, and the slopes of the softplus where they are wanted. */
static void hidden_block(const struct wl_filter_args *a, const float *w0, int64_t from, int64_t n, float *hidden,
                         float *slopes)
{
    const int64_t f = a->f, whole = f - f % (GROUP * LANES);
    for (int64_t i = 0; i < n; i++) {
        const struct window w = window_of(a, a->distance[from + i]);
        float *const h = hidden + i * f, *const s = slopes ? slopes + i * f : NULL;
        for (int64_t j = 0; j < whole; j += GROUP * LANES) hidden_group(a, w0, w, j, GROUP, h, s);
        for (int64_t j = whole; j < f; j += LANES) hidden_group(a, w0, w, j, 1, h, s);
    }
}

/* Filters of n pairs from their products, onto both atoms of each. */
static void spread(const struct wl_filter_args *a, int64_t from, int64_t n, const float *cut, float *filters)
{
    const int64_t f = a->f;
    for (int64_t i = 0; i < n; i++) {
        const int64_t one = a->pair[2 * (from + i)] * f, two = a->pair[2 * (from + i) + 1] * f;
        for (int64_t j = 0; j < f; j += LANES) {
            const vec w = (vec_load(filters + i * f + j) + vec_load(a->b2 + j)) * cut[i];
            vec_store(filters + i * f + j, w);
            vec_store(a->y + one + j, vec_load(a->y + one + j) + w * vec_load(a->x + two + j));
            vec_store(a->y + two + j, vec_load(a->y + two + j) + w * vec_load(a->x + one + j));
        }
    }
}

void WL_SIMD_NAME(wl_filter_conv)(const struct wl_filter_args *a, const struct wl_filter_packed *packed, int64_t from,
                                  int64_t to, float *block)
{
    const int64_t f = a->f, end = a->pair_start[to];
    memset(a->y + a->atom_start[from] * f, 0, (size_t)((a->atom_start[to] - a->atom_start[from]) * f) * sizeof(float));
    for (int64_t p = a->pair_start[from]; p < end; p += BLOCK) {
        const int64_t n = end - p < BLOCK ? end - p : BLOCK;
        float cut[BLOCK], *filters = a->saved_filters ? a->saved_filters + p * f : block + BLOCK * f;
        cut_of(a, p, n, cut);
        hidden_block(a, packed->w0, p, n, block, NULL);
        rows_product(n, f, f, block, f, packed->w2, false, filters, f);
        spread(a, p, n, cut, filters);
    }
}

/* Gradients by the atoms' features, and d_filters by the filters before the cutoff. */
static void gather(const struct wl_filter_grad *g, int64_t from, int64_t n, const float *cut, float *d_filters,
                   float *db2)
{
    const struct wl_filter_args *a = &g->of;
    const int64_t f = a->f;
    for (int64_t i = 0; i < n; i++) {
        const int64_t one = a->pair[2 * (from + i)] * f, two = a->pair[2 * (from + i) + 1] * f;
        for (int64_t j = 0; j < f; j += LANES) {
            const vec w = vec_load(a->saved_filters + (from + i) * f + j);
            const vec to_one = vec_load(g->dy + one + j), to_two = vec_load(g->dy + two + j);
            vec_store(g->dx + one + j, vec_load(g->dx + one + j) + w * to_two);
            vec_store(g->dx + two + j, vec_load(g->dx + two + j) + w * to_one);
            const vec d = (to_one * vec_load(a->x + two + j) + to_two * vec_load(a->x + one + j)) * cut[i];
            vec_store(d_filters + i * f + j, d);
            vec_store(db2 + j, vec_load(db2 + j) + d);
        }
    }
}

/* The first layer's gradients from those of the hidden features; dw0 is [gaussians,f] here. */
static void first_layer_backward(const struct wl_filter_args *a, int64_t from, int64_t n, const float *d_hidden,
                                 const float *slopes, float *dw0, float *db0)
{
    const int64_t f = a->f;
    for (int64_t i = 0; i < n; i++) {
        const struct window w = window_of(a, a->distance[from + i]);
        for (int64_t j = 0; j < f; j += LANES) {
            const vec du = vec_load(d_hidden + i * f + j) * vec_load(slopes + i * f + j);
            float *row = dw0 + w.first * f + j;
            vec_store(db0 + j, vec_load(db0 + j) + du);
            for (int k = 0; k < WINDOW; k++, row += f) vec_store(row, vec_load(row) + w.gaussians[k] * du);
        }
    }
}

void WL_SIMD_NAME(wl_filter_conv_backward)(const struct wl_filter_grad *g, const struct wl_filter_packed *packed,
                                           int64_t from, int64_t to, float *block, const struct wl_filter_sums *sums)
{
    const struct wl_filter_args *a = &g->of;
    const int64_t f = a->f, end = a->pair_start[to];
    float *const hidden = block, *const slopes = hidden + BLOCK * f, *const d_filters = slopes + BLOCK * f,
                 *const d_hidden = d_filters + BLOCK * f;
    memset(g->dx + a->atom_start[from] * f, 0, (size_t)((a->atom_start[to] - a->atom_start[from]) * f) * sizeof(float));
    for (int64_t p = a->pair_start[from]; p < end; p += BLOCK) {
        const int64_t n = end - p < BLOCK ? end - p : BLOCK;
        float cut[BLOCK];
        cut_of(a, p, n, cut);
        gather(g, p, n, cut, d_filters, sums->db2);
        hidden_block(a, packed->w0, p, n, hidden, slopes);
        columns_product(n, f, f, d_filters, f, hidden, f, sums->dw2, f);
        rows_product(n, f, f, d_filters, f, packed->w2, false, d_hidden, f);
        first_layer_backward(a, p, n, d_hidden, slopes, sums->dw0, sums->db0);
    }
}
