/* Scaling laws: t = alpha N^-beta for each group of comparable runs, how sure it is, and what cannot be said.
 *
 * Method (docs/adr/070): the unit of inference is the run. Epochs of one run share its node, its clock and its
 * neighbours, so they are averaged first: y_r = mean of ln(response) over the epochs kept. The law is the least
 * squares line of y_r on ln N, once over runs and once over the means of the worker counts; the estimate with the
 * wider interval of beta is the one to report. All intervals are 95 %. Nothing here reads files or prints.
 */
#ifndef WL_LAW_LAW_H
#define WL_LAW_LAW_H

#include "stats/stats.h"

#define WL_LAW_LEVEL 0.95

enum wl_law_response {
    WL_LAW_TIME,  /* time_s of an epoch */
    WL_LAW_ENERGY /* energy_j of an epoch */
};

struct wl_law_options {
    struct wl_strs by; /* columns that separate groups; empty: the default rule of wl_law_fit */
    enum wl_law_response response;
    int64_t drop_epochs; /* first epochs of a run that are left out; a run keeps at least one */
    bool thorough;       /* the competing curves, the break and the bootstrap too */
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
    struct wl_test shapiro_wilk, anderson_darling, breusch_pagan, reset; /* p NAN where undefined */
    const char *why;                                                     /* why none is, or NULL */
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
struct wl_law_break {
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

/* A curve t(N) beside the power law, fitted to ln t of runs with positive terms; see src/law/models.c for the list. */
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
    struct wl_law_break broken; /* with `thorough` only */
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
 * Groups when `by` is empty: workload, hardware, power_cap_w, clock_mhz and mem_clock_mhz separate wherever they vary.
 * Within them separates the batch size that is held fixed while workers change: of local_batch and global_batch the one
 * with fewer values (local_batch when equal). Gradient accumulation, global_batch / (workers x local_batch), and the
 * further settings of a campaign separate where they take two values at one worker count; what follows the worker
 * count does not. */
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

/* ---- prediction ---- */

/* One curve's part in a prediction. */
struct wl_law_voice {
    const struct wl_law_model *model;
    double weight;    /* Akaike weight among the curves that take part; NAN: it does not */
    double value, se; /* response; standard error of its logarithm, without the scatter of a run */
    double scale, df; /* of one run's logarithm: error of the curve, scatter and error at larger worker counts */
    const char *why;  /* why it does not take part, or NULL */
};

/* One more epoch at a worker count: the mixture of the curves by their weights. The interval is for the mean of one
 * more run; beyond the measured worker counts it holds the error that each curve made at larger ones when fitted to
 * smaller ones. */
struct wl_law_forecast {
    double workers, ratio;       /* over the nearest end of what was measured: N/Nmax above, N/Nmin below, 1 within */
    double value, lo, hi;        /* median and 95 %; NAN when refused, the ends NAN without an error */
    struct wl_law_voice *voices; /* one a model of the group */
    size_t n_voices, speaking;
    const char *basis;   /* "models", or "power_law" where there are no curves; NULL: refused */
    const char *refused; /* why, or NULL */
    struct wl_strs notes;
};

/* Refuses beyond 4 times the measured range, and beyond the range where no curve foretold larger worker counts from
 * smaller ones within 25 %, unless forced. The group was fitted with `thorough`. */
struct wl_law_forecast wl_law_foretell(const struct wl_law_group *g, double workers, bool force, struct wl_arena *a);

/* The result as members of a JSON object: response, unit, rows, groups (docs/formats.md). */
void wl_law_json(const struct wl_law_result *r, struct wl_json *object);

/* The member "normalised": speed-up and energy of the same work against the smallest worker count. */
void wl_normalised_json(const struct wl_law_result *r, struct wl_json *object);

/* Names for output: "strong"; "time_s", "s" and "t". */
const char *wl_law_scaling_name(enum wl_law_scaling s);
const char *wl_law_verdict_name(enum wl_law_verdict v); /* "REJECTED" */
const char *wl_law_response_name(enum wl_law_response r);
const char *wl_law_response_unit(enum wl_law_response r);
const char *wl_law_response_symbol(enum wl_law_response r);

/* ---- does a factor change the law? ---- */

/* Analysis of covariance of ln(response) over the levels of one factor (docs/adr/072). */
struct wl_factor_options {
    const char *factor; /* a column: power_cap_w, clock_mhz, mem_clock_mhz, local_batch, hardware, an extra one ... */
    const char *base;   /* the level that others are held against; NULL: no cap, else the highest cap, else the first */
    struct wl_law_options law; /* `by` and the rule for epochs; beyond and thorough are not used */
    double margin;             /* exponents that differ by less count as the same */
};

/* What the devices did at a level: means over its rows of the columns of these names, NAN where there are none. */
struct wl_factor_achieved {
    double clock_mhz, mem_clock_mhz; /* achieved_clock_mhz, achieved_mem_clock_mhz */
    double power_capped_pct;         /* share of the time in which the power limit held clocks down */
    double caps_acted_pct;           /* of a factor that is a cap: share of these caps that acted; 0: none ever did */
};

/* One level. Rows where the factor is missing are the level "uncapped" of caps and clocks; of other factors
 * they are left out. */
struct wl_factor_level {
    struct wl_factor_achieved achieved;
    const char *value;        /* as text */
    struct wl_law_group law;  /* runs, configs and the two lines of this level alone */
    const char *why;          /* why it is not compared, or NULL */
    double offset, offset_se; /* of ln(response) from the base at equal slopes; NAN where not compared */
};

struct wl_factor_pair {
    size_t a, b; /* levels; difference = beta of b - beta of a */
    double difference, se, lo, hi;
    double t, df, p, p_holm; /* against no difference; Holm over the pairs */
    double p_tukey;          /* by the studentised range of all compared levels */
    double p_same;           /* two one-sided tests against -margin and +margin, the larger p */
};

/* Tests over runs, or over the means of worker counts. */
struct wl_factor_tests {
    const char *basis; /* "run_means" or "config_means" */
    size_t points;
    double sigma, df;                       /* pooled scatter about a line for each level */
    double f, df1, p;                       /* equal slopes, F(df1, df) */
    double partial_eta2;                    /* share of what the common slope leaves that the separate ones explain */
    double beta, beta_se, beta_lo, beta_hi; /* the common slope, t(beta_df) */
    double beta_df;
    double sse_common, sse_separate;
    double *offset, *offset_se;   /* [levels] at the common slope, NAN where not compared */
    struct wl_factor_pair *pairs; /* [n_pairs] */
    size_t n_pairs;
    const char *why; /* why there are no tests, or NULL */
};

/* How much longer (or more energy) than the base. */
struct wl_factor_slowdown {
    size_t level;
    double workers; /* NAN: at every worker count, from equal slopes */
    struct wl_estimate ratio;
};

/* ln t = ln(W(level)/N + c): the same overhead beside slower or faster work, levels + 1 parameters. */
struct wl_factor_overhead {
    double *w, *w_se; /* [levels], NAN where not compared */
    double c, c_se, sse, aicc;
    const char *why; /* why it was not fitted or is not ranked, or NULL */
};

enum wl_factor_verdict { WL_FACTOR_UNDECIDED, WL_FACTOR_DIFFERENT, WL_FACTOR_EQUIVALENT };

struct wl_factor_group {
    struct wl_law_key *key;
    size_t n_key;
    const char *title;
    enum wl_law_scaling scaling;
    bool estimated, simulated;
    struct wl_factor_level *levels; /* in order of value; uncapped last */
    size_t n_levels, compared;
    size_t base;
    struct wl_factor_tests over_runs, over_configs;
    const struct wl_factor_tests *tests; /* of the two the one with the wider interval; NULL: refused */
    double p_bh;                         /* of its equal slopes, Benjamini and Hochberg's over the groups of a result */
    struct wl_factor_slowdown *slowdowns;
    size_t n_slowdowns;
    struct wl_factor_overhead overhead;
    double aicc_common, aicc_separate; /* over runs; NAN where undefined */
    const char *best_model;            /* "common_slope", "separate_slopes", "shared_overhead"; NULL */
    enum wl_factor_verdict verdict;
    const char *verdict_why;
    double runs_needed;          /* at each level and worker count, to settle it; NAN where decided or not known */
    const char *runs_needed_why; /* what it rests on, or why there is none; NULL where decided */
    const char *refused;
    struct wl_strs notes;
};

struct wl_factor_result {
    const char *factor;
    enum wl_law_response response;
    double margin;
    struct wl_factor_group *groups;
    size_t n;
};

/* Groups as wl_law_fit, the factor apart: a batch size as the factor replaces the rule for batches. WL_ENOENT: a
 * column that is not there. WL_EINVAL: the factor is `workers`, `base` is no level, margin not positive. */
int wl_factor_compare(const struct wl_observations *obs, const struct wl_factor_options *options,
                      struct wl_factor_result *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
void wl_factor_json(const struct wl_factor_result *r, struct wl_json *object);
const char *wl_factor_verdict_name(enum wl_factor_verdict v);

/* ---- what a published table of exponents implies ---- */

/* One line of the table. `half` is half a unit of the last printed place: the number stands for value -+ half. */
struct wl_audit_number {
    double value, half; /* NAN where not printed */
};
struct wl_audit_row {
    int line;            /* of the file, for messages */
    const char *group;   /* slopes of one group are compared with each other */
    const char *level;   /* "1380" */
    const char *setting; /* rows of one setting, in whatever group, should agree; NULL: none given */
    struct wl_audit_number beta, r2, se;
    double n;            /* points under the line; NAN where not printed */
    double n_min, n_max; /* worker counts it ran over; NAN where not printed */
};

/* What a row implies. Standard error from R2: se = |beta| sqrt((1/R2 - 1) / (n - 2)), which is what least squares
 * with one slope gives; lo and hi over all numbers that round to the printed ones. */
struct wl_audit_implied {
    double n;              /* as printed, or assumed */
    double r2;             /* as printed; the middle of what rounds to it where that reaches 1 */
    double se, lo, hi, df; /* NAN where it cannot be had */
    bool from_r2;          /* else as printed */
    bool contradicts;      /* the printed standard error is not one that R2 and n allow */
    double r2_of_se;       /* the R2 that the printed standard error belongs to */
    /* c/W of the W/N + c through which a straight line has this beta, its R2 and error. */
    double share, curve_r2, curve_se;
    const char *curve_why; /* why there is no such curve, or NULL */
    const char *why;       /* why there is no error, or NULL */
};

/* Welch's test of two slopes of a group: at the printed values, and with the nearest slopes and the largest errors
 * that round to them. */
struct wl_audit_pair {
    size_t a, b; /* rows; difference = beta of b - beta of a */
    double difference, t, df, p, p_holm, p_worst, p_worst_holm;
    double lo, hi; /* 95 % */
};

struct wl_audit_group {
    const char *name;
    size_t *rows, n;
    struct wl_audit_pair *pairs;
    size_t n_pairs;
    double q, q_df, q_p, q_p_worst; /* homogeneity: sum of (beta - weighted mean)^2 / se^2, chi-square */
    const char *q_why;              /* why it is not tested, or NULL */
};

struct wl_audit {
    const struct wl_audit_row *rows;
    struct wl_audit_implied *implied; /* [n] */
    size_t n;
    struct wl_audit_group *groups;
    size_t n_groups;
    struct wl_strs findings; /* sentences: what is there */
    struct wl_strs limits;   /* sentences: what the table cannot support */
};

/* Rows of a group stand in any order. assumed_n is used where n is not printed (NAN: such rows have no error).
 * WL_EINVAL names the line whose numbers cannot be. Source: Cochran 1954 (Q), Welch 1947. */
int wl_audit_table(const struct wl_audit_row *rows, size_t n, double assumed_n, struct wl_audit *out,
                   struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
void wl_audit_json(const struct wl_audit *audit, struct wl_json *object);

/* ---- energy against worker-hours ---- */

struct wl_energy_options {
    struct wl_strs by;   /* columns that separate groups; empty: workload and hardware where they vary */
    int64_t drop_epochs; /* 0: warm-up costs energy too */
};

/* Energy of a run: kwh and worker-hours over the epochs that have both. */
struct wl_energy_run {
    const char *label;
    double workers, local_batch;
    double worker_h, kwh, rate;                        /* rate: kWh a worker-hour */
    double kwh_lo, kwh_hi;                             /* how far its measurement may be off; NAN where not told */
    double samples_per_worker_h, updates_per_worker_h; /* NAN where not recorded */
    double identity;         /* energy over power_w x time, 1 where they agree; NAN without power_w */
    double carbon_g_per_kwh; /* the column of that name, of the run's first row; NAN: none */
};

/* A coefficient with its 95 % interval, and p against 0. */
struct wl_energy_term {
    double value, se, lo, hi, p;
};

struct wl_energy_group {
    struct wl_law_key *key;
    size_t n_key;
    const char *title;
    bool estimated, simulated;
    struct wl_law_counts counts;
    struct wl_energy_run *runs; /* in order of workers */
    size_t n;
    double kwh, worker_h;          /* sums over runs */
    double kwh_lo, kwh_hi;         /* sums of the bounds; NAN as soon as one run has none */
    double carbon_g_per_kwh;       /* mean over the energy of the runs; NAN as soon as one has none */
    double rate, rate_cv;          /* mean of the rates, and sd / mean */
    double rate_cv_lo, rate_cv_hi; /* BCa interval over runs; NAN below five runs */
    double rate_least, rate_most;
    double rate_of_sums;                          /* sum kWh / sum worker-hours */
    struct wl_energy_term origin;                 /* kWh = k worker-hours */
    double origin_r2;                             /* about 0: near 1 whatever the data */
    struct wl_energy_term base, slope;            /* kWh = base + slope worker-hours */
    double r2, sigma, df;                         /* about the mean */
    struct wl_energy_term exponent;               /* ln kWh = c + exponent ln worker-hours; p against 1 */
    const char *why;                              /* why there are no fits, or NULL */
    struct wl_energy_term by_samples, by_updates; /* standardised coefficients of the rate on both per worker-hour */
    double drivers_r2, vif;
    const char *drivers_why; /* why there are none, or NULL */
    double identity_worst;   /* energy over power x time furthest from 1; NAN: not checked */
    struct wl_strs notes;
};

struct wl_energy_result {
    struct wl_energy_group *groups;
    size_t n;
    double f, df1, df2, p; /* one slope for all groups, beside an intercept each */
    const char *why;       /* why that is not tested, or NULL */
};

/* Runs that were measured, and nothing filled in: a row without a time or an energy is left out and counted. Source:
 * Huber et al. 2025 (kWh on GPU-hours, drivers). WL_ENOENT: a column of `by` that is not there. */
int wl_energy_fit(const struct wl_observations *obs, const struct wl_energy_options *options,
                  struct wl_energy_result *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
void wl_energy_json(const struct wl_energy_result *r, struct wl_json *object);

/* ---- until a metric reaches a value ---- */

/* All runs of one worker count that told the metric. Means are over those that reached it, from the beginning of a run
 * to the end of the first epoch that did; the intervals are NAN where a run did not, or there is only one. */
struct wl_target_config {
    double workers;
    size_t runs, reached;
    double epochs;                       /* mean */
    struct wl_estimate time_s, energy_j; /* geometric means */
};

struct wl_target_group {
    struct wl_law_key *key;
    size_t n_key;
    const char *title;
    bool estimated, simulated;
    struct wl_target_config *configs; /* in order of workers */
    size_t n;
    struct wl_strs notes;
};

struct wl_target_result {
    const char *metric;
    double value;
    bool rising; /* reached at >= value, as the metric rises over runs; else at <= value */
    struct wl_target_group *groups;
    size_t n;
};

/* Groups as wl_law_fit, over the epochs of runs. WL_ENOENT: no epoch has the metric, or a column of `by` is not there.
 */
int wl_target_reach(const struct wl_observations *obs, const struct wl_strs *by, const char *metric, double value,
                    struct wl_target_result *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
void wl_target_json(const struct wl_target_result *r, struct wl_json *object);

#endif
