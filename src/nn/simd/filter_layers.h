/* The two layers of filters at some distances, forward and backward; filter_conv.c runs them on pairs, filter_table.c
 * on the nodes of a table.
 *
 * Of the Gaussians of a distance only those matter whose centres are near: sixteen in a row, one vector, beyond which
 * they are below 1e-12. So the first layer multiplies sixteen rows of its weights instead of all. */
#ifndef WL_NN_SIMD_FILTER_LAYERS_H
#define WL_NN_SIMD_FILTER_LAYERS_H

#include "nn/lowering/kernels.h"
#include "nn/simd/gemm.h"

#include <math.h>

#define UNUSED __attribute__((unused))

enum { WINDOW = LANES, GROUP = 8 /* vectors of features that stay in registers */ };

struct window {
    vec gaussians;
    int64_t first;
};

static UNUSED struct window window_of(const struct wl_filter_args *a, double distance)
{
    const double at = distance / (a->cutoff / (double)(a->gaussians - 1));
    const int64_t last = a->gaussians > WINDOW ? a->gaussians - WINDOW : 0;
    int64_t first = (int64_t)at - (WINDOW / 2 - 1);
    first = first < 0 ? 0 : first > last ? last : first;
    const vec centre = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    const vec off = (float)(at - (double)first) - centre;
    return (struct window) { vec_exp_negative(off * off * -0.5f), first };
}

/* sin^2(pi/2 (1 - d/cutoff)) of n distances, which is cos^2 of the rest and exact where it vanishes. */
static UNUSED void cut_of(const struct wl_filter_args *a, int64_t from, int64_t n, float cut[BLOCK])
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

/* The hidden features at n distances, and the slopes of the softplus where they are wanted. */
static UNUSED void hidden_block(const struct wl_filter_args *a, const float *w0, const double *distance, int64_t n,
                                float *hidden, float *slopes)
{
    const int64_t f = a->f, whole = f - f % (GROUP * LANES);
    for (int64_t i = 0; i < n; i++) {
        const struct window w = window_of(a, distance[i]);
        float *const h = hidden + i * f, *const s = slopes ? slopes + i * f : NULL;
        for (int64_t j = 0; j < whole; j += GROUP * LANES) hidden_group(a, w0, w, j, GROUP, h, s);
        for (int64_t j = whole; j < f; j += LANES) hidden_group(a, w0, w, j, 1, h, s);
    }
}

/* Rows of filters before the cutoff: the second layer's products and its bias. */
static UNUSED void second_layer(const struct wl_filter_args *a, const float *w2, int64_t n, const float *hidden,
                                float *filters)
{
    const int64_t f = a->f;
    rows_product(n, f, f, hidden, f, w2, false, filters, f);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < f; j += LANES)
            vec_store(filters + i * f + j, vec_load(filters + i * f + j) + vec_load(a->b2 + j));
}

/* The first layer's gradients from those of the hidden features; dw0 is [gaussians,f] here. */
static UNUSED void first_layer_backward(const struct wl_filter_args *a, const double *distance, int64_t n,
                                        const float *d_hidden, const float *slopes, float *dw0, float *db0)
{
    const int64_t f = a->f;
    for (int64_t i = 0; i < n; i++) {
        const struct window w = window_of(a, distance[i]);
        for (int64_t j = 0; j < f; j += LANES) {
            const vec du = vec_load(d_hidden + i * f + j) * vec_load(slopes + i * f + j);
            float *row = dw0 + w.first * f + j;
            vec_store(db0 + j, vec_load(db0 + j) + du);
            for (int k = 0; k < WINDOW; k++, row += f) vec_store(row, vec_load(row) + w.gaussians[k] * du);
        }
    }
}

/* What both layers' parameters add to their gradients from those of n rows of filters. Scratch d_hidden [n,f]. */
static UNUSED void layers_backward(const struct wl_filter_args *a, const struct wl_filter_packed *packed,
                                   const double *distance, int64_t n, const float *hidden, const float *slopes,
                                   const float *d_filters, float *d_hidden, const struct wl_filter_sums *sums)
{
    const int64_t f = a->f;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < f; j += LANES)
            vec_store(sums->db2 + j, vec_load(sums->db2 + j) + vec_load(d_filters + i * f + j));
    columns_product(n, f, f, d_filters, f, hidden, f, sums->dw2, f);
    rows_product(n, f, f, d_filters, f, packed->w2_backward, false, d_hidden, f);
    first_layer_backward(a, distance, n, d_hidden, slopes, sums->dw0, sums->db0);
}

#endif
