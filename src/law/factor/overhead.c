/* The physical alternative to a changed exponent: one overhead c for all levels, and work at the speed of each,
 * ln t = ln(W(level)/N + c). Slower work with the same overhead raises the exponent by itself. */
#include "law/factor/overhead.h"

#include "law/fit/models.h"

#include <math.h>

/* Means of the worker counts of all compared levels, weighted by their runs: the squares of runs about those means are
 * the same for any curve. */
struct data {
    double *workers, *y, *root_weight; /* [n] y = mean of ln t; root of the number of runs */
    size_t *slot;                      /* [n] which W */
    size_t n, levels, runs;
    double squares; /* of runs about their means */
};

/* Runs of a law are in the order of their worker counts. */
static void add_level(struct data *d, const struct wl_law_group *law)
{
    for (size_t c = 0, first = 0; c < law->n_configs; first += law->configs[c++].runs, d->n++) {
        const size_t runs = law->configs[c].runs;
        double mean = 0;
        for (size_t i = first; i < first + runs; i++) mean += law->runs[i].y / (double)runs;
        for (size_t i = first; i < first + runs; i++) d->squares += (law->runs[i].y - mean) * (law->runs[i].y - mean);
        d->workers[d->n] = law->configs[c].workers;
        d->y[d->n] = mean;
        d->root_weight[d->n] = sqrt((double)runs);
        d->slot[d->n] = d->levels;
    }
    d->runs += law->n_runs;
    d->levels++;
}

static struct data data_of(const struct wl_factor_group *g, struct wl_arena *a)
{
    size_t n = 0;
    for (size_t l = 0; l < g->n_levels; l++) n += g->levels[l].law.n_configs;
    struct data d = { wl_new_array(a, double, n), wl_new_array(a, double, n), wl_new_array(a, double, n),
                      wl_new_array(a, size_t, n) };
    for (size_t l = 0; l < g->n_levels; l++)
        if (!g->levels[l].reason) add_level(&d, &g->levels[l].law);
    return d;
}

/* theta: ln W of each level, then ln c. */
static void residuals(const double *theta, double *residual, double *jacobian, void *opaque)
{
    const struct data *d = opaque;
    double c = exp(theta[d->levels]);
    for (size_t i = 0; i < d->n; i++) {
        const double work = exp(theta[d->slot[i]]) / d->workers[i], t = work + c, root = d->root_weight[i];
        residual[i] = root * (log(t) - d->y[i]);
        for (size_t j = 0; jacobian && j < d->levels; j++)
            jacobian[i + j * d->n] = j == d->slot[i] ? root * work / t : 0;
        if (jacobian) jacobian[i + d->levels * d->n] = root * c / t;
    }
}

/* Starts from shares of the first time of each level that do not scale. */
static bool fit_best(struct wl_nls *best, const struct data *d, struct wl_arena *a)
{
    static const double shares[] = { 0.3, 0.1, 0.03, 0.01, 0.003 };
    struct wl_nls_problem problem = { .n = d->n,
                                      .k = d->levels + 1,
                                      .replicate_squares = d->squares,
                                      .replicate_df = (double)(d->runs - d->n),
                                      .residual_fn = residuals,
                                      .data = (void *)d };
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

static void describe(struct wl_factor_overhead *out, const struct wl_factor_group *g, const struct data *d,
                     const struct wl_nls *fit)
{
    for (size_t l = 0, slot = 0; l < g->n_levels; l++) {
        if (g->levels[l].reason) continue;
        out->w[l] = exp(fit->theta[slot]);
        out->w_se[l] = out->w[l] * fit->se[slot++];
    }
    out->c = exp(fit->theta[d->levels]);
    out->c_se = out->c * fit->se[d->levels];
    out->sse = fit->sse;
    out->aicc = wl_law_aicc(fit->sse, (double)d->runs, (double)d->levels + 1);
    if (is_negligible(d, out->c)) out->reason = "c is 0 within rounding: time is work divided by workers";
}

void wl_factor_fit_overhead(struct wl_factor_group *g, enum wl_law_response response, struct wl_arena *a)
{
    struct wl_factor_overhead *out = &g->overhead;
    *out = (struct wl_factor_overhead) { .c = NAN, .c_se = NAN, .sse = NAN, .aicc = NAN };
    out->w = wl_new_array(a, double, g->n_levels);
    out->w_se = wl_new_array(a, double, g->n_levels);
    for (size_t l = 0; l < g->n_levels; l++) out->w[l] = out->w_se[l] = NAN;
    if ((out->reason = unsuitable_reason(g, response))) return;
    struct wl_arena *scratch = wl_arena_new(a);
    const struct data d = data_of(g, scratch);
    struct wl_nls fit;
    if (d.runs <= d.levels + 1)
        out->reason = "more parameters than runs";
    else if (!fit_best(&fit, &d, scratch))
        out->reason = "the fit does not converge from any start";
    else
        describe(out, g, &d, &fit);
    wl_arena_free(scratch);
}
