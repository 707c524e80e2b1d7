#include "law/energy/extrapolate.h"

#include <math.h>

static const struct wl_estimate unknown = { NAN, NAN, NAN };

static struct wl_estimate scaled(struct wl_estimate v, double by)
{
    return (struct wl_estimate) { v.value * by, v.lo * by, v.hi * by };
}

static int extrapolate_rates(struct wl_energy_extrapolation *x, const double *workers, const struct wl_hier_prior *time,
                             const struct wl_hier_prior *power, struct wl_arena *a, struct wl_err *e)
{
    struct wl_energy_parts parts;
    int rc = wl_energy_parts_of_group(x->group, time, power, &parts, a, e);
    if (rc) return rc;
    x->rate_refused = parts.reason;
    if (parts.reason) return 0;
    const struct wl_energy_parts_forecast *at = wl_energy_parts_forecasts(&parts, workers, x->n, a);
    for (size_t i = 0; i < x->n; i++) x->at[i].kwh_per_worker_h = scaled(at[i].power_w, 1e-3);
    return 0;
}

/* ---- to a target ---- */

/* Runs of a target as observations of ln(E/N), in order of workers; refused: why not. */
static struct wl_hier_run *target_runs(const struct wl_target_group *t, const char **refused, struct wl_arena *a)
{
    struct wl_hier_run *v = wl_new_array(a, struct wl_hier_run, t->n_runs);
    for (size_t i = 0; i < t->n_runs; i++) {
        const struct wl_target_run *r = &t->runs[i];
        if (!r->reached)
            *refused = wl_strf(a, "a run with %g worker%s did not reach the target: the others would give too little",
                               r->workers, r->workers == 1 ? "" : "s");
        else if (!(r->energy_j > 0))
            *refused = wl_strf(a, "a run with %g worker%s has no energy in some epoch", r->workers,
                               r->workers == 1 ? "" : "s");
        if (*refused) return v;
        v[i] = (struct wl_hier_run) { .workers = r->workers, .epochs = 1, .mean = log(r->energy_j / r->workers) };
    }
    if (t->n < 2) *refused = "one worker count: measure another";
    return v;
}

static struct wl_estimate estimate_at(const struct wl_hier_predictions *at, size_t i, double workers,
                                      struct wl_arena *a)
{
    const struct wl_hier_mixture m = wl_hier_prediction(at, i, WL_HIER_RUN, WL_HIER_ALL, a);
    const struct wl_estimate v = { exp(wl_hier_quantile(&m, 0.5)),
                                   exp(wl_hier_quantile(&m, (1 - WL_LAW_CONFIDENCE) / 2)),
                                   exp(wl_hier_quantile(&m, (1 + WL_LAW_CONFIDENCE) / 2)) };
    return scaled(v, workers);
}

static int extrapolate_target(struct wl_energy_extrapolation *x, const struct wl_target_group *t, const double *workers,
                              const struct wl_hier_prior *prior, struct wl_arena *a, struct wl_err *e)
{
    struct wl_hier_data data;
    struct wl_hier_fit fit;
    const struct wl_hier_run *runs = target_runs(t, &x->target_refused, a);
    if (x->target_refused) return 0;
    int rc = wl_hier_reduce(runs, t->n_runs, &data, a, e);
    if (rc == 0) rc = wl_hier_fit(&data, prior, &fit, a, e);
    if (rc) return rc;
    const struct wl_hier_predictions *at = wl_hier_predictions_new(&fit, workers, x->n, a);
    for (size_t i = 0; i < x->n; i++) x->at[i].target_j = estimate_at(at, i, workers[i], a);
    return 0;
}

int wl_energy_extrapolate(const struct wl_law_group *group, const struct wl_target_group *target, const double *workers,
                          size_t n, const struct wl_hier_prior *energy, const struct wl_hier_prior *power,
                          struct wl_energy_extrapolation *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_law_posterior posterior;
    *out = (struct wl_energy_extrapolation) { .group = group };
    int rc = wl_law_posterior(group, WL_LAW_ENERGY, energy, false, &posterior, a, e);
    out->refused = posterior.refusal;
    if (rc || out->refused) return rc;
    out->at = wl_new_array(a, struct wl_energy_at, n);
    out->n = n;
    const struct wl_law_forecast *epochs = wl_law_forecasts(&posterior, workers, n, a);
    for (size_t i = 0; i < n; i++) out->at[i] = (struct wl_energy_at) { epochs[i], unknown, unknown };
    rc = extrapolate_rates(out, workers, energy, power, a, e);
    return rc || !target ? rc : extrapolate_target(out, target, workers, energy, a, e);
}
