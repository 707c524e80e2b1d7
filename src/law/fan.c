#include "law/fan.h"

#include <math.h>

static double response(const struct wl_law_posterior *p, const struct wl_hier_mixture *m, double workers, double level)
{
    return exp(wl_hier_quantile(m, level) + p->growth * log(workers));
}

static void fill(struct wl_law_fan *f, const struct wl_law_posterior *p, size_t i, struct wl_arena *scratch)
{
    const double lo = (1 - WL_LAW_CONFIDENCE) / 2, hi = (1 + WL_LAW_CONFIDENCE) / 2, workers = f->workers[i];
    struct wl_hier_query query = { workers, WL_HIER_RUN, WL_HIER_ALL, false };
    struct wl_hier_mixture m = wl_hier_predict(&p->fit, &query, scratch);
    f->value[i] = response(p, &m, workers, 0.5);
    f->lo[i] = response(p, &m, workers, lo);
    f->hi[i] = response(p, &m, workers, hi);
    query.what = WL_HIER_CONFIG;
    m = wl_hier_predict(&p->fit, &query, scratch);
    f->config_lo[i] = response(p, &m, workers, lo);
    f->config_hi[i] = response(p, &m, workers, hi);
    query.what = WL_HIER_CURVE;
    for (size_t k = 0; k < WL_HIER_FAMILIES; k++) {
        if (!f->family[k]) continue;
        query.family = (int)k;
        m = wl_hier_predict(&p->fit, &query, scratch);
        f->family[k][i] = response(p, &m, workers, 0.5);
    }
}

struct wl_law_fan wl_law_fan(const struct wl_law_posterior *p, double from, double to, size_t n, double least_weight,
                             struct wl_arena *a)
{
    struct wl_law_fan f = { .n = n };
    double **const columns[] = { &f.workers, &f.value, &f.lo, &f.hi, &f.config_lo, &f.config_hi };
    for (size_t i = 0; i < WL_COUNT(columns); i++) *columns[i] = wl_new_array(a, double, n);
    for (size_t k = 0; k < WL_HIER_FAMILIES; k++)
        if (p->fit.weight[k] >= least_weight && !p->fit.reason[k]) f.family[k] = wl_new_array(a, double, n);
    for (size_t i = 0; i < n; i++) {
        struct wl_arena *scratch = wl_arena_new(a);
        f.workers[i] = from * pow(to / from, (double)i / (double)(n - 1));
        fill(&f, p, i, scratch);
        wl_arena_free(scratch);
    }
    return f;
}
