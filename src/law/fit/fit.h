/* Scaling laws: t = alpha N^-beta for each group of comparable runs, how sure it is, and what cannot be said.
 *
 * Method (docs/adr/070): the unit of inference is the run. Epochs of one run share its node, its clock and its
 * neighbours, so they are averaged first: y_r = mean of ln(response) over the epochs kept. The law is the least
 * squares line of y_r on ln N, once over runs and once over the means of the worker counts; the estimate with the
 * wider interval of beta is the one to report. All intervals are 95 %. Nothing here reads files or prints.
 */
#ifndef WL_LAW_FIT_FIT_H
#define WL_LAW_FIT_FIT_H

#include "stats/stats.h"

#define WL_LAW_CONFIDENCE 0.95

enum wl_law_response {
    WL_LAW_TIME,  /* time_s of an epoch */
    WL_LAW_ENERGY /* energy_j of an epoch */
};

struct wl_law_options {
    struct wl_strs by; /* columns that separate groups; empty: the default rule of wl_law_fit */
    enum wl_law_response response;
    int64_t drop_epochs; /* first epochs of a run that are left out; a run keeps at least one */
    bool thorough;       /* the competing curves, the break and the bootstrap too */
    const char *hold;    /* with an empty `by`: the batch size that separates groups, "local_batch" or "global_batch",
                            while accumulation does not; NULL: the one that varies less */
    double beyond;       /* departure: does the law of worker counts up to this one hold beyond it? 0: all but two */
};

/* ---- result ---- */

/* Ways to estimate the law. The first two are candidates for the one to report; the others are there to compare. */
enum wl_law_estimator {
    WL_LAW_RUN_MEANS,      /* least squares over runs */
    WL_LAW_CONFIG_MEANS,   /* over the means of worker counts */
    WL_LAW_POOLED_EPOCHS,  /* over epochs as if they were independent: too sure, as in most papers */
    WL_LAW_CONFIG_MEDIANS, /* over the medians of runs at each worker count */
    WL_LAW_WLS,            /* over the means of worker counts, weights runs / variance of runs there */
    WL_LAW_THEIL_SEN,      /* median of slopes between runs */
    WL_LAW_HUBER,          /* M-estimator over runs */
    WL_LAW_HC3,            /* over runs, errors for unequal scatter */
    WL_LAW_CR2,            /* over runs, errors for worker counts that move as a whole */
    WL_LAW_BOOTSTRAP,      /* over runs, BCa interval of 1999 draws of whole runs */
    WL_LAW_ESTIMATORS
};

/* One estimate. What the data or the method cannot give is NAN, and `why` says why. */
struct wl_law_estimate {
    const char *name;                 /* "run_means", "config_means" ... */
    size_t n;                         /* points under the line; 0: no line */
    double alpha, alpha_lo, alpha_hi; /* response at one worker */
    double beta, beta_se, beta_lo, beta_hi;
    double r2, r2_adj, p_beta; /* p: two-sided, against beta = 0 */
    double sigma, df;          /* residual sd of ln(response), degrees of freedom of beta */
    const char *why;           /* a sentence, or NULL */
    struct wl_ols line;        /* y = b[0] + b[1] ln N; of the first two only */
};

/* What the residuals of runs from the line say about it: normal, alike along N, and no curve left in them? */
struct wl_law_residuals {
    struct wl_hypothesis_test shapiro_wilk, anderson_darling, breusch_pagan, reset; /* p NAN where undefined */
    const char *why;                                                                /* why none is, or NULL */
};

/* Epochs as series, over the runs that have 20 or more of them. */
struct wl_law_series {
    size_t runs;
    double lag1;      /* correlation of an epoch with the next, behind the warm-up; mean over runs */
    double ess_share; /* independent epochs that would know as much, over epochs; mean over runs */
    /* Standard error of a run's mean ln(response) from its own epochs, by the autocorrelation and by batch means (40
     * epochs or more); root mean square over runs. Well below the scatter of runs: more epochs add nothing, more runs
     * do. */
    double run_se, run_se_batches;
    size_t warm_up;   /* the most epochs that MSER-5 would leave out of a run */
    size_t longer;    /* runs in which that is more than the rule leaves out */
    size_t unsettled; /* runs in which it is more than a quarter: perhaps they never settle */
};

