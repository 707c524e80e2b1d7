/* wattlaw sweep: what it would run, what it shows while it runs, and how it ended. */
#ifndef WL_CMD_WATTLAW_SWEEP_INTERNAL_H
#define WL_CMD_WATTLAW_SWEEP_INTERNAL_H

#include "campaign/campaign.h"
#include "cmd/cmd.h"

/* ---- plan.c: exit statuses, or codes with a message ---- */

/* Prints trials, runs and commands, then returns the error for which the sweep would not start. */
int wl_sweep_dry_run(const struct wl_experiment *x, bool json, bool all, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* Prints which caps each trial would set. */
int wl_sweep_cap_dry_run(const struct wl_experiment *x, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* "campaign c: 4 trials x 2 repeats = 8 runs", and the trials that cannot be run here with their reasons. */
void wl_sweep_print_count(const struct wl_experiment *x, const struct wl_grid *g, enum wl_out to);
void wl_sweep_print_skipped(const struct wl_grid *g, size_t max_shown, enum wl_out to);
void wl_sweep_trials_json(const struct wl_grid *g, struct wl_json *to);

enum { WL_SWEEP_LINE_MAX = 160 }; /* bytes of a log's last line that are shown */

/* ---- progress.c ---- */

struct wl_sweep_view {
    const struct wl_experiment *x;
    bool json;
    const struct wl_grid *grid;    /* NULL: nothing has begun */
    struct wl_footprint footprint; /* completed */
    struct wl_progress bar;
    size_t ended, to_run;
};

/* Callbacks of wl_sweep_opts; ctx is a struct wl_sweep_view. They print to stderr. */
void wl_sweep_view_start(void *ctx, const struct wl_grid *g, size_t to_run);
void wl_sweep_view_tick(void *ctx, double done, double total, double left_s, const char *note);
void wl_sweep_view_control(void *ctx, const char *text, size_t to_run);
void wl_sweep_view_run(void *ctx, const struct wl_grid *g, size_t planned, int64_t run, const struct wl_run_result *r);

/* ---- result.c ---- */

/* Prints how the sweep ended, rc being that of wl_sweep_run: the exit status, or a code with its message. */
int wl_sweep_view_end(const struct wl_sweep_view *v, const struct wl_sweep_result *r, int rc, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

#endif
