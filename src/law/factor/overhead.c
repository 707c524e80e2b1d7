/* The physical alternative to a changed exponent: one overhead c for all levels, and work at the speed of each,
 * ln t = ln(W(level)/N + c). Slower work with the same overhead raises the exponent by itself. */
#include "law/factor/overhead.h"

#include "law/fit/models.h"

#include <math.h>

struct data {
    const double *workers, *y;
    const size_t *slot; /* [n] which W */
    size_t n, levels;
};

/* theta: ln W of each level, then ln c. */
static void residuals(const double *theta, double *residual, double *jacobian, void *opaque)
{
    const struct data *d = opaque;
    double c = exp(theta[d->levels]);
    for (size_t i = 0; i < d->n; i++) {
        double work = exp(theta[d->slot[i]]) / d->workers[i], t = work + c;
        residual[i] = log(t) - d->y[i];
        for (size_t j = 0; jacobian && j < d->levels; j++) jacobian[i + j * d->n] = j == d->slot[i] ? work / t : 0;
        if (jacobian) jacobian[i + d->levels * d->n] = c / t;
    }
}

/* Starts from shares of the first time of each level that do not scale. */
static bool fit_best(struct wl_nls *best, const struct data *d, struct wl_arena *a)
{
    static const double shares[] = { 0.3, 0.1, 0.03, 0.01, 0.003 };
    struct wl_nls_problem problem = { d->n, d->levels + 1, residuals, (void *)d };
    double *theta = wl_new_array(a, double, d->levels + 1);
    bool found = false;
    for (size_t s = 0; s < WL_COUNT(shares); s++) {
        double min_y = INFINITY;
        for (size_t i = d->n; i-- > 0;) { /* the smallest worker count of each level is its first and stays */
            theta[d->slot[i]] = d->y[i] + log(d->workers[i] * (1 - shares[s]));
            min_y = fmin(min_y, d->y[i]);
        }
        theta[d->levels] = min_y + log(shares[s]);
        struct wl_nls fit;
        if (wl_nls_fit(&fit, &problem, theta, a, NULL) || !isfinite(fit.sse)) continue;
        if (!found || fit.sse < best->sse) *best = fit;
        found = true;
    }
    return found;
}

/* Is c below 1e-4 of the time at every point? Then the curve is W/N, and c an artefact. */
static bool is_negligible(const struct data *d, double c)
{
    for (size_t i = 0; i < d->n; i++)
        if (c > 1e-4 * exp(d->y[i])) return false;
    return true;
}

static const char *unsuitable_reason(const struct wl_factor_group *g, enum wl_law_response response)
{
    if (response != WL_LAW_TIME) return "W/N + c describes time, not energy";
    if (g->scaling == WL_SCALING_WEAK || g->scaling == WL_SCALING_MIXED)
        return "W/N + c needs the same work at every worker count";
    return NULL;
}

void wl_factor_fit_overhead(struct wl_factor_group *g, enum wl_law_response response, struct wl_arena *a)
{
    struct wl_factor_overhead *out = &g->overhead;
    size_t n = 0, slots = 0;
    *out = (struct wl_factor_overhead) { .c = NAN, .c_se = NAN, .sse = NAN, .aicc = NAN };
    out->w = wl_new_array(a, double, g->n_levels);
    out->w_se = wl_new_array(a, double, g->n_levels);
    for (size_t l = 0; l < g->n_levels; l++) {
        out->w[l] = out->w_se[l] = NAN;
        n += g->levels[l].law.n_runs;
    }
    if ((out->reason = unsuitable_reason(g, response))) return;
    double *workers = wl_new_array(a, double, n), *y = wl_new_array(a, double, n);
    size_t *slot = wl_new_array(a, size_t, n);
    n = 0;
    for (size_t l = 0; l < g->n_levels; l++) {
        const struct wl_law_group *law = &g->levels[l].law;
        if (g->levels[l].reason) continue;
        for (size_t i = 0; i < law->n_runs; i++, n++)
            workers[n] = law->runs[i].workers, y[n] = law->runs[i].y, slot[n] = slots;
        slots++;
    }
    struct data d = { workers, y, slot, n, slots };
    struct wl_nls fit;
    if (n <= slots + 1 || !fit_best(&fit, &d, a)) {
        out->reason = n <= slots + 1 ? "more parameters than runs" : "the fit does not converge from any start";
        return;
    }
    slots = 0;
    for (size_t l = 0; l < g->n_levels; l++) {
        if (g->levels[l].reason) continue;
        out->w[l] = exp(fit.theta[slots]);
        out->w_se[l] = out->w[l] * fit.se[slots++];
    }
    out->c = exp(fit.theta[d.levels]);
    out->c_se = out->c * fit.se[d.levels];
    out->sse = fit.sse;
    out->aicc = wl_law_aicc(fit.sse, (double)n, (double)d.levels + 1);
    if (is_negligible(&d, out->c)) out->reason = "c is 0 within rounding: time is work divided by workers";
}