/* y = b0 + b1 ln N + q (ln N)^2: does the line bend? RESET with a square is the same test here. */
struct wl_law_quadratic {
    double q, se, t, df, p; /* q < 0: the exponent grows with N, q > 0: it falls */
    double p_bh;            /* Benjamini and Hochberg's over the groups of a result */
    const char *basis;      /* the estimator whose points it was fitted to; NULL: it was not */
    const char *why;        /* a sentence where it was not, else NULL */
};

/* Two power laws that meet at one worker count; p by the supremum test of stats/stats.h against a single one. */
struct wl_law_breakpoint {
    double workers, lo, hi; /* where, 95 % interval by the profile; NAN where there is none */
    double beta1, beta2, p;
    const char *basis, *why; /* as of the quadratic */
};

/* A larger worker count against the law fitted to the smaller ones; p_holm over all of them. */
struct wl_law_departure {
    double workers;
    double excess_pct; /* response above the law, % */
    double t, df, p, p_holm;
};

struct wl_law_run {
    const char *label; /* as given in the table; NULL: it had none */
    double workers;
    size_t epochs, dropped;        /* used; first epochs left out */
    double *epoch_y;               /* [epochs] ln(response) of each; the `dropped` ones stand before it */
    double y;                      /* their mean */
    double ln_time_s, ln_energy_j; /* the same of each quantity; NAN where not measured */
    double samples;                /* mean over the epochs used; NAN where unknown */
    size_t row;                    /* of the table: the first one used */
    /* Sums over the epochs used that have both a time and an energy; NAN where there is none, or a part unknown. */
    double sum_time_s, sum_energy_j, sum_samples, sum_updates;
    double sum_energy_lo_j, sum_energy_hi_j; /* bounds of that energy: columns energy_lo_j and energy_hi_j */
    size_t paired;                           /* how many epochs that is */
    double studentised;                      /* residual from the run_means line, t(df - 1); NAN where undefined */
};

/* All runs at one worker count. Intervals of ratios to the smallest one, N0, are NAN where one side has fewer than two
 * runs. */
struct wl_law_config {
    double workers;
    size_t runs, epochs;
    double response;                       /* geometric mean over runs */
    double fitted, fitted_lo, fitted_hi;   /* the law there, with the interval of the curve */
    double time_s, energy_j;               /* of an epoch, geometric means over runs */
    struct wl_estimate speedup;            /* work per time over that of N0 */
    struct wl_estimate energy_ratio;       /* energy per work over that of N0 */
    double efficiency;                     /* speedup / (N / N0) */
    double local_beta, local_lo, local_hi; /* exponent at N by the quadratic; NAN where there is none */
};

/* A curve t(N) beside the power law, fitted to ln t of runs with positive terms; see src/law/fit/formulas.c for the
 * list. */
enum { WL_LAW_MODEL_PARAMS = 4 };

struct wl_law_model {
    const char *name, *formula; /* "amdahl", "W/N + c" */
    size_t k;
    const char *const *param;                                   /* [k] names */
    double value[WL_LAW_MODEL_PARAMS], se[WL_LAW_MODEL_PARAMS]; /* NAN where not fitted */
    /* Covariance of what was fitted: positive parameters by their logarithms; of a law with a break, ln a and the two
     * slopes at that break. */
    double cov[WL_LAW_MODEL_PARAMS * WL_LAW_MODEL_PARAMS];
    double sse, aicc, bic; /* sigma counts as a parameter */
    double weight;         /* Akaike weight among the ranked models */
    double llo_pct;        /* error at larger worker counts when fitted up to Nmax/2 and Nmax/4: root mean square, % */
    bool ranked;
    const char *why; /* why it is not; NULL: it is */
};

enum wl_law_scaling {
    WL_SCALING_UNKNOWN, /* samples were not recorded */
    WL_SCALING_STRONG,  /* every epoch has the same samples: work = epochs */
    WL_SCALING_WEAK,    /* samples in proportion to workers: work = samples */
    WL_SCALING_MIXED,   /* neither: epochs cannot be compared across worker counts */
};

/* Is it a power law? Decided at 5 % by the quadratic, which holds where worker counts move as a whole. Lack of fit
 * without a bend may be just such a movement, and is no verdict. */
enum wl_law_verdict {
    WL_LAW_NOT_TESTABLE, /* fewer than five worker counts, a range below 10, nothing to test against, or as above */
    WL_LAW_SUPPORTED,
    WL_LAW_REJECTED,
};

struct wl_law_key {
    const char *column, *value;
};

