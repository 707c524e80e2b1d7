/* The axes of an experiment that are searched, and the search of one axis. */
#ifndef WL_TUNE_EXPERIMENT_AXES_H
#define WL_TUNE_EXPERIMENT_AXES_H

#include "tune/experiment.h"

/* Codes of wl_tune_experiment. */
int wl_tune_axes(const struct wl_experiment *x, struct wl_tune_experiment *out, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* The batch of the file as the only axis, with one value or several, and room for WL_TUNE_TRIALS_MAX more. WL_EINVAL:
 * it has none, a local and a global one, or several values of another key. */
int wl_tune_axis_of_batch(const struct wl_experiment *x, struct wl_tune_experiment *out, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

/* The next value of an axis, or its choice (axis->done), from its trials. */
int wl_tune_axis_next(struct wl_tune_axis *axis, const struct wl_tune_goal *goal, size_t *value, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

#endif
