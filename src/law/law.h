/* Scaling laws: t = alpha N^-beta for each group of comparable runs, with how sure it is and what cannot be said.
 *
 * Method (docs/adr/070): the unit of inference is the run. Epochs of one run share its node, its clock and its
 * neighbours, so they are averaged first: y_r = mean of ln(response) over the epochs kept. The law is the least
 * squares line of y_r on ln N, once over runs and once over the means of worker counts; the wider interval is
 * reported. Nothing here reads files or prints.
 */
#ifndef WL_LAW_LAW_H
#define WL_LAW_LAW_H

#include "stats/stats.h"

/* ---- input: the observation table ------------------------------------------------------------------------- */

/* One row: an epoch, or a whole run where epoch is NAN. Text is NULL or "" and a number NAN where not measured. */
struct wl_law_row {
    const char *workload, *hardware;
    double nodes, workers, local_batch, global_batch;
    double power_cap_w, clock_mhz;
    const char *run;
    double epoch;
    double time_s, energy_j, samples;
    bool estimated, simulated;
    char *const *extra; /* fields of the table's extra columns, NULL where there are none */
};

struct wl_law_table {
    const struct wl_law_row *rows;
    size_t n;
    struct wl_strs extra; /* names of columns beyond the canonical ones */
};

enum wl_law_response { WL_LAW_TIME, WL_LAW_ENERGY };

struct wl_law_options {
    struct wl_strs by; /* columns that separate groups; empty: the default rule below */
    enum wl_law_response response;
    int64_t drop_epochs; /* first epochs of a run that are left out; a run keeps at least one */
    double level;        /* of intervals: 0.95 */
};

/* ---- result ----------------------------------------------------------------------------------------------- */

/* One way to estimate the law. Numbers that the data cannot give are NAN, and `why` says why. */
struct wl_law_estimate {
    const char *name;                 /* "run_means", "config_means" */
    size_t n;                         /* points under the line */
    double alpha, alpha_lo, alpha_hi; /* response at one worker */
    double beta, beta_se, beta_lo, beta_hi;
    double r2, r2_adj, p_beta; /* two-sided, against beta = 0 */
    double sigma, df;          /* residual sd of ln response, residual degrees of freedom */
    const char *why;           /* a sentence, or NULL */
    struct wl_ols line;        /* y = b0 + b1 ln N; line.k = 0 where there is none */
};

struct wl_law_run {
    const char *id;
    double workers;
    size_t epochs, dropped;
    double y;           /* mean of ln response over the epochs kept */
    double time_s;      /* geometric mean epoch time, NAN where not measured */
    double energy_j;    /* geometric mean epoch energy */
    double studentised; /* residual of the run under the run_means line, t(df - 1); NAN where undefined */
};

/* All runs at one worker count; ratios are to the smallest worker count of the group (law/normalise.c). */
struct wl_law_config {
    double workers;
    size_t runs, epochs;
    double response, fitted;                               /* geometric mean over runs; the law there */
    double fitted_lo, fitted_hi;                           /* interval of the line */
    double time_s, energy_j;                               /* geometric means over runs */
    double speedup, speedup_lo, speedup_hi;                /* t(N0) / t(N) */
    double energy_ratio, energy_ratio_lo, energy_ratio_hi; /* E(N) / E(N0) */
    double efficiency;                                     /* speedup / (N / N0) */
};

enum wl_law_scaling { WL_SCALING_UNKNOWN, WL_SCALING_STRONG, WL_SCALING_WEAK, WL_SCALING_MIXED };

struct wl_law_key {
    const char *column, *value;
};

/* What was read and what was left out. */
struct wl_law_counts {
    size_t rows, used;   /* epoch rows read and used */
    size_t first_epochs; /* left out by drop_epochs */
    size_t no_workers, no_response, not_positive, duplicate;
};

struct wl_law_group {
    struct wl_law_key *key;
    size_t key_n;
    const char *title; /* "resnet50, local_batch 16" */
    enum wl_law_scaling scaling;
    bool estimated, simulated; /* some row that was used is */
    struct wl_law_counts counts;

    struct wl_law_run *runs; /* in order of workers */
    size_t runs_n;
    struct wl_law_config *configs; /* in order of workers */
    size_t configs_n;

    struct wl_law_estimate law;           /* the one to report: the wider of the two below */
    struct wl_law_estimate estimators[2]; /* run_means, config_means */
    struct wl_lack_of_fit lack_of_fit;
    struct wl_strs notes; /* sentences: what was dropped, what cannot be said, and why */
    const char *refused;  /* why there is no law at all, or NULL */
};

struct wl_law_result {
    struct wl_law_group *groups; /* in order of first appearance */
    size_t n;
    struct wl_strs by; /* the columns that separated them */
    struct wl_law_counts counts;
    struct wl_strs notes; /* about the whole table */
};

/* Groups the table and fits each group. Only WL_EINVAL for an unknown column in `by` and options out of range: bad
 * rows are counted and noted, and a group that has no law says so in `refused`.
 *
 * Groups when `by` is empty: workload, hardware, power_cap_w and clock_mhz separate wherever they vary. Of
 * global_batch and local_batch the one that is held fixed while workers change separates (the one with fewer
 * values within the rest of the key; local_batch when equal), and so does gradient accumulation
 * (global_batch / (workers x local_batch)) where it takes two values at one worker count. */
int wl_law_fit(const struct wl_law_table *table, const struct wl_law_options *options, struct wl_law_result *out,
               struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The law at a worker count, with the interval of the curve and of one more run; all but `value` NAN without an
 * error estimate, everything NAN without a law. */
struct wl_law_point {
    double workers, value;
    double curve_lo, curve_hi;
    double run_lo, run_hi;
};
struct wl_law_point wl_law_at(const struct wl_law_group *g, double workers, double level);

/* n points, evenly spaced in ln N over the measured range, for drawing the law and its band. */
struct wl_law_point *wl_law_curve(const struct wl_law_group *g, size_t n, double level, struct wl_arena *a);

/* Names for output. */
const char *wl_law_scaling_name(enum wl_law_scaling s);   /* "strong" ... */
const char *wl_law_response_name(enum wl_law_response r); /* "time_s" */
const char *wl_law_response_unit(enum wl_law_response r); /* "s" */

#endif