/* What became of the rows. rows = used + all the others. */
struct wl_law_counts {
    size_t rows, used;
    size_t first_epochs; /* left out by drop_epochs */
    size_t no_workers;   /* missing, or not positive */
    size_t no_response;  /* not measured */
    size_t not_positive; /* a response that has no logarithm */
    size_t repeated;     /* the same epoch of the same run, with the same response, again */
    size_t totals;       /* totals of a run whose epochs are in the table */
};

struct wl_law_group {
    struct wl_law_key *key; /* accumulation is derived */
    size_t n_key;
    const char *title; /* "resnet50, local_batch 16"; "all runs" without a key */
    enum wl_law_scaling scaling;
    bool estimated, simulated; /* some row that was used is so marked */
    struct wl_law_counts counts;

    struct wl_law_run *runs; /* in order of workers */
    size_t n_runs;
    struct wl_law_config *configs; /* in order of workers */
    size_t n_configs;

    struct wl_law_estimate estimates[WL_LAW_ESTIMATORS];
    const struct wl_law_estimate *law; /* the one of these to report; NULL: refused */
    struct wl_lack_of_fit lack_of_fit; /* of the line over runs */
    struct wl_law_residuals residuals;
    struct wl_law_series series;
    struct wl_law_quadratic quadratic;
    struct wl_law_breakpoint broken; /* with `thorough` only */
    struct wl_law_departure *departures;
    size_t n_departures;
    double beyond; /* the departures are from the law up to this worker count; NAN: not identifiable */
    struct wl_law_model *models;
    size_t n_models;
    const struct wl_law_model *best_model, *best_predictor; /* by AICc; by llo_pct; NULL: none is ranked */
    const char *no_models;                                  /* why there are no models, or NULL */
    enum wl_law_verdict verdict;
    const char *verdict_why; /* the tests behind it */
    const char *refused;     /* why there is no law; NULL: there is one */
    struct wl_strs notes;    /* sentences: what was left out, what cannot be said, and why */
};

struct wl_law_result {
    enum wl_law_response response;
    struct wl_law_group *groups; /* in the order of their keys */
    size_t n;
    struct wl_law_counts counts; /* over all groups */
};

/* Groups the table and fits each group. WL_ENOENT: a column of `by` that is not there; WL_EINVAL: drop_epochs or
 * beyond negative. Bad rows are counted and noted, and a group that cannot have a law says why in `refused`.
 *
 * Groups when `by` is empty: workload, hardware, power_cap_w, module_cap_w, clock_mhz and mem_clock_mhz separate
 * wherever they vary. Within them separates the batch size that is held fixed while workers change: of local_batch and
 * global_batch the one with fewer values (local_batch when equal). Gradient accumulation, global_batch / (workers x
 * local_batch), and the further settings of a campaign separate where they take two values at one worker count; what
 * follows the worker count does not. */
int wl_law_fit(const struct wl_observations *obs, const struct wl_law_options *options, struct wl_law_result *out,
               struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The law at a worker count, with the interval of the curve and the interval for one more run. All NAN without a
 * law, the intervals NAN without an error estimate. */
struct wl_law_point {
    double workers, value;
    double curve_lo, curve_hi;
    double run_lo, run_hi;
};
struct wl_law_point wl_law_at(const struct wl_law_group *g, double workers);

/* n >= 2 points, evenly spaced in ln N over the measured worker counts, to draw the law and its band. NULL without
 * a law. */
struct wl_law_point *wl_law_curve(const struct wl_law_group *g, size_t n, struct wl_arena *a);

/* Speed and energy of an epoch of one group over those of another at the same worker count, each with Welch's interval
 * over runs; NAN where one of them has no run there. */
struct wl_law_tradeoff {
    struct wl_estimate speed, energy;
};
struct wl_law_tradeoff wl_law_tradeoff(const struct wl_law_group *g, const struct wl_law_group *base, double workers,
                                       struct wl_arena *a);

/* The result as members of a JSON object: response, unit, rows, groups (docs/formats.md). */
void wl_law_json(const struct wl_law_result *r, struct wl_json *object);

/* The member "normalised": speed-up and energy of the same work against the smallest worker count. */
void wl_law_normalised_json(const struct wl_law_result *r, struct wl_json *object);

/* Names for output: "strong"; "time_s", "s" and "t". */
const char *wl_law_scaling_name(enum wl_law_scaling s);
const char *wl_law_verdict_name(enum wl_law_verdict v); /* "REJECTED" */
const char *wl_law_response_name(enum wl_law_response r);
const char *wl_law_response_unit(enum wl_law_response r);
const char *wl_law_response_symbol(enum wl_law_response r);

#endif
