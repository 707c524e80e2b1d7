#include "nn/lowering/filter_table.h"
#include "nn/ref/ref.h"

enum { MOST = 1024 }; /* features */

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

/* The two layers at a distance: `filter` [f] is before the cutoff; hidden [f] is left. */
static void layers(const struct wl_filter_args *a, double d, double *hidden, double *filter)
{
    for (int64_t j = 0; j < a->f; j++) hidden[j] = wl_ref_activate(WL_ACT_SOFTPLUS, hidden_in(a, d, j));
    for (int64_t i = 0; i < a->f; i++) {
        filter[i] = (double)a->b2[i];
        for (int64_t j = 0; j < a->f; j++) filter[i] += (double)a->w2[i * a->f + j] * hidden[j];
    }
}

/* The parameters' share of what is at a distance; d_filter is the gradient by `filter` of `layers`. */
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

/* ---- the table (lowering/filter_table.h) ---- */

struct table {
    struct wl_filter_table of;
    wl_real *filters, *hidden, *slopes, *gradient; /* [nodes,f] each */
};

size_t wl_ref_filter_scratch(const struct wl_filter_args *shape, bool backward)
{
    return shape->exact ? 0 : (size_t)((backward ? 4 : 3) * wl_filter_table_most(shape->gaussians) * shape->f);
}

static void fill(const struct wl_filter_args *a, const struct table *t)
{
    double hidden[MOST], filter[MOST];
    for (int64_t k = 0; k < t->of.nodes; k++) {
        const double d = wl_filter_node(&t->of, k);
        layers(a, d, hidden, filter);
        for (int64_t j = 0; j < a->f; j++) {
            t->filters[k * a->f + j] = (wl_real)filter[j];
            t->hidden[k * a->f + j] = (wl_real)hidden[j];
            t->slopes[k * a->f + j] = (wl_real)wl_ref_slope(WL_ACT_SOFTPLUS, hidden_in(a, d, j));
        }
    }
}

static bool is_smooth(const wl_real *rows, int64_t nodes, int64_t f)
{
    static const double binomial[WL_FILTER_TAPS + 1] = { 1, -6, 15, -20, 15, -6, 1 };
    struct wl_filter_roughness r = { 0 };
    for (int64_t k = 0; k < nodes; k++) {
        struct wl_filter_roughness of = { 0 };
        for (int64_t j = 0; j < f; j++) {
            double difference = 0;
            for (int64_t i = 0; i <= WL_FILTER_TAPS && k + WL_FILTER_TAPS < nodes; i++)
                difference += binomial[i] * (double)rows[(k + i) * f + j];
            of.largest += difference * difference;
            of.size += (double)rows[k * f + j] * (double)rows[k * f + j];
        }
        r = wl_filter_rougher(r, of);
    }
    return wl_filter_smooth(r, nodes);
}

/* In a->scratch. Without nodes: the layers run on pairs. */
static struct table table_for(const struct wl_filter_args *a)
{
    const int64_t room = wl_filter_table_most(a->gaussians) * a->f;
    struct table t = { .filters = a->scratch };
    for (int64_t cells = WL_FILTER_COARSEST; cells <= WL_FILTER_FINEST && !a->exact; cells *= 2) {
        t.of = wl_filter_table_of(a, cells);
        if (t.of.nodes > a->pair_start[a->molecules]) break;
        t.hidden = t.filters + room, t.slopes = t.hidden + room, t.gradient = t.slopes + room;
        fill(a, &t);
        const wl_real *const rows[] = { t.filters, t.hidden, t.slopes };
        int smooth = 0;
        while (smooth < 3 && is_smooth(rows[smooth], t.of.nodes, a->f)) smooth++;
        if (smooth == 3) return t;
    }
    return (struct table) { 0 };
}

/* Lagrange's weights of six nodes around a distance, and the first of the nodes. */
static int64_t taps(const struct table *t, double d, double w[WL_FILTER_TAPS])
{
    const double at = d * t->of.per_length, last = (double)(t->of.nodes - WL_FILTER_TAPS);
    const int64_t c = (int64_t)(at > 0 ? at < last ? at : last : 0);
    const double u = at - (double)c;
    for (int i = 0; i < WL_FILTER_TAPS; i++) {
        w[i] = 1;
        for (int k = 0; k < WL_FILTER_TAPS; k++)
            if (k != i) w[i] *= (u + WL_FILTER_BEFORE - k) / (i - k);
    }
    return c;
}

/* ---- both passes ---- */

