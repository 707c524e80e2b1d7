/* The power law over runs and over worker counts, and its other estimators. */
#ifndef WL_LAW_FIT_ESTIMATE_H
#define WL_LAW_FIT_ESTIMATE_H

#include "law/fit/fit.h"

/* The two candidates, the choice between them and the lack of fit; `no_law_reason` where neither can be fitted. */
void wl_law_estimate_choose(struct wl_law_group *g, struct wl_arena *a);

/* Why a group of fewer than two worker counts has no law. */
const char *wl_law_estimate_refusal(const struct wl_law_group *g, struct wl_arena *a);

/* The line through n points as an estimate (weights NULL: all 1), and an estimate that holds only a reason. */
struct wl_law_estimate wl_law_estimate_line(const char *name, const double *y, const double *x, const double *weights,
                                            size_t n, struct wl_arena *a);
struct wl_law_estimate wl_law_estimate_missing(const char *name, const char *reason);

/* ln N and y of runs (config false) or worker counts (config true); returns their number. */
size_t wl_law_estimate_points(const struct wl_law_group *g, bool config, double **x, double **y, struct wl_arena *a);

/* The other estimators, WL_LAW_POOLED_EPOCHS to WL_LAW_BOOTSTRAP. */
void wl_law_fit_estimators(struct wl_law_group *g, const struct wl_law_options *options, struct wl_arena *a);

#endif
