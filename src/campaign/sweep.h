/* A campaign while it is swept: what the store holds of it, what is to do. */
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
    const char *folder; /* absolute, of the store */
    const char *data;   /* absolute from the first run on; NULL: none */
    int64_t *trial_ids; /* [trial] */
    int64_t *run_ids;   /* [planned run] the run that stands for it now */
    bool *to_do;        /* [planned run] */
    size_t n_to_do;
    double *took_s; /* [trial] sum over finished runs */
    double *took_n;
    struct wl_arena *a;
};

/* Opens the store, finds or makes the campaign and owns it. Codes of wl_sweep_run. */
int wl_sweep_open(struct wl_sweep *s, struct wl_err *e) WL_MUST_CHECK;

/* The same as far as nothing is changed: may this experiment go into that store, if there is one, and does nobody else
 * run it? *done: of its runs, those that are finished. */
int wl_sweep_inspect(struct wl_sweep *s, size_t *done, struct wl_err *e) WL_MUST_CHECK;

/* Writes the plan of the grid, and finds out which of its runs are done, failed or still to do. */
int wl_sweep_plan(struct wl_sweep *s, struct wl_err *e) WL_MUST_CHECK;

/* "runs/7": the folder of a run, below that of the store, unless it is taken (wl_run_folder_create). */
const char *wl_sweep_run_folder(const struct wl_sweep *s, int64_t run);

/* What is shown while a run goes on. The times are those known at its start: to add them up ten times a second over
 * thousands of runs would show in what is measured. */
struct wl_sweep_progress {
    const struct wl_sweep *s;
    size_t passed;        /* runs of this call behind us */
    double one_s, rest_s; /* expected of this run; of all behind it; NAN: not known */
    const char *note;     /* what the run is */
    const char *late;     /* the same, where it takes longer than one_s; NULL where that is not known */
};

/* Of planned run `at`. Its texts are in the arena. */
struct wl_sweep_progress wl_sweep_progress_new(const struct wl_sweep *s, size_t at, size_t passed, const char *note,
                                               struct wl_arena *a);

/* Tells the sweep's on_tick where it stands when the run has taken elapsed_s; ctx is the ticker. */
void wl_sweep_progress_update(void *ctx, double elapsed_s);

/* Planned run i has failed; its folder below the store's, NULL: not known. */
void wl_sweep_add_failed(struct wl_sweep *s, size_t i, const char *folder, const char *error);

#endif
