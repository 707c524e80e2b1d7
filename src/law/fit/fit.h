/* Scaling laws: t = alpha N^-beta for each group of comparable runs, its uncertainty, and its limits.
 *
 * Method (docs/adr/070): the unit of inference is the run. Epochs of one run share its node, its clock and its
 * neighbours, so they are averaged first: y_r = mean of ln(response) over the epochs kept. The law is the least
 * squares line of y_r on ln N, once over runs and once over the means of the worker counts; the estimate with the
 * wider interval of beta is reported. All intervals are 95 %. Nothing here reads files or prints.
 */
#ifndef WL_LAW_FIT_FIT_H
#define WL_LAW_FIT_FIT_H

#include "law/partition.h"

#define WL_LAW_CONFIDENCE  0.95
#define WL_LAW_MARGIN      0.05
#define WL_LAW_WORKERS_MAX 1e12 /* larger worker counts are taken for mistakes */

enum wl_law_response {
    WL_LAW_TIME,  /* time_s of an epoch */
    WL_LAW_ENERGY /* energy_j of an epoch */
};

struct wl_law_options {
    struct wl_strs by; /* columns that separate groups; empty: the default rule of wl_law_fit */
    enum wl_law_response response;
    int64_t drop_epochs; /* first epochs of a run to exclude; a run keeps at least one */
    bool thorough;       /* candidate models and breakpoint too */
    bool bootstrap;      /* the estimator WL_LAW_BOOTSTRAP too, where its runs are not too few or too many */
    bool runs_only; /* groups, runs, worker counts and their speed-ups, but no fit: law is NULL, and what fits give is 0
                     */
    const char *fixed_batch; /* with an empty `by`: the batch size that separates groups, "local_batch" or
                            "global_batch", while accumulation does not; NULL: the one that varies less */
    double margin;           /* of the verdict: largest change of beta per factor of 10 that a power law may have; 0:
                            WL_LAW_MARGIN */
    double beyond;           /* departures are from the law up to this worker count; 0: up to the third largest */
};

/* ---- result ---- */

/* Estimators of the law. One of the first two is reported; the others are for comparison. */
enum wl_law_estimator {
    WL_LAW_RUN_MEANS,      /* least squares over runs */
    WL_LAW_CONFIG_MEANS,   /* over the means of worker counts */
    WL_LAW_POOLED_EPOCHS,  /* over epochs as if independent: intervals too narrow, as in most papers */
    WL_LAW_CONFIG_MEDIANS, /* over the medians of runs at each worker count */
    WL_LAW_WLS,            /* over the means of worker counts, weights runs / variance of runs there */
    WL_LAW_THEIL_SEN,      /* median of slopes between runs */
    WL_LAW_HUBER,          /* M-estimator over runs */
    WL_LAW_HC3,            /* over runs, heteroscedasticity-consistent errors */
    WL_LAW_CR2,            /* over runs, errors clustered by worker count */
    WL_LAW_BOOTSTRAP,      /* over runs, BCa interval from 1999 resamples of whole runs */
    WL_LAW_ESTIMATORS
};

/* One estimate. What the data or the method cannot give is NAN, and `reason` says why. */
struct wl_law_estimate {
    const char *name;                 /* "run_means", "config_means" ... */
    size_t n;                         /* points fitted; 0: no line */
    double alpha, alpha_lo, alpha_hi; /* response at one worker */
    double beta, beta_se, beta_lo, beta_hi;
    double r2, r2_adj, p_beta; /* p: two-sided, against beta = 0 */
    double sigma, df;          /* residual sd of ln(response), degrees of freedom of beta */
    const char *reason;        /* a sentence, or NULL */
    struct wl_ols line;        /* y = b[0] + b[1] ln N; of the first two only */
};

/* Tests of the residuals of runs: normality, equal variance along N, missing curvature (RESET). */
struct wl_law_residuals {
    struct wl_hypothesis_test shapiro_wilk, anderson_darling, breusch_pagan, reset; /* p NAN where undefined */
    const char *reason;                                                             /* why none is defined, or NULL */
};

