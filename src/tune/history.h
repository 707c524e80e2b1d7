/* Curves of other workloads, from observations of any campaign, as a prior. */
#ifndef WL_TUNE_HISTORY_H
#define WL_TUNE_HISTORY_H

#include "advise/advise.h"
#include "settings/settings.h"

/* One curve per group of runs that differ in the cap alone (workload, hardware, workers, batches, other cap), with at
 * least two values, which have that hardware as their device: means of ln t per sample (per epoch without samples) and
 * of ln P of one worker. First epochs are excluded where there are others. What cannot be used is left out: rows
 * without cap, time or energy. */
int wl_tune_history(const struct wl_observations *obs, enum wl_cap_kind kind, struct wl_advise_cap_curve **out,
                    size_t *n, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
