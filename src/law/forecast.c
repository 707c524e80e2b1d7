#include "law/forecast.h"

#include <math.h>

enum { BLOCK = 64, MAX_CANDIDATES = 24, BEYOND = 2 }; /* worker counts of one visit: of forecasts, to measure */

/* ---- the posterior of a group ---- */

static double growth_of(enum wl_law_scaling scaling, enum wl_law_response response)
{
    return (scaling == WL_SCALING_WEAK ? 1 : 0) + (response == WL_LAW_ENERGY ? 1 : 0);
}

static double sum_of_squares(const struct wl_law_run *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->epochs; i++) sum += (r->epoch_y[i] - r->y) * (r->epoch_y[i] - r->y);
    return sum;
}

/* Runs of a group; the configuration is the worker count. */
static struct wl_hier_run *runs_of(const struct wl_law_group *g, double growth, struct wl_arena *a)
{
    struct wl_hier_run *v = wl_new_array(a, struct wl_hier_run, g->n_runs);
    for (size_t i = 0; i < g->n_runs; i++) {
        const struct wl_law_run *r = &g->runs[i];
        v[i] = (struct wl_hier_run) { .workers = r->workers,
                                      .epochs = r->epochs,
                                      .mean = r->y - growth * log(r->workers),
                                      .sum_squares = sum_of_squares(r) };
    }
    return v;
}

int wl_law_posterior(const struct wl_law_group *g, enum wl_law_response response, const struct wl_hier_prior *prior,
                     bool force, struct wl_law_posterior *out, struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_law_posterior) { .growth = growth_of(g->scaling, response) };
    if (g->n_configs < 2) {
        out->refusal = g->n_configs ? "one worker count: measure another" : g->no_law_reason;
        return 0;
    }
    if (g->scaling == WL_SCALING_MIXED && !force) {
        out->refusal =
            wl_strf(a, "%s are not comparable: their %s are neither constant nor proportional to the workers",
                    wl_law_rows_name(g), g->counted);
        return 0;
    }
    if (g->scaling == WL_SCALING_MIXED)
        wl_strs_addf(a, &out->notes, "forced: %s of unlike work are taken to be alike", wl_law_rows_name(g));
    if (g->scaling == WL_SCALING_UNKNOWN)
        wl_strs_addf(a, &out->notes, "%s are not recorded in every run: all %s are taken to be the same work",
                     g->counted, wl_law_rows_name(g));
    out->data = wl_new(a, struct wl_hier_data);
    int rc = wl_hier_reduce(runs_of(g, out->growth, a), g->n_runs, out->data, a, e);
    if (!prior) prior = response == WL_LAW_ENERGY ? &wl_hier_energy_prior : &wl_hier_time_prior;
    if (rc == 0) rc = wl_hier_fit(out->data, prior, &out->fit, a, e);
    if (rc == WL_ENOENT) {
        out->refusal = wl_strdup(a, e->msg);
        rc = 0;
    }
    return rc;
}

int wl_law_posterior_of_runs(const struct wl_law_group *g, const bool *take, enum wl_law_response response,
                             struct wl_law_posterior *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_law_group part = *g;
    part.runs = wl_new_array(a, struct wl_law_run, g->n_runs);
    part.n_runs = part.n_configs = 0;
    for (size_t i = 0; i < g->n_runs; i++) {
        if (!take[i]) continue;
        part.n_configs += part.n_runs == 0 || part.runs[part.n_runs - 1].workers != g->runs[i].workers;
        part.runs[part.n_runs++] = g->runs[i];
    }
    return wl_law_posterior(&part, response, NULL, false, out, a, e);
}

/* ---- a forecast ---- */

static double range_ratio(const struct wl_hier_data *d, double workers)
{
    const double min = d->workers[0], max = d->workers[d->n_configs - 1];
    return workers > max ? workers / max : workers < min ? workers / min : 1;
}

double wl_law_posterior_response(const struct wl_law_posterior *p, double ln_response, double workers)
{
    return exp(ln_response + p->growth * log(workers));
}

struct wl_estimate wl_law_posterior_estimate(const struct wl_law_posterior *p, const struct wl_hier_interval *v,
                                             double workers)
{
    return (struct wl_estimate) { wl_law_posterior_response(p, v->median, workers),
                                  wl_law_posterior_response(p, v->lo, workers),
                                  wl_law_posterior_response(p, v->hi, workers) };
}

/* The posterior at the worker counts of forecasts and, after them, at those where another measurement is considered. */
struct view {
    const struct wl_law_posterior *p;
    const struct wl_hier_predictions *at;
    size_t n;
    double candidates[MAX_CANDIDATES + BEYOND];
    size_t n_candidates;
};

static struct wl_law_forecast_family family_at(const struct view *v, enum wl_hier_family family, size_t i,
                                               double workers, struct wl_arena *a)
{
    const struct wl_hier_fit *fit = &v->p->fit;
    struct wl_law_forecast_family f = { .name = wl_hier_family_name(family),
                                        .formula = wl_hier_family_formula(family),
                                        .prior = fit->prior->weight[family],
                                        .weight = fit->weight[family],
                                        .value = NAN,
                                        .se = NAN,
                                        .reason = fit->reason[family] };
    struct wl_hier_mixture m = wl_hier_prediction(v->at, i, WL_HIER_CONFIG, (int)family, a);
    if (!f.reason && m.n) {
        f.value = wl_law_posterior_response(v->p, wl_hier_quantile(&m, 0.5), workers);
        f.se = sqrt(wl_hier_variance(&m));
    }
    return f;
}

