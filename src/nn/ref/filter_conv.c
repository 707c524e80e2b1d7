#include "nn/ref/ref.h"

#include <math.h>

/* Gaussian k at distance d. */
static double gaussian(const struct wl_filter_args *a, double d, int64_t k)
{
    const double apart = a->cutoff / (double)(a->gaussians - 1), off = d / apart - (double)k;
    return exp(-off * off / 2);
}

/* What a pair's features are multiplied with on their way through the cutoff. */
static double cut(const struct wl_filter_args *a, double d)
{
    const double c = cos(M_PI * d / (2 * a->cutoff));
    return c * c;
}

/* Input of the softplus of filter feature j. */
static double hidden_in(const struct wl_filter_args *a, double d, int64_t j)
{
    double u = (double)a->b0[j];
    for (int64_t k = 0; k < a->gaussians; k++) u += (double)a->w0[j * a->gaussians + k] * gaussian(a, d, k);
    return u;
}

/* The filter of pair p; hidden [f] is left. */
static void filter_of(const struct wl_filter_args *a, int64_t p, double *hidden, double *filter)
{
    const double d = (double)a->distance[p];
    for (int64_t j = 0; j < a->f; j++) hidden[j] = wl_ref_activate(WL_ACT_SOFTPLUS, hidden_in(a, d, j));
    for (int64_t i = 0; i < a->f; i++) {
        double sum = (double)a->b2[i];
        for (int64_t j = 0; j < a->f; j++) sum += (double)a->w2[i * a->f + j] * hidden[j];
        filter[i] = sum * cut(a, d);
    }
}

enum { MOST = 1024 }; /* features */

void wl_ref_filter_conv(const struct wl_filter_args *a)
{
    double hidden[MOST], filter[MOST];
    const int64_t f = a->f;
    WL_CHECK(f <= MOST);
    for (int64_t i = 0; i < a->atom_start[a->molecules] * f; i++) a->y[i] = 0;
    for (int64_t p = 0; p < a->pair_start[a->molecules]; p++) {
        const int64_t i = a->pair[2 * p] * f, j = a->pair[2 * p + 1] * f;
        filter_of(a, p, hidden, filter);
        for (int64_t k = 0; k < f; k++) {
            a->y[i + k] += (wl_real)(filter[k] * (double)a->x[j + k]);
            a->y[j + k] += (wl_real)(filter[k] * (double)a->x[i + k]);
            if (a->saved_filters) a->saved_filters[p * f + k] = (wl_real)filter[k];
        }
    }
}

/* The parameters' share of pair p; d_filter is the gradient by w2 h + b2. */
static void add_parameters(const struct wl_filter_grad *g, double d, const double *hidden, const double *d_filter)
{
    const struct wl_filter_args *a = &g->of;
    for (int64_t j = 0; j < a->f; j++) {
        double d_hidden = 0;
        for (int64_t i = 0; i < a->f; i++) {
            g->dw2[i * a->f + j] += (wl_real)(d_filter[i] * hidden[j]);
            d_hidden += d_filter[i] * (double)a->w2[i * a->f + j];
        }
        const double du = d_hidden * wl_ref_slope(WL_ACT_SOFTPLUS, hidden_in(a, d, j));
        g->db2[j] += (wl_real)d_filter[j];
        g->db0[j] += (wl_real)du;
        for (int64_t k = 0; k < a->gaussians; k++) g->dw0[j * a->gaussians + k] += (wl_real)(du * gaussian(a, d, k));
    }
}

void wl_ref_filter_conv_backward(const struct wl_filter_grad *g)
{
    const struct wl_filter_args *a = &g->of;
    const int64_t f = a->f;
    double hidden[MOST], filter[MOST], d_filter[MOST];
    WL_CHECK(f <= MOST);
    for (int64_t i = 0; i < a->atom_start[a->molecules] * f; i++) g->dx[i] = 0;
    for (int64_t i = 0; i < f * a->gaussians; i++) g->dw0[i] = 0;
    for (int64_t i = 0; i < f * f; i++) g->dw2[i] = 0;
    for (int64_t i = 0; i < f; i++) g->db0[i] = g->db2[i] = 0;
    for (int64_t p = 0; p < a->pair_start[a->molecules]; p++) {
        const int64_t i = a->pair[2 * p] * f, j = a->pair[2 * p + 1] * f;
        const double d = (double)a->distance[p];
        filter_of(a, p, hidden, filter);
        for (int64_t k = 0; k < f; k++) {
            const double to_i = (double)g->dy[i + k], to_j = (double)g->dy[j + k];
            g->dx[j + k] += (wl_real)(filter[k] * to_i);
            g->dx[i + k] += (wl_real)(filter[k] * to_j);
            d_filter[k] = cut(a, d) * (to_i * (double)a->x[j + k] + to_j * (double)a->x[i + k]);
        }
        add_parameters(g, d, hidden, d_filter);
    }
}
