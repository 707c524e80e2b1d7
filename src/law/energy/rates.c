#include "law/energy/rates.h"

#include <math.h>

size_t wl_energy_law_config_means(const struct wl_energy_law_group *g, double *x, double *y, struct wl_arena *a)
{
    size_t *runs = wl_new_array(a, size_t, g->n_configs), n = 0;
    size_t *slot = wl_new_array(a, size_t, g->n_configs); /* 1 + where a configuration is; 0: not seen yet */
    for (size_t i = 0; i < g->n; i++) {
        const size_t c = g->runs[i].config;
        if (!slot[c]) slot[c] = ++n;
        const size_t k = slot[c] - 1; /* <= i: nothing that is still to be read is overwritten */
        const double weight = 1 / (double)++runs[k];
        x[k] = runs[k] == 1 ? x[i] : x[k] + weight * (x[i] - x[k]);
        y[k] = runs[k] == 1 ? y[i] : y[k] + weight * (y[i] - y[k]);
    }
    return n;
}

/* Worker-hours x and kWh y of a group's configurations for the same work. */
struct points {
    double *x, *y;
    size_t n;
    double sxx, sxy, syy; /* about the means */
};

static bool has_samples(const struct wl_energy_law_group *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (!(g->runs[i].samples_per_worker_h > 0) || isinf(g->runs[i].samples_per_worker_h)) return false;
    return true;
}

static struct points points_of(const struct wl_energy_law_group *g, struct wl_arena *a)
{
    struct points p = { wl_new_array(a, double, g->n), wl_new_array(a, double, g->n), 0, 0, 0, 0 };
    const bool per_sample = has_samples(g);
    for (size_t i = 0; i < g->n; i++) {
        const struct wl_energy_law_run *run = &g->runs[i];
        const double work = per_sample ? run->samples_per_worker_h * run->worker_h : 1;
        p.x[i] = run->worker_h / work;
        p.y[i] = run->kwh / work;
    }
    p.n = wl_energy_law_config_means(g, p.x, p.y, a);
    const double hours = wl_mean(p.x, p.n), mx = 1, my = wl_mean(p.y, p.n) / hours;
    for (size_t i = 0; i < p.n; i++) {
        const double x = p.x[i] / hours - mx, y = p.y[i] / hours - my;
        p.sxx += x * x;
        p.sxy += x * y;
        p.syy += y * y;
    }
    return p;
}

static bool has_line(const struct points *p) { return p->n >= 2 && p->sxx > 1e-20 * (double)p->n; }

void wl_energy_law_compare_rates(struct wl_energy_law_result *r, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    double n = 0, groups = 0, separate = 0, sxx = 0, sxy = 0, syy = 0;
    r->f = r->df1 = r->df2 = r->p = NAN;
    for (size_t i = 0; i < r->n; i++) {
        const struct points p = points_of(&r->groups[i], scratch);
        if (!has_line(&p)) continue;
        groups++;
        n += (double)p.n;
        separate += fmax(p.syy - p.sxy * p.sxy / p.sxx, 0);
        sxx += p.sxx;
        sxy += p.sxy;
        syy += p.syy;
    }
    wl_arena_free(scratch);
    if (groups < 2) {
        r->reason = "fewer than two groups with a line";
        return;
    }
    const double common = syy - sxy * sxy / sxx;
    r->df1 = groups - 1;
    r->df2 = n - 2 * groups;
    if (!(r->df2 > 0) || !(separate > 1e-13 * syy)) {
        r->reason =
            r->df2 > 0 ? "the runs are on their lines within rounding error" : "the lines leave no degrees of freedom";
        return;
    }
    r->f = fmax(common - separate, 0) / r->df1 / (separate / r->df2);
    r->p = wl_f_sf(r->f, r->df1, r->df2);
}
