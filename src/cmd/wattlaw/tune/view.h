/* What `wattlaw tune` shows: the search while it runs, and its result as text and JSON. */
#ifndef WL_CMD_WATTLAW_TUNE_VIEW_H
#define WL_CMD_WATTLAW_TUNE_VIEW_H

#include "tune/tune.h"

struct wl_tune_view {
    const struct wl_tune_goal *goal;
    const char *objective; /* its name: "energy" */
    char *const *command;  /* NULL: an experiment */
    bool quiet;
    struct wl_progress bar;
};

/* Callbacks of wl_tune_opts; ctx is a struct wl_tune_view. They print to stderr: stdout is the command's. */
void wl_tune_view_job(void *ctx, const struct wl_tune *t, size_t candidate);
void wl_tune_view_window(void *ctx, const struct wl_tune *t, const struct wl_tune_window *w);
void wl_tune_view_refused(void *ctx, const struct wl_tune *t, size_t candidate);
void wl_tune_view_done(void *ctx, const struct wl_tune *t);
void wl_tune_view_tick(void *ctx, const struct wl_tune *t);

/* What is tried, before the first job. */
void wl_tune_view_plan(const struct wl_tune_view *v, const struct wl_tune_candidates *c, struct wl_arena *a);

/* The choice and the table of values; nothing is known before a window of the reference. */
void wl_tune_view_result(const struct wl_tune_view *v, const struct wl_tune *t, struct wl_arena *a);
struct wl_json *wl_tune_view_json(const struct wl_tune_view *v, const struct wl_tune *t, struct wl_arena *a);

/* ---- numbers of a candidate, relative to the reference; ratios ---- */

struct wl_tune_ratio {
    double value, lo, hi; /* 95 % interval; NAN: not known */
};
size_t wl_tune_view_choice(const struct wl_tune *t); /* so far, where the search is not done */
struct wl_tune_ratio wl_tune_view_time(const struct wl_tune *t, size_t candidate);
double wl_tune_view_energy(const struct wl_tune *t, size_t candidate);
/* Of the objective of the choice. */
struct wl_tune_ratio wl_tune_view_objective(const struct wl_tune *t, size_t candidate);

/* The words of the command that uses a value, quoted for sh; NULL without a command. */
const char *wl_tune_view_use(const struct wl_tune_view *v, const struct wl_tune *t, struct wl_arena *a);

/* "simulated", "estimated" or "": of the power of the windows. */
const char *wl_tune_view_provenance(const struct wl_tune *t);

#endif
