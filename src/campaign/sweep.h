/* A campaign while it is swept: what the store holds of it, what is to do. */
#ifndef WL_CAMPAIGN_SWEEP_H
#define WL_CAMPAIGN_SWEEP_H

#include "campaign/internal.h"

struct wl_sweep {
    const struct wl_experiment *x;
    const struct wl_sweep_how *how;
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

/* Writes the plan of the grid, and finds out which of its runs are done, failed or still to do. */
int wl_sweep_plan(struct wl_sweep *s, struct wl_err *e) WL_MUST_CHECK;

/* "runs/7": the folder of a run, below that of the store. */
const char *wl_sweep_run_folder(const struct wl_sweep *s, int64_t run);

/* Planned run i has failed. */
void wl_sweep_add_failed(struct wl_sweep *s, size_t i, const char *error);

#endif
