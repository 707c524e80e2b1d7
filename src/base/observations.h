/* The observation table in memory: one row per epoch, or per run if epoch is missing.
 *
 * A struct of arrays of n elements each. Missing numbers are NAN, missing texts NULL; a column that the source does
 * not have is missing in every row. Filled from a store (store/store.h) or a CSV (exchange/exchange.h), read by the
 * analysis. Column names are those of docs/formats.md.
 */
#ifndef WL_BASE_OBSERVATIONS_H
#define WL_BASE_OBSERVATIONS_H

#include "base/str.h"

/* A column by name. One of text and real is set. */
struct wl_obs_column {
    const char *name;
    const char *unit;  /* "s", "J", "W", "MHz"; NULL: a count, a name */
    const char **text; /* [n] */
    double *real;      /* [n] */
    bool setting;      /* of an extra column: a setting of the campaign; runs that differ in it are not repeats */
};

/* What times and energies are of, where it is not an epoch. */
struct wl_obs_work {
    const char *name, *one; /* "tokens", "token" */
    const char *amount;     /* "10^9 tokens" */
    double n;               /* 1e9 */
};

struct wl_observations {
    const char *source;             /* path, for messages */
    const char *note;               /* how the source was understood, where that is not plain; NULL: nothing to say */
    const struct wl_obs_work *work; /* NULL: each row is an epoch */
    const char *counted;            /* what `samples` counts: "tokens"; NULL: samples */
    size_t n;

    const char **workload, **hardware;
    double *nodes, *workers, *local_batch, *global_batch; /* samples */
    double *power_cap_w, *clock_mhz;
    const char **run;  /* label as given */
    size_t *run_index; /* 0 .. runs-1 in order of appearance; rows of one run share it */
    size_t runs;
    double *epoch; /* from 1; NAN: the row is a whole run */
    double *time_s, *energy_j;
    double *samples, *updates; /* of all workers together */
    const char **metric;
    double *metric_value;
    double *estimated, *simulated; /* 0 or 1, never missing */

    struct wl_obs_column *extra; /* additional columns of the source */
    size_t n_extra, extra_cap;
};

/* Sets all arrays of n rows: numbers NAN, texts NULL, estimated and simulated 0. */
void wl_obs_alloc(struct wl_observations *obs, size_t n, struct wl_arena *a);

/* Adds an extra column of n texts (NULL or "" is missing): numbers if all are decimal numbers, else texts. */
void wl_obs_add_extra(struct wl_observations *obs, const char *name, const char **text, struct wl_arena *a);

/* The canonical columns in their order, ending with a NULL: workload ... metric_value, estimated, simulated. */
extern const char *const wl_obs_names[];

/* Finds a column, canonical or extra. WL_ENOENT, with "did you mean", if there is none. */
int wl_obs_find(const struct wl_observations *obs, const char *name, struct wl_obs_column *out,
                struct wl_err *e) WL_MUST_CHECK;

/* A field as text, for keys and labels: "" where it is missing, numbers with %.15g. */
const char *wl_obs_text(const struct wl_obs_column *column, size_t row, struct wl_arena *a);

/* Sets run_index and runs. Two rows are of one run if run and all settings (workload ... clock_mhz, and extra columns
 * that are settings) agree, as tables of other tools number runs from 1 in each configuration. Rows without a run label
 * are of one run while their epochs increase; a row with neither is a separate run. */
void wl_obs_index_runs(struct wl_observations *obs, struct wl_arena *a);

/* The rows of each part as a table of its own, in their order: [parts], with all columns and with runs numbered anew.
 * part [n]: the part of each row; rows of `parts` or above are left out. Texts are shared with obs. */
struct wl_observations *wl_obs_split(const struct wl_observations *obs, const size_t *part, size_t parts,
                                     struct wl_arena *a);

#endif
