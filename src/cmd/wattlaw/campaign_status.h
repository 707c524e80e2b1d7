/* The state of campaigns, counted once: for status, top and metrics. */
#ifndef WL_CMD_WATTLAW_CAMPAIGN_STATUS_H
#define WL_CMD_WATTLAW_CAMPAIGN_STATUS_H

#include "campaign/campaign.h"
#include "cmd/wattlaw/store.h"

/* The state of a campaign. Of each repeat the last attempt counts. */
struct wl_campaign_status {
    const struct wl_campaign_row *campaign;
    size_t count[WL_RUN_INTERRUPTED + 1];
    size_t dead;                   /* of the running ones: their wattlaw has ended */
    size_t waiting, in_job, ended; /* of the planned ones: their jobs wait, run, have ended and are to be collected */
    size_t flagged;                /* of the done ones */
    double time_s;                 /* of the runs that are done */
    struct wl_amount energy;
    bool energy_missing;
    bool has_queue; /* its runs are jobs of a batch system */
    struct wl_queue_rate rate;
    double left_s;     /* NAN: not known yet */
    struct {           /* by all runs that have begun and ended, attempts that failed or were interrupted among them */
        double core_s; /* time x workers x threads */
        double gpu_s;  /* time x GPUs whose energy was counted */
        struct wl_amount energy;
        bool energy_missing;
    } used;
    struct wl_neighbours_effect beside;          /* runs side by side in an allocation */
    const struct wl_run_row **failed, **running; /* running: those whose wattlaw has ended are not among them */
    size_t n_failed, n_running;
    const struct wl_trial_row **skipped;
    size_t n_skipped;
    struct wl_control_state control;
    struct wl_control_rows requests; /* the newest 20, the newest first */
};

struct wl_status {
    const char *store;
    struct wl_campaign_status *v;
    size_t n;
};

size_t wl_status_all(const struct wl_campaign_status *st);

/* Planned, interrupted and dead runs, which the next sweep will run, and running ones. */
size_t wl_status_left(const struct wl_campaign_status *st);

/* Runs that are at work now, jobs that have ended and are not collected among them; that are still to begin. */
size_t wl_status_running(const struct wl_campaign_status *st);
size_t wl_status_waiting(const struct wl_campaign_status *st);
size_t wl_status_in_queue(const struct wl_campaign_status *st);

/* Opens the store that the arguments name, counts, and closes it. campaign NULL: all of them. */
int wl_status_read(const char *campaign, const struct wl_opts_args *rest, struct wl_status *out, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

/* `steady`: without what changes by itself as time passes. */
struct wl_json *wl_status_json(const struct wl_status *all, bool steady, struct wl_arena *a);

/* "about 2h06m", and of a queue the interval: "about 2h06m (1h34m to 2h49m)"; NULL: not known. */
const char *wl_status_left_text(const struct wl_campaign_status *st, struct wl_arena *a);

/* "by lab@n1 since 2026-11-28T20:21:24Z: wattlaw resume goes on"; NULL: it is not paused. */
const char *wl_status_paused_text(const struct wl_campaign_status *st, struct wl_arena *a);

/* "1.21 MJ (simulated), 3.21 core-hours, 6.42 GPU-hours" */
const char *wl_status_used_text(const struct wl_campaign_status *st, struct wl_arena *a);

#endif
