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
    size_t n_to_do;
    double *took_s; /* [trial] sum over finished runs */
    double *took_n;
    struct wl_sweep_budget *budget; /* NULL: no limits */
    bool said_unmatched;            /* expressions that no output line matches: said once */
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

/* A run of the campaign has ended in a job: counts it, and reports it to on_run if it is of the grid. */
void wl_sweep_run_ended(struct wl_sweep *s, int64_t run, int64_t trial, int64_t repeat, const char *folder,
                        const struct wl_run_result *r);

/* "runs/7": the folder of a run, below that of the store, if it is free (wl_run_folder_create). */
const char *wl_sweep_run_folder(const struct wl_sweep *s, int64_t run);

/* What is shown during a run. The times are those known at its start: summing over thousands of runs ten times a second
 * would influence what is measured. */
struct wl_sweep_progress {
    const struct wl_sweep *s;
    size_t passed;        /* runs of this call that have ended */
    double one_s, rest_s; /* expected of this run; of all after it; NAN: not known */
    const char *note;     /* describes the run */
    const char *late;     /* the same once it takes longer than one_s; NULL: one_s is not known */
};

/* Of planned run `at`; its texts are in the arena. */
struct wl_sweep_progress wl_sweep_progress_new(const struct wl_sweep *s, size_t at, size_t passed, const char *note,
                                               struct wl_arena *a);

/* Reports progress to the sweep's on_tick, elapsed_s into the run; ctx is a struct wl_sweep_progress. */
void wl_sweep_progress_update(void *ctx, double elapsed_s);

/* Planned run i has failed; folder: below the store's, NULL: not known. error and log_tail may be NULL. */
void wl_sweep_add_failed(struct wl_sweep *s, size_t i, const char *folder, const char *error, const char *log_tail);

#endif
