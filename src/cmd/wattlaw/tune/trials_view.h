/* What `wattlaw tune FILE.ini` shows: trials on stderr, the result on stdout. */
#ifndef WL_CMD_WATTLAW_TUNE_TRIALS_VIEW_H
#define WL_CMD_WATTLAW_TUNE_TRIALS_VIEW_H

#include "tune/tune.h"

struct wl_tune_trials_view {
    const char *objective, *path; /* path: of the file */
    const char *target;           /* "val_top1=0.75"; NULL: none */
    bool largest;
    bool quiet;
    struct wl_progress bar;
};

/* Callbacks of wl_tune_experiment_opts; ctx is a struct wl_tune_trials_view. */
void wl_tune_trials_view_trial(void *ctx, const struct wl_tune_axis *axis, const struct wl_tune_trial *t);
void wl_tune_trials_view_tick(void *ctx, double done, double total, double left_s, const char *note);

void wl_tune_trials_view_result(const struct wl_tune_trials_view *v, const struct wl_tune_experiment *x,
                                struct wl_arena *a);
struct wl_json *wl_tune_trials_view_json(const struct wl_tune_trials_view *v, const struct wl_tune_experiment *x,
                                         struct wl_arena *a);

#endif
