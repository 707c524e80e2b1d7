/* Continuous-filter convolution in one pass over the pairs: filters of a block of pairs are made in the cache and
 * multiplied onto both atoms of each pair right there. */
#include "nn/simd/filter_layers.h"
#include "nn/simd/levels.h"

static void distances_of(const struct wl_filter_args *a, int64_t from, int64_t n, double to[BLOCK])
{
    for (int64_t i = 0; i < n; i++) to[i] = (double)a->distance[from + i];
}

/* Filters of n pairs, which get their cutoff, onto both atoms of each. */
static void spread(const struct wl_filter_args *a, int64_t from, int64_t n, const float *cut, float *filters)
{
    const int64_t f = a->f;
    for (int64_t i = 0; i < n; i++) {
        const int64_t one = a->pair[2 * (from + i)] * f, two = a->pair[2 * (from + i) + 1] * f;
        for (int64_t j = 0; j < f; j += LANES) {
            const vec w = vec_load(filters + i * f + j) * cut[i];
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
        double distance[BLOCK];
        cut_of(a, p, n, cut);
        distances_of(a, p, n, distance);
        hidden_block(a, packed->w0, distance, n, block, NULL);
        second_layer(a, packed->w2, n, block, filters);
        spread(a, p, n, cut, filters);
    }
}

/* Gradients by the atoms' features, and d_filters by the filters before the cutoff. */
static void gather(const struct wl_filter_grad *g, int64_t from, int64_t n, const float *cut, const float *filters,
                   float *d_filters)
{
    const struct wl_filter_args *a = &g->of;
    const int64_t f = a->f;
    for (int64_t i = 0; i < n; i++) {
        const int64_t one = a->pair[2 * (from + i)] * f, two = a->pair[2 * (from + i) + 1] * f;
        for (int64_t j = 0; j < f; j += LANES) {
            const vec w = vec_load(filters + i * f + j);
            const vec to_one = vec_load(g->dy + one + j), to_two = vec_load(g->dy + two + j);
            vec_store(g->dx + one + j, vec_load(g->dx + one + j) + w * to_two);
            vec_store(g->dx + two + j, vec_load(g->dx + two + j) + w * to_one);
            vec_store(d_filters + i * f + j,
                      (to_one * vec_load(a->x + two + j) + to_two * vec_load(a->x + one + j)) * cut[i]);
        }
    }
}

/* The filters of n pairs, as the forward pass had them and nobody kept them. */
static void filters_once_more(const struct wl_filter_args *a, const float *w2, int64_t n, const float *hidden,
                              const float *cut, float *filters)
{
    second_layer(a, w2, n, hidden, filters);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < a->f; j += LANES)
            vec_store(filters + i * a->f + j, vec_load(filters + i * a->f + j) * cut[i]);
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
        const float *filters = a->saved_filters ? a->saved_filters + p * f : d_hidden;
        float cut[BLOCK];
        double distance[BLOCK];
        cut_of(a, p, n, cut);
        distances_of(a, p, n, distance);
        hidden_block(a, packed->w0, distance, n, hidden, slopes);
        if (!a->saved_filters) filters_once_more(a, packed->w2, n, hidden, cut, d_hidden);
        gather(g, p, n, cut, filters, d_filters);
        layers_backward(a, packed, distance, n, hidden, slopes, d_filters, d_hidden, sums);
    }
}
