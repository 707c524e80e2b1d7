/* Forecast of the response at a worker count that was not measured. */
#ifndef WL_LAW_FORECAST_H
#define WL_LAW_FORECAST_H

#include "law/fit/fit.h"

/* The component of one candidate model in a forecast. */
struct wl_law_forecast_component {
    const struct wl_law_model *model;
    double weight;      /* Akaike weight among the contributing models; NAN: it does not contribute */
    double value, se;   /* response; standard error of its logarithm, without the scatter of a run */
    double scale, df;   /* of one run's logarithm: error of the model, scatter and leave-largest-out error */
    const char *reason; /* why it does not contribute, or NULL */
};

/* One more epoch at a worker count: the mixture of the models by their weights. The interval is for the mean of one
 * more run; outside the measured worker counts it includes the leave-largest-out error of each model. */
struct wl_law_forecast {
    double workers, ratio; /* to the measured range: N/Nmax above, N/Nmin below, 1 within */
    double value, lo, hi;  /* median and 95 % interval; NAN when refused, lo and hi NAN without an error */
    struct wl_law_forecast_component *components; /* one per model of the group */
    size_t n_components, n_contributing;
    const char *basis;   /* "models", or "power_law" where no model contributes; NULL: refused */
    const char *refusal; /* why there is no forecast, or NULL */
    struct wl_strs notes;
};

/* Refuses beyond 4 times the measured range, and outside the range where the leave-largest-out error of every model is
 * unknown or above 25 %, unless forced. The group must have been fitted with `thorough`. */
struct wl_law_forecast wl_law_forecast_at(const struct wl_law_group *g, double workers, bool force, struct wl_arena *a);

#endif
