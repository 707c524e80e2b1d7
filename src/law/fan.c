#include "law/fan.h"

#include <math.h>

static void fill(struct wl_law_fan *f, const struct wl_law_posterior *p, const struct wl_hier_predictions *at, size_t i,
                 struct wl_arena *scratch)
{
    const double workers = f->workers[i];
    const struct wl_hier_intervals v = wl_hier_intervals(at, i, WL_HIER_CONFIG, WL_LAW_CONFIDENCE, scratch);
    const struct wl_estimate run = wl_law_posterior_estimate(p, &v.of[WL_HIER_RUN], workers),
                             config = wl_law_posterior_estimate(p, &v.of[WL_HIER_CONFIG], workers);
    f->value[i] = run.value;
    f->lo[i] = run.lo;
    f->hi[i] = run.hi;
    f->config_lo[i] = config.lo;
    f->config_hi[i] = config.hi;
    for (int k = 0; k < WL_HIER_FAMILIES; k++) {
        if (!f->family[k]) continue;
        const struct wl_hier_mixture m = wl_hier_prediction(at, i, WL_HIER_CURVE, k, scratch);
        f->family[k][i] = wl_law_posterior_response(p, wl_hier_quantile(&m, 0.5), workers);
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
