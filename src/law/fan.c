#include "law/fan.h"

#include <math.h>

static void fill(struct wl_law_fan *f, const struct wl_law_posterior *p, const struct wl_hier_predictions *at, size_t i,
                 struct wl_arena *scratch)
{
    const double lo = (1 - WL_LAW_CONFIDENCE) / 2, hi = (1 + WL_LAW_CONFIDENCE) / 2, workers = f->workers[i];
    struct wl_hier_mixture m = wl_hier_prediction(at, i, WL_HIER_RUN, WL_HIER_ALL, scratch);
    f->value[i] = wl_law_posterior_response(p, &m, workers, 0.5);
    f->lo[i] = wl_law_posterior_response(p, &m, workers, lo);
    f->hi[i] = wl_law_posterior_response(p, &m, workers, hi);
    m = wl_hier_prediction(at, i, WL_HIER_CONFIG, WL_HIER_ALL, scratch);
    f->config_lo[i] = wl_law_posterior_response(p, &m, workers, lo);
    f->config_hi[i] = wl_law_posterior_response(p, &m, workers, hi);
    for (int k = 0; k < WL_HIER_FAMILIES; k++) {
        if (!f->family[k]) continue;
        m = wl_hier_prediction(at, i, WL_HIER_CURVE, k, scratch);
        f->family[k][i] = wl_law_posterior_response(p, &m, workers, 0.5);
    }
}

struct wl_law_fan wl_law_fan(const struct wl_law_posterior *p, double from, double to, size_t n, double least_weight,
                             struct wl_arena *a)
{
    struct wl_law_fan f = { .n = n };
    struct wl_arena *scratch = wl_arena_new(a);
    double **const columns[] = { &f.workers, &f.value, &f.lo, &f.hi, &f.config_lo, &f.config_hi };
    for (size_t i = 0; i < WL_COUNT(columns); i++) *columns[i] = wl_new_array(a, double, n);
    for (size_t k = 0; k < WL_HIER_FAMILIES; k++)
        if (p->fit.weight[k] >= least_weight && !p->fit.reason[k]) f.family[k] = wl_new_array(a, double, n);
    for (size_t i = 0; i < n; i++) f.workers[i] = from * pow(to / from, (double)i / (double)(n - 1));
    const struct wl_hier_predictions *at = wl_hier_predictions_new(&p->fit, f.workers, n, scratch);
    for (size_t i = 0; i < n; i++) {
        struct wl_arena *point = wl_arena_new(scratch);
        fill(&f, p, at, i, point);
        wl_arena_free(point);
    }
    wl_arena_free(scratch);
    return f;
}