/* Epochs as series, over the runs that have 20 or more of them. */
struct wl_law_series {
    size_t runs;
    double lag1;      /* correlation of an epoch with the next, after the warm-up; mean over runs */
    double ess_share; /* effective sample size over epochs; mean over runs */
    /* Standard error of a run's mean ln(response) from its own epochs, by the autocorrelation and by batch means (40
     * epochs or more); root mean square over runs. Well below the scatter of runs: more epochs add nothing, more runs
     * do. */
    double run_se, run_se_batches;
    size_t warm_up;             /* largest number of epochs that MSER-5 would truncate from a run */
    size_t runs_longer_warm_up; /* runs in which that is more than drop_epochs */
    size_t runs_unsettled;      /* runs in which it is more than a quarter: perhaps they never settle */
};

/* y = b0 + b1 ln N + q (ln N)^2: test of curvature; the same as RESET with a square. */
struct wl_law_quadratic {
    double q, se, t, df, p; /* q < 0: the exponent grows with N, q > 0: it falls */
    double p_bh;            /* Benjamini and Hochberg's over the groups of a result */
    const char *basis;      /* the estimator whose points it was fitted to; NULL: not fitted */
    const char *reason;     /* why it was not fitted, or NULL */
};

/* Two power laws that meet at one worker count; p by the supremum test of stats/stats.h against a single one. What the
 * runs of a worker count share looks like a break: it is evidence only with WL_LAW_BREAK_SIDE worker counts on each
 * side. */
enum { WL_LAW_BREAK_SIDE = 5 };
struct wl_law_breakpoint {
    double workers, lo, hi; /* breakpoint, 95 % profile interval; NAN where there is none */
    double beta1, beta2, p;
    const char *basis, *reason; /* as in the quadratic */
    size_t before, after;       /* worker counts up to the breakpoint, and above it */
    bool compared;              /* both are at least WL_LAW_BREAK_SIDE */
};

/* A larger worker count against the law fitted to the smaller ones; p_holm over all of them. */
struct wl_law_departure {
    double workers;
    double excess_pct; /* response above the law, % */
    double t, df, p, p_holm;
};

struct wl_law_run {
    const char *label; /* as given in the table; NULL: none */
    double workers;
    size_t epochs, dropped;        /* used; first epochs excluded */
    double *epoch_y;               /* [epochs] ln(response) of each, preceded by the `dropped` ones */
    double y;                      /* their mean */
    double ln_time_s, ln_energy_j; /* the same of each quantity; NAN where not measured */
    double samples;                /* mean over the epochs used; NAN where unknown */
    size_t row;                    /* of the table: the first one used */
    /* Sums over the epochs used that have both a time and an energy; NAN where there is none, or a part unknown. */
    double sum_time_s, sum_energy_j, sum_samples, sum_updates;
    double sum_energy_lo_j, sum_energy_hi_j; /* bounds of that energy: columns energy_lo_j and energy_hi_j */
    size_t n_paired;                         /* number of those epochs */
    double studentised;                      /* residual from the run_means line, t(df - 1); NAN where undefined */
};

/* Mean over runs of a logarithm, its variance (NAN: fewer than two runs), and how many runs have it. */
struct wl_law_mean {
    double ln, variance, runs;
};

/* All runs at one worker count. Intervals of ratios to the smallest one, N0, are NAN where either side has fewer than
 * two runs. */
struct wl_law_config {
    double workers;
    size_t runs, epochs;
    double response;                                        /* geometric mean over runs */
    double fitted, fitted_lo, fitted_hi;                    /* the law there, with its confidence interval */
    double time_s, energy_j;                                /* of an epoch, geometric means over runs */
    struct wl_law_mean time, energy;                        /* of an epoch; of a sample where runs recorded them */
    struct wl_estimate speedup;                             /* work per time over that of N0 */
    struct wl_estimate energy_ratio;                        /* energy per work over that of N0 */
    struct wl_estimate config_speedup, config_energy_ratio; /* the same, of other allocations */
    double efficiency;                                      /* speedup / (N / N0) */
    double local_beta, local_lo, local_hi; /* exponent at N by the quadratic; NAN where there is none */
};

/* A candidate model t(N), fitted to ln t of runs with positive terms; src/law/fit/formulas.c lists them. */
enum { WL_LAW_MODEL_PARAMS = 4 };

