/* The probe within a job that marks its steps. */
#ifndef WL_TUNE_LIVE_H
#define WL_TUNE_LIVE_H

#include "tune/session.h"

struct wl_tune_live;

/* For one job, which starts at the reference. */
struct wl_tune_live *wl_tune_live_new(struct wl_tune *t, struct wl_arena *a);
const struct wl_run_watch *wl_tune_live_watch(const struct wl_tune_live *l);

size_t wl_tune_live_windows(const struct wl_tune_live *l); /* measured in this job */

/* The first failure of the probe; 0: none. The job ran on without it. */
int wl_tune_live_failure(const struct wl_tune_live *l, struct wl_err *e) WL_MUST_CHECK;

#endif
