/* Which rows belong to one law. */
#ifndef WL_LAW_PARTITION_H
#define WL_LAW_PARTITION_H

#include "stats/stats.h"

struct wl_law_key {
    const char *column, *value;
};

/* "resnet50, cap 150 W"; "all runs" without a key. */
char *wl_law_key_words(const struct wl_law_key *key, size_t n, struct wl_arena *a);

/* The rows of each group. */
struct wl_law_partition_cell {
    struct wl_law_key *key;
    size_t n_key;
    size_t *rows;
    size_t n;
};
struct wl_law_partition_cells {
    struct wl_law_partition_cell *v;
    size_t n;
};
/* Which columns separate the rows. */
struct wl_law_grouping {
    struct wl_strs by;           /* these; empty: the default rule of wl_law_fit, with the two exceptions below */
    const char *excluded_column; /* a column that does not separate, or NULL */
    const char *fixed_batch;     /* as in struct wl_law_options */
};
/* Cells are in the order of their keys. Keys may differ in their columns: a setting is part of a key only where it
 * separates rows that would be one cell without it: the last may be samples, samples_per_worker, metric or unit where
 * the work of rows of one worker count differs. WL_ENOENT: a column of `by` is missing. */
int wl_law_partition(const struct wl_observations *obs, const struct wl_law_grouping *rule,
                     struct wl_law_partition_cells *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Order of values in keys: numbers before words, missing values last. */
int wl_law_partition_compare(const char *x, const char *y);

/* "resnet50, local_batch 16" */
const char *wl_law_partition_title(const struct wl_law_partition_cell *part, struct wl_arena *a);

#endif