struct wl_law_model {
    const char *name, *formula; /* "amdahl", "W/N + c" */
    size_t k;
    const char *const *param;                                   /* [k] names */
    double value[WL_LAW_MODEL_PARAMS], se[WL_LAW_MODEL_PARAMS]; /* NAN where not fitted */
    /* Covariance of the fitted parameters: positive ones by their logarithms; of the segmented law, ln a and the two
     * slopes at the breakpoint. */
    double cov[WL_LAW_MODEL_PARAMS * WL_LAW_MODEL_PARAMS];
    double sse, aicc, bic; /* sigma counts as a parameter */
    double weight;         /* Akaike weight among the ranked models */
    double llo_pct;        /* leave-largest-out error: fitted up to Nmax/2 and Nmax/4, root mean square above, % */
    bool ranked;
    const char *reason; /* why it is not ranked, or NULL */
};

enum wl_law_scaling {
    WL_SCALING_UNKNOWN, /* samples were not recorded */
    WL_SCALING_STRONG,  /* every epoch has the same samples: work = epochs */
    WL_SCALING_WEAK,    /* samples in proportion to workers: work = samples */
    WL_SCALING_MIXED,   /* neither: epochs cannot be compared across worker counts */
};

/* Is it a power law? A test of equivalence on the means of the worker counts, so that what all runs of a worker count
 * share is error and not curvature. SUPPORTED: the exponent changes by less than the margin (two one-sided tests at 5
 * %), beta differs from 0 by at least .05, and the work of epochs is comparable. REJECTED: it changes by more than the
 * margin, and the 95 % interval of the change excludes 0. Else UNDECIDED. */
enum wl_law_verdict { WL_LAW_UNDECIDED, WL_LAW_SUPPORTED, WL_LAW_REJECTED };

/* Change of beta per factor of 10 in the worker count, over the measured range, by a quadratic in log-log. NAN: not
 * tested (verdict_reason says why). */
struct wl_law_equivalence {
    double margin;
    double change, se, lo, hi, df; /* 95 % interval */
    double smallest_margin;        /* the power law holds for any margin above */
    double needs_workers;          /* doublings up to here would decide with a power of 80 %; NAN: none would */
    size_t needs_runs;             /* so many runs at each worker count would; 0: none would */
};

/* Rows by what became of them: rows = used + all the others. */
struct wl_law_counts {
    size_t rows, used;
    size_t first_epochs; /* excluded by drop_epochs */
    size_t no_workers;   /* missing, not positive, or beyond WL_LAW_WORKERS_MAX or its inverse */
    size_t no_response;  /* not measured */
    size_t not_positive; /* a response that has no logarithm */
    size_t repeated;     /* copies: same run, epoch and response */
    size_t totals;       /* totals of a run whose epochs are in the table */
};

struct wl_law_group {
    struct wl_law_key *key; /* accumulation is derived */
    size_t n_key;
    const char *title;              /* "resnet50, local_batch 16"; "all runs" without a key */
    const struct wl_obs_work *work; /* of the observations */
    const char *counted;            /* "samples", "tokens" */
    enum wl_law_scaling scaling;
    bool estimated, simulated; /* some row in use is marked so */
    struct wl_law_counts counts;

    struct wl_law_run *runs; /* in order of workers */
    size_t n_runs;
    struct wl_law_config *configs; /* in order of workers */
    size_t n_configs;

    struct wl_law_estimate estimates[WL_LAW_ESTIMATORS];
    const struct wl_law_estimate *law; /* the one of these to report; NULL: no law */
    struct wl_lack_of_fit lack_of_fit; /* of the line over runs */
    struct wl_law_residuals residuals;
    struct wl_law_series series;
    struct wl_law_quadratic quadratic;
    struct wl_law_breakpoint breakpoint; /* with `thorough` only */
    struct wl_law_departure *departures;
    size_t n_departures;
    double departure_base; /* the departures are from the law up to this worker count; NAN: not identifiable */
    struct wl_law_model *models;
    size_t n_models;
    const struct wl_law_model *best_model, *best_predictor; /* by AICc; by llo_pct; NULL: none is ranked */
    const char *no_models_reason;                           /* why there are no models, or NULL */
    struct wl_law_equivalence equivalence;
    enum wl_law_verdict verdict;
    const char *verdict_reason; /* the evidence for it in words, or what is missing */
    const char *no_law_reason;  /* why there is no law; NULL: there is one */
    struct wl_strs notes;       /* sentences: excluded rows, limits of the data */
};