/* The filter of pair p before its cutoff; of a table too. `hidden` [f] is left where there is none. */
static void filter_of(const struct wl_filter_args *a, const struct table *t, int64_t p, double *hidden, double *filter)
{
    double w[WL_FILTER_TAPS];
    if (!t->of.nodes) {
        layers(a, (double)a->distance[p], hidden, filter);
        return;
    }
    const wl_real *rows = t->filters + taps(t, (double)a->distance[p], w) * a->f;
    for (int64_t j = 0; j < a->f; j++) {
        filter[j] = 0;
        for (int k = 0; k < WL_FILTER_TAPS; k++) filter[j] += w[k] * (double)rows[k * a->f + j];
    }
}

void wl_ref_filter_conv(const struct wl_filter_args *a)
{
    double hidden[MOST], filter[MOST];
    const int64_t f = a->f;
    WL_CHECK(f <= MOST);
    const struct table t = table_for(a);
    for (int64_t i = 0; i < a->atom_start[a->molecules] * f; i++) a->y[i] = 0;
    for (int64_t p = 0; p < a->pair_start[a->molecules]; p++) {
        const int64_t i = a->pair[2 * p] * f, j = a->pair[2 * p + 1] * f;
        filter_of(a, &t, p, hidden, filter);
        for (int64_t k = 0; k < f; k++) {
            const double w = filter[k] * cut(a, (double)a->distance[p]);
            a->y[i + k] += (wl_real)(w * (double)a->x[j + k]);
            a->y[j + k] += (wl_real)(w * (double)a->x[i + k]);
            if (a->saved_filters) a->saved_filters[p * f + k] = (wl_real)w;
        }
    }
}

static void add_to_nodes(const struct wl_filter_args *a, const struct table *t, double d, const double *d_filter)
{
    double w[WL_FILTER_TAPS];
    wl_real *to = t->gradient + taps(t, d, w) * a->f;
    for (int64_t j = 0; j < a->f; j++)
        for (int k = 0; k < WL_FILTER_TAPS; k++) to[k * a->f + j] += (wl_real)(w[k] * d_filter[j]);
}

static void nodes_backward(const struct wl_filter_grad *g, const struct table *t)
{
    double hidden[MOST], filter[MOST], d_filter[MOST];
    for (int64_t k = 0; k < t->of.nodes; k++) {
        const double d = wl_filter_node(&t->of, k);
        layers(&g->of, d, hidden, filter);
        for (int64_t j = 0; j < g->of.f; j++) d_filter[j] = (double)t->gradient[k * g->of.f + j];
        add_parameters(g, d, hidden, d_filter);
    }
}

static void clear(const struct wl_filter_grad *g, const struct table *t)
{
    const struct wl_filter_args *a = &g->of;
    const int64_t f = a->f;
    for (int64_t i = 0; i < a->atom_start[a->molecules] * f; i++) g->dx[i] = 0;
    for (int64_t i = 0; i < f * a->gaussians; i++) g->dw0[i] = 0;
    for (int64_t i = 0; i < f * f; i++) g->dw2[i] = 0;
    for (int64_t i = 0; i < f; i++) g->db0[i] = g->db2[i] = 0;
    for (int64_t i = 0; i < t->of.nodes * f; i++) t->gradient[i] = 0;
}

void wl_ref_filter_conv_backward(const struct wl_filter_grad *g)
{
    const struct wl_filter_args *a = &g->of;
    const int64_t f = a->f;
    double hidden[MOST], filter[MOST], d_filter[MOST];
    WL_CHECK(f <= MOST);
    const struct table t = table_for(a);
    clear(g, &t);
    for (int64_t p = 0; p < a->pair_start[a->molecules]; p++) {
        const int64_t i = a->pair[2 * p] * f, j = a->pair[2 * p + 1] * f;
        const double d = (double)a->distance[p], c = cut(a, d);
        filter_of(a, &t, p, hidden, filter);
        for (int64_t k = 0; k < f; k++) {
            const double to_i = (double)g->dy[i + k], to_j = (double)g->dy[j + k];
            g->dx[j + k] += (wl_real)(c * filter[k] * to_i);
            g->dx[i + k] += (wl_real)(c * filter[k] * to_j);
            d_filter[k] = c * (to_i * (double)a->x[j + k] + to_j * (double)a->x[i + k]);
        }
        if (t.of.nodes)
            add_to_nodes(a, &t, d, d_filter);
        else
            add_parameters(g, d, hidden, d_filter);
    }
    nodes_backward(g, &t);
}
