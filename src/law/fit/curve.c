/* The law at a worker count, with intervals. */
#include "law/fit/fit.h"

#include <math.h>

struct wl_law_point wl_law_at(const struct wl_law_group *g, double workers)
{
    struct wl_law_point out = { workers, NAN, NAN, NAN, NAN, NAN };
    if (!g->law || !(workers > 0)) return out;
    double x = log(workers), extra = 0;
    struct wl_ols_prediction p = wl_ols_predict(&g->law->line, &x, WL_LAW_CONFIDENCE);
    if (g->law == &g->estimates[WL_LAW_CONFIG_MEANS] && g->lack_of_fit.df2 > 0) {
        /* Scatter about a line through means is that of worker counts and a share 1/n of that between runs; one
         * more run carries the rest of the latter. n: the harmonic mean of runs at a worker count. */
        double shares = 0;
        for (size_t i = 0; i < g->n_configs; i++) shares += 1 / (double)g->configs[i].runs;
        extra = g->lack_of_fit.ss_pure / g->lack_of_fit.df2 * (1 - shares / (double)g->n_configs);
    }
    double half = (p.run_hi - p.run_lo) / 2 * sqrt(1 + (extra > 0 ? extra / (p.se_run * p.se_run) : 0));
    out.value = exp(p.fit);
    out.curve_lo = exp(p.mean_lo);
    out.curve_hi = exp(p.mean_hi);
    out.run_lo = exp(p.fit - half);
    out.run_hi = exp(p.fit + half);
    return out;
}

struct wl_law_point *wl_law_curve(const struct wl_law_group *g, size_t n, struct wl_arena *a)
{
    if (!g->law || n < 2) return NULL;
    struct wl_law_point *points = wl_new_array(a, struct wl_law_point, n);
    double first = g->configs[0].workers, last = g->configs[g->n_configs - 1].workers;
    for (size_t i = 0; i < n; i++) points[i] = wl_law_at(g, first * pow(last / first, (double)i / (double)(n - 1)));
    return points;
}