struct wl_law_result {
    enum wl_law_response response;
    struct wl_law_group *groups; /* in the order of their keys */
    size_t n;
    struct wl_law_counts counts; /* over all groups */
};

/* Groups the table and fits each group. WL_ENOENT: a column of `by` is missing; WL_EINVAL: drop_epochs or beyond is
 * negative. Bad rows are counted and noted, and a group without a law says why in `no_law_reason`.
 *
 * Groups when `by` is empty: each setting separates by its `group` in src/settings/settings.def. The workload, and
 * wherever they vary hardware, caps, clocks, precision and recompute, come first. Within them, the batch size that is
 * held fixed while workers change separates: of local_batch and global_batch the one with fewer values (local_batch
 * when equal). Gradient accumulation, global_batch / (workers x local_batch), threads and the user's own axes separate
 * where they take two values at one worker count; what follows the worker count does not. Nodes and epochs never
 * separate. Last come rows whose work differs at one worker count: by unit or a metric without values, then by the
 * samples of an epoch or of a worker, whichever has fewer values (within 5 %). */
int wl_law_fit(const struct wl_observations *obs, const struct wl_law_options *options, struct wl_law_result *out,
               struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The law at a worker count, with its confidence interval and the prediction interval for one more run. All NAN without
 * a law, the intervals NAN without an error estimate. */
struct wl_law_point {
    double workers, value;
    double curve_lo, curve_hi;
    double run_lo, run_hi;
};
struct wl_law_point wl_law_at(const struct wl_law_group *g, double workers);

/* n >= 2 points, evenly spaced in ln N over the measured worker counts, to draw the law and its band. NULL without
 * a law. */
struct wl_law_point *wl_law_curve(const struct wl_law_group *g, size_t n, struct wl_arena *a);

/* Ratio of two groups at one worker count: its logarithm, Welch's standard error over runs and degrees of freedom; NAN
 * where one has no run there, the error NAN where one has fewer than two. */
struct wl_law_ratio {
    double ln, se, df;
};
/* Of the runs of two settings: above / below. se and df are NAN where a side has fewer than two. */
struct wl_law_ratio wl_law_ratio_of_means(const struct wl_law_mean *above, const struct wl_law_mean *below);
struct wl_estimate wl_law_ratio_estimate(const struct wl_law_ratio *r); /* with the 95 % interval */
/* Of other allocations of the same configurations: each side gains the prior's scatter of configurations, which is
 * known: it has no degrees of freedom to lose (Satterthwaite 1946). */
struct wl_estimate wl_law_ratio_of_configurations(const struct wl_law_ratio *r);

/* Of an epoch over that of the base; of the same work where both recorded their samples. edp: energy x time. */
struct wl_law_tradeoff {
    struct wl_law_ratio time, energy, power, edp;
};
struct wl_law_tradeoff wl_law_tradeoff(const struct wl_law_group *g, const struct wl_law_group *base, double workers,
                                       struct wl_arena *a);

/* The result as members of a JSON object: response, unit, rows, groups (docs/formats.md). */
void wl_law_json(const struct wl_law_result *r, struct wl_json *object);

/* The member "normalised": speedup and energy of the same work over the smallest worker count. */
void wl_law_normalised_json(const struct wl_law_result *r, struct wl_json *object);

/* Names for output: "strong"; "time_s", "s" and "t". */
const char *wl_law_scaling_name(enum wl_law_scaling s);
const char *wl_law_verdict_name(enum wl_law_verdict v);     /* "REJECTED" */
const char *wl_law_rows_name(const struct wl_law_group *g); /* "epochs", or "steps" and "tokens" as the work */
const char *wl_law_response_name(enum wl_law_response r);
const char *wl_law_response_unit(enum wl_law_response r);
const char *wl_law_response_symbol(enum wl_law_response r);

#endif
