/* Rows to runs. */
#ifndef WL_LAW_FIT_RUNS_H
#define WL_LAW_FIT_RUNS_H

#include "law/fit/fit.h"

/* Fills g->runs, counts, scaling, flags and the notes about excluded rows. */
void wl_law_collect_runs(struct wl_law_group *g, const struct wl_observations *obs,
                         const struct wl_law_partition_cell *part, const struct wl_law_options *options,
                         struct wl_arena *a);

/* An extra column of numbers by name; NULL: the table does not have it. */
const double *wl_law_extra_column(const struct wl_observations *obs, const char *name);

/* Are the samples of an epoch constant, proportional to the workers, or neither? 5 % allow for a last partial batch. */
enum wl_law_scaling wl_law_scaling_of(const struct wl_law_run *runs, size_t n);

#endif
