/* Shared by the files of src/law. */
#ifndef WL_LAW_INTERNAL_H
#define WL_LAW_INTERNAL_H

#include "law/law.h"

/* Numbers equal texts alike: ids 0.. in order of first appearance; returns how many there are. */
size_t wl_law_partition_labels(const char *const *texts, size_t n, size_t *ids, struct wl_arena *a);

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
    struct wl_strs by;  /* these; empty: the default rule of wl_law_fit, with the two exceptions below */
    const char *except; /* a column that does not separate, or NULL */
    const char *hold;   /* as in struct wl_law_options */
};
/* The parts come in the order of their keys. Keys may differ in their columns: a setting is part of a key only where it
 * separates rows that would be one part without it. */
int wl_law_partition(const struct wl_observations *obs, const struct wl_law_grouping *rule,
                     struct wl_law_partition_cells *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Order of values in keys: numbers before words, missing last. */
int wl_law_partition_compare(const char *x, const char *y);

/* "resnet50, local_batch 16" */
const char *wl_law_partition_title(const struct wl_law_partition_cell *part, struct wl_arena *a);

/* A further column of numbers by name; NULL: the table has none. */
const double *wl_law_extra_column(const struct wl_observations *obs, const char *name);

/* Rows to runs: g->runs, counts, scaling, flags and the notes about rows. */
void wl_law_collect_runs(struct wl_law_group *g, const struct wl_observations *obs,
                         const struct wl_law_partition_cell *part, const struct wl_law_options *options,
                         struct wl_arena *a);

/* Runs to g->configs: means by worker count; and what the law says there (after the fit). */
void wl_law_collect_configs(struct wl_law_group *g, struct wl_arena *a);
void wl_law_fill_speedup(struct wl_law_group *g, struct wl_arena *a);

/* The two candidates and the choice between them, lack of fit; `refused` where there is none. */
void wl_law_estimate(struct wl_law_group *g, struct wl_arena *a);

/* The line through n points as an estimate, and one with nothing but a reason. */
struct wl_law_estimate wl_law_estimate_line(const char *name, const double *y, const double *x, const double *weights,
                                            size_t n, struct wl_arena *a);
struct wl_law_estimate wl_law_estimate_missing(const char *name, const char *why);

/* The other estimates. */
void wl_law_fit_estimators(struct wl_law_group *g, const struct wl_law_options *options, struct wl_arena *a);

/* ln N and y of runs (config false) or worker counts (config true); returns their number. */
size_t wl_law_estimate_points(const struct wl_law_group *g, bool config, double **x, double **y, struct wl_arena *a);

/* Tests of the residuals of runs; epochs as series. */
void wl_law_test_residuals(struct wl_law_group *g, struct wl_arena *a);
void wl_law_describe_series(struct wl_law_group *g);

/* Is it a power law: quadratic, local exponents, break, departures, verdict. */
void wl_law_test_power_law(struct wl_law_group *g, const struct wl_law_options *options, struct wl_arena *a);

/* Competing curves. */
void wl_law_fit_models(struct wl_law_group *g, enum wl_law_response response, struct wl_arena *a);

/* ln t of a fitted curve at a worker count, and its standard error by the delta method (NAN: unknown). */
double wl_law_model_eval(const struct wl_law_model *fitted, double workers, double *se);

/* What cannot be said about the law, and runs off the line. */
void wl_law_note_limits(struct wl_law_group *g, struct wl_arena *a);

void wl_factor_note(struct wl_factor_group *g, struct wl_arena *a, const char *fmt, ...) WL_PRINTF(3, 4);

/* Is the factor a power cap or a clock, where a missing value means no cap? */
bool wl_factor_is_cap(const char *factor);

/* The levels of a group with the law of each, and notes on what was left out. */
void wl_factor_collect_levels(struct wl_factor_group *g, const struct wl_law_partition_cell *part,
                              const struct wl_observations *obs, const struct wl_obs_column *column,
                              const struct wl_factor_options *options, struct wl_arena *a);

/* From g->tests: the verdict with its reason and the runs that are missing; then g->slowdowns. */
void wl_factor_decide(struct wl_factor_group *g, double margin, struct wl_arena *a);
void wl_factor_fill_slowdowns(struct wl_factor_group *g, struct wl_arena *a);

/* The tests of a factor over runs (config false) or means of worker counts, and its overhead model. */
void wl_factor_ancova(struct wl_factor_tests *out, const struct wl_factor_group *g, bool config, double margin,
                      struct wl_arena *a);
void wl_factor_fit_overhead(struct wl_factor_group *g, enum wl_law_response response, struct wl_arena *a);

/* Akaike's criterion with the correction for n points; `parameters` without sigma. NAN where n is too small. */
double wl_law_aicc(double sse, double n, double parameters);

/* A pair [lo, hi] in JSON; a value and that pair under keys of their own. */
void wl_law_json_interval(struct wl_json *parent, const char *key, double lo, double hi);
void wl_law_json_estimate(struct wl_json *parent, const char *key, const char *interval, const struct wl_estimate *v);

/* The members key and notes of a group. */
void wl_law_json_key(struct wl_json *group, const struct wl_law_key *key, size_t n);
void wl_law_json_notes(struct wl_json *group, const struct wl_strs *notes);

/* Adds a sentence to the notes. */
void wl_law_note(struct wl_law_group *g, struct wl_arena *a, const char *fmt, ...) WL_PRINTF(3, 4);

/* "1 run", "3 runs" */
const char *wl_law_count_text(struct wl_arena *a, size_t n, const char *what);

/* Sentences of an audit: findings and limits. */
void wl_audit_add_findings(struct wl_audit *audit, double assumed_n, struct wl_arena *a);

#endif
