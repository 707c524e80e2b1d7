/* What an epoch would take at a worker count that was not measured. */
#ifndef WL_LAW_FORECAST_H
#define WL_LAW_FORECAST_H

#include "law/fit/fit.h"

/* One curve's part in a prediction. */
struct wl_law_forecast_component {
    const struct wl_law_model *model;
    double weight;    /* Akaike weight among the curves that take part; NAN: it does not */
    double value, se; /* response; standard error of its logarithm, without the scatter of a run */
    double scale, df; /* of one run's logarithm: error of the curve, scatter and error at larger worker counts */
    const char *why;  /* why it does not take part, or NULL */
};

/* One more epoch at a worker count: the mixture of the curves by their weights. The interval is for the mean of one
 * more run; beyond the measured worker counts it holds the error that each curve made at larger ones when fitted to
 * smaller ones. */
struct wl_law_forecast {
    double workers, ratio; /* over the nearest end of what was measured: N/Nmax above, N/Nmin below, 1 within */
    double value, lo, hi;  /* median and 95 %; NAN when refused, the ends NAN without an error */
    struct wl_law_forecast_component *components; /* one a model of the group */
    size_t n_components, n_contributing;
    const char *basis;   /* "models", or "power_law" where there are no curves; NULL: refused */
    const char *refused; /* why, or NULL */
    struct wl_strs notes;
};

/* Refuses beyond 4 times the measured range, and beyond the range where no curve foretold larger worker counts from
 * smaller ones within 25 %, unless forced. The group was fitted with `thorough`. */
struct wl_law_forecast wl_law_forecast_at(const struct wl_law_group *g, double workers, bool force, struct wl_arena *a);

#endif
