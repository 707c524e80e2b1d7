/* Forecast of the response at any worker count, by the hierarchical model (docs/adr/111). */
#ifndef WL_LAW_FORECAST_H
#define WL_LAW_FORECAST_H

#include "law/fit/fit.h"
#include "law/hier/hier.h"

/* The posterior of a group's response per unit of work: of ln t, of ln(t / N) where an epoch's work grows with the
 * workers, and of energy the same per worker. */
struct wl_law_posterior {
    struct wl_hier_data *data;
    struct wl_hier_fit fit;
    double growth;       /* exponent of N that the unit of work leaves out: 0, 1 or 2 */
    const char *refusal; /* why there is no posterior, or NULL */
    struct wl_strs notes;
};
/* prior NULL: wl_hier_time_prior, or wl_hier_energy_prior. Refused: fewer than two worker counts; epochs of unlike
 * work, unless `force`. WL_EINVAL: the prior is not one. */
int wl_law_posterior(const struct wl_law_group *g, enum wl_law_response response, const struct wl_hier_prior *prior,
                     bool force, struct wl_law_posterior *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The same of some of its runs alone: those for which take[i] is true, [g->n_runs]. */
int wl_law_posterior_of_runs(const struct wl_law_group *g, const bool *take, enum wl_law_response response,
                             struct wl_law_posterior *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* What one family says. */
struct wl_law_forecast_family {
    const char *name, *formula;
    double prior, weight; /* of the family; weights sum to 1 */
    double value;         /* median given the family; NAN: left out */
    double se;            /* sd of the logarithm of a new configuration's mean given the family */
    const char *reason;   /* why it is left out, or NULL */
};

/* The epoch of a new configuration at a worker count. */
struct wl_law_forecast {
    double workers, ratio;       /* to the measured range: N/Nmax above, N/Nmin below, 1 within */
    double value;                /* median */
    double config_lo, config_hi; /* 95 %: mean of a new configuration */
    double lo, hi;               /* 95 %: mean of one run of a new configuration */
    struct wl_law_forecast_family families[WL_HIER_FAMILIES];
    size_t n_families;
    double measure_at, narrower; /* what would narrow it most: a configuration at so many workers; interval after over
                                    before (both as sd of the logarithm). NAN: nothing measurable would */
    const char *reach;           /* how far it reaches and how much it knows, in words */
};
struct wl_law_forecast wl_law_forecast_at(const struct wl_law_posterior *p, double workers, struct wl_arena *a);

/* At n worker counts, in fewer visits of the posterior than one each. [n] */
struct wl_law_forecast *wl_law_forecasts(const struct wl_law_posterior *p, const double *workers, size_t n,
                                         struct wl_arena *a);

/* ln(response per work) at a worker count as a response; of an interval, its median and ends. */
double wl_law_posterior_response(const struct wl_law_posterior *p, double ln_response, double workers);
struct wl_estimate wl_law_posterior_estimate(const struct wl_law_posterior *p, const struct wl_hier_interval *v,
                                             double workers);

#endif
