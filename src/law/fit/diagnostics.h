/* Tests of the fitted law. */
#ifndef WL_LAW_FIT_DIAGNOSTICS_H
#define WL_LAW_FIT_DIAGNOSTICS_H

#include "law/fit/fit.h"

/* Scatter of ln(response) below this is rounding, not measurement. */
#define WL_LAW_ROUNDING 1e-10

/* Tests of the residuals of runs; g->series from the epochs of long runs. */
void wl_law_test_residuals(struct wl_law_group *g, struct wl_arena *a);
void wl_law_describe_series(struct wl_law_group *g);

/* Is it a power law? Quadratic, local exponents, breakpoint, departures, verdict. */
void wl_law_test_power_law(struct wl_law_group *g, const struct wl_law_options *options, struct wl_arena *a);

#endif
