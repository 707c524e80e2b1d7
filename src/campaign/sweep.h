/* A campaign during a sweep: what the store has of it, and what is to do. */
#ifndef WL_CAMPAIGN_SWEEP_H
#define WL_CAMPAIGN_SWEEP_H

#include "campaign/internal.h"

struct wl_sweep {
    const struct wl_experiment *x;
    const struct wl_sweep_opts *opts;
    struct wl_sweep_result *out;
    const struct wl_launcher *launcher;
    struct wl_grid grid;
    struct wl_store *store;
    const char *folder; /* absolute, of the store; of a job's run that of its campaign */
    const char *data;   /* absolute from the first run on; NULL: none */
    int64_t *trial_ids; /* [trial] */
    int64_t *run_ids;   /* [planned run] its newest run in the store */
    bool *to_do;        /* [planned run] */
    size_t n_to_do;     /* with those that have ended in this call */
    size_t passed;      /* runs of this call that have ended */
    bool paused;
    int64_t last_request, noticed; /* number of the last one that was acted upon, that was seen; 0: none */
    double *took_s;                /* [trial] sum over finished runs */
    double *took_n;
    struct wl_sweep_budget *budget; /* NULL: no limits */
    bool said_unmatched;            /* expressions that no output line matches: said once */
    size_t failures_seen;           /* of out->failed, by wl_sweep_check_failures */
    struct wl_arena *a;
};

/* Opens the store, finds or makes the campaign and locks it. Codes of wl_sweep_run. */
int wl_sweep_open(struct wl_sweep *s, struct wl_err *e) WL_MUST_CHECK;

/* The same checks without any change: if the store exists, does it accept this experiment, and does no other process
 * run it? *done: how many of its runs are finished. */
int wl_sweep_inspect(struct wl_sweep *s, size_t *done, struct wl_err *e) WL_MUST_CHECK;

/* Were runs of this stored experiment made in the same way as those of this one? WL_EINVAL: no, with the difference. */
int wl_sweep_check_text(struct wl_sweep *s, const char *stored, struct wl_err *e) WL_MUST_CHECK;

/* The settings of a trial as they are stored. */
struct wl_settings wl_sweep_trial_settings(const struct wl_experiment *x, const struct wl_trial *t, struct wl_arena *a);

/* Writes the plan of the grid, and classifies its runs as done, failed or to do. */
int wl_sweep_plan(struct wl_sweep *s, struct wl_err *e) WL_MUST_CHECK;

/* Plans the next attempt of planned run i, if its last one was interrupted. */
int wl_sweep_plan_run(struct wl_sweep *s, size_t i, int64_t *run, struct wl_err *e) WL_MUST_CHECK;

/* A run of the campaign has ended in a job: counts it, and reports it to on_run if it is of the grid. log as of
 * wl_sweep_add_failed. */
void wl_sweep_run_ended(struct wl_sweep *s, int64_t run, int64_t trial, int64_t repeat, const char *log,
                        const struct wl_run_result *r);

/* What is done, failed and to do by the store as it is now: somebody else may have cancelled or retried runs. */
int wl_sweep_reread(struct wl_sweep *s, struct wl_err *e) WL_MUST_CHECK;

/* ---- sweep_control.c ---- */

/* A signal asks the sweep to end. */
bool wl_sweep_stop_requested(const struct wl_sweep *s);

/* Takes note of requests that are new: sets `paused`, and reads the runs again. */
int wl_sweep_take_requests(struct wl_sweep *s, struct wl_err *e) WL_MUST_CHECK;
bool wl_sweep_has_requests(const struct wl_sweep *s); /* are there new ones? */

/* The run to do after run *i, [n_runs]: none is left; waits while the campaign is paused. WL_EINTR: a signal. */
int wl_sweep_next(struct wl_sweep *s, size_t *i, struct wl_err *e) WL_MUST_CHECK;

/* As stop_asked of struct wl_run_opts; ctx is a struct wl_sweep_current. */
struct wl_sweep_current {
    struct wl_sweep *s;
    int64_t run;
    struct wl_arena *a; /* of the run */
};
const char *wl_sweep_stop_asked(void *ctx);

/* "runs/7": the folder of a run, below that of the store, if it is free (wl_run_folder_create). */
const char *wl_sweep_run_folder(const struct wl_sweep *s, int64_t run);

/* What is shown during a run. The times are those known at its start: summing over thousands of runs ten times a second
 * would influence what is measured. */
struct wl_sweep_progress {
    const struct wl_sweep *s;
    double one_s, rest_s; /* expected of this run; of all after it; NAN: not known */
    const char *note;     /* describes the run */
    const char *late;     /* the same once it takes longer than one_s; NULL: one_s is not known */
};

/* Of planned run `at`; its texts are in the arena. */
struct wl_sweep_progress wl_sweep_progress_new(const struct wl_sweep *s, size_t at, const char *note,
                                               struct wl_arena *a);

/* Reports progress to the sweep's on_tick, elapsed_s into the run; ctx is a struct wl_sweep_progress. */
void wl_sweep_progress_update(void *ctx, double elapsed_s);

/* Planned run i has failed; log: absolute or below the store's folder, NULL: that of the run's
 * folder, of a job none. error and log_tail may be NULL. */
void wl_sweep_add_failed(struct wl_sweep *s, size_t i, const char *log, const char *error, const char *log_tail);

/* ---- failures.c: a campaign in which nothing works ---- */

/* What failures with this error and last line of the log have in common if the reason is not their setting; NULL: it
 * may be. Both may be NULL. */
const char *wl_sweep_cause(const char *error, const char *last_line, struct wl_arena *a);

/* WL_EJOB: so many runs as [launch] stop_after_failures says have failed alike, and none has succeeded. Settings that
 * failed and have a value in common which others do not have may be the reason themselves. */
int wl_sweep_check_failures(struct wl_sweep *s, struct wl_err *e) WL_MUST_CHECK;

#endif