/* Of measured worker counts, half the smallest and twice the largest, up to that of the forecast, the one where another
 * configuration, with as many runs as the others have, would narrow the interval most. */
static void suggest(const struct view *v, size_t i, struct wl_law_forecast *f, struct wl_arena *scratch)
{
    const struct wl_hier_mixture now = wl_hier_prediction(v->at, i, WL_HIER_CONFIG, WL_HIER_ALL, scratch);
    const double sd = sqrt(wl_hier_variance(&now));
    const struct wl_hier_data *d = v->p->data;
    const double min = d->workers[0], max = d->workers[d->n_configs - 1];
    const size_t runs = (d->n_runs + d->n_configs - 1) / d->n_configs;
    f->measure_at = f->narrower = NAN;
    for (size_t k = 0; k < v->n_candidates; k++) {
        if (v->candidates[k] > max && v->candidates[k] >= f->workers) continue;
        if (v->candidates[k] < min && v->candidates[k] <= f->workers) continue;
        const double ratio = wl_hier_prediction_sd_after(v->at, i, WL_HIER_CONFIG, v->n + k, runs) / sd;
        if (isnan(f->narrower) || ratio < f->narrower) {
            f->narrower = ratio;
            f->measure_at = v->candidates[k];
        }
    }
}

/* Ends of an interval that differ by less than this are ... */
static const struct {
    double below;
    const char *verdict;
} widths[] = {
    { 1.25, "narrow" }, { 2, "usable for planning" }, { 4, "a rough guide" }, { INFINITY, "the data say little there" }
};

static const char *reach_of(const struct wl_law_forecast *f, struct wl_arena *a)
{
    const double width = f->hi / f->lo;
    size_t i = 0;
    while (width >= widths[i].below && i + 1 < WL_COUNT(widths)) i++;
    const char *where = f->ratio == 1  ? "within the measured worker counts"
                        : f->ratio > 1 ? wl_strf(a, "%.3g times the largest measured worker count", f->ratio)
                                       : wl_strf(a, "%.3g times the smallest measured worker count", f->ratio);
    return wl_strf(a, "%s; the ends of the interval differ by a factor of %.3g: %s", where, width, widths[i].verdict);
}

static struct wl_law_forecast forecast_at(const struct view *v, size_t i, double workers, struct wl_arena *a)
{
    const struct wl_law_posterior *p = v->p;
    struct wl_law_forecast f = { .workers = workers, .ratio = range_ratio(p->data, workers) };
    struct wl_arena *scratch = wl_arena_new(a);
    const struct wl_hier_intervals v95 = wl_hier_intervals(v->at, i, WL_HIER_CONFIG, WL_LAW_CONFIDENCE, scratch);
    const struct wl_estimate config = wl_law_posterior_estimate(p, &v95.of[WL_HIER_CONFIG], workers),
                             run = wl_law_posterior_estimate(p, &v95.of[WL_HIER_RUN], workers);
    f.config_lo = config.lo;
    f.config_hi = config.hi;
    f.value = run.value;
    f.lo = run.lo;
    f.hi = run.hi;
    suggest(v, i, &f, scratch);
    for (size_t k = 0; k < WL_HIER_FAMILIES; k++)
        if (p->fit.prior->weight[k] > 0) f.families[f.n_families++] = family_at(v, k, i, workers, scratch);
    f.reach = reach_of(&f, a);
    for (size_t k = 0; k < f.n_families; k++)
        if (f.families[k].reason) f.families[k].reason = wl_strdup(a, f.families[k].reason);
    wl_arena_free(scratch);
    return f;
}

/* Measured worker counts, evenly chosen where there are many, half the smallest and twice the largest. */
static void add_candidates(struct view *v)
{
    const struct wl_hier_data *d = v->p->data;
    const size_t n = d->n_configs < MAX_CANDIDATES ? d->n_configs : MAX_CANDIDATES;
    for (size_t k = 0; k < n; k++)
        v->candidates[v->n_candidates++] = d->workers[n == 1 ? 0 : k * (d->n_configs - 1) / (n - 1)];
    v->candidates[v->n_candidates++] = 2 * d->workers[d->n_configs - 1];
    if (d->workers[0] >= 2) v->candidates[v->n_candidates++] = floor(d->workers[0] / 2);
}

/* At most BLOCK worker counts. */
static void forecast_block(const struct wl_law_posterior *p, const double *workers, size_t n,
                           struct wl_law_forecast *out, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct view v = { .p = p, .n = n };
    double at[BLOCK + MAX_CANDIDATES + BEYOND];
    add_candidates(&v);
    for (size_t i = 0; i < n; i++) at[i] = workers[i];
    for (size_t k = 0; k < v.n_candidates; k++) at[n + k] = v.candidates[k];
    v.at = wl_hier_predictions_new(&p->fit, at, n + v.n_candidates, scratch);
    for (size_t i = 0; i < n; i++) out[i] = forecast_at(&v, i, workers[i], a);
    wl_arena_free(scratch);
}

struct wl_law_forecast *wl_law_forecasts(const struct wl_law_posterior *p, const double *workers, size_t n,
                                         struct wl_arena *a)
{
    struct wl_law_forecast *out = wl_new_array(a, struct wl_law_forecast, n);
    for (size_t from = 0; from < n; from += BLOCK)
        forecast_block(p, workers + from, n - from < BLOCK ? n - from : BLOCK, out + from, a);
    return out;
}

struct wl_law_forecast wl_law_forecast_at(const struct wl_law_posterior *p, double workers, struct wl_arena *a)
{
    return *wl_law_forecasts(p, &workers, 1, a);
}
