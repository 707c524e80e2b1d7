/* One trial of an experiment: a sweep with one value of everything, and what the store has of it. */
#ifndef WL_TUNE_TRIAL_H
#define WL_TUNE_TRIAL_H

#include "tune/experiment.h"

/* Of one call. */
struct wl_tune_trials {
    const struct wl_tune_experiment_opts *opts;
    struct wl_tune_experiment *out;
    struct wl_arena *a;
};

/* Runs the value of the axis, or reads its run where the store has it, and adds the trial to the axis. `a` is for this
 * trial alone. Codes of wl_sweep_run; WL_EINVAL: the run has not what the objective needs; WL_ENOENT: not the target's
 * metric. */
int wl_tune_trial_run(struct wl_tune_trials *s, struct wl_tune_axis *axis, size_t value, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

#endif
