/* The largest batch of an experiment that fits in memory, by runs of its campaign. */
#ifndef WL_TUNE_LARGEST_H
#define WL_TUNE_LARGEST_H

#include "tune/trial.h"

/* From the first batch of [sweep] on: doubling, then bisection, among multiples of opts->batch_step (of a global batch:
 * of that times the workers), up to the largest batch that the file names if it names several. A batch fits if its run
 * completes. WL_EINVAL: the file has no batch, or several values of another axis; not even the smallest batch fits
 * (why). Codes of wl_tune_trial_run. */
int wl_tune_largest(struct wl_tune_trials *s, const struct wl_experiment *x, struct wl_err *e) WL_MUST_CHECK;

#endif
