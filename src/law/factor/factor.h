/* Does a factor, such as a power cap, change the law? */
#ifndef WL_LAW_FACTOR_FACTOR_H
#define WL_LAW_FACTOR_FACTOR_H

#include "law/fit/fit.h"
#include "settings/settings.h"

/* Comparison of ln(response) over the levels of one factor, with the worker count as a block (docs/adr/113); analyses
 * of covariance over runs and over means of worker counts beside it (docs/adr/072). */
struct wl_factor_options {
    const char *factor; /* a column: power_cap_w, clock_mhz, local_batch, hardware, an extra one ... */
    const char *base; /* the level that others are compared with; NULL: no cap, else the highest cap, else the first */
    struct wl_law_options law; /* `by` and the rule for epochs; beyond and thorough are not used */
    double margin;             /* equivalence margin: exponents that differ by less count as equal */
    double ratio_margin;       /* of ratios at one worker count: .05 for 5 % */
};

/* What the devices did at a level: means over its rows, NAN where missing. */
struct wl_factor_achieved {
    double clock[WL_CAP_KINDS]; /* MHz: the column `achieved` of each clock */
    double power_capped_pct;    /* share of the time in which the power limit held clocks down */
    double caps_acted_pct;      /* of a factor that is a cap: share of its rows whose cap acted; 0: never */
};

/* One level. Rows where the factor is missing are the level "uncapped" of caps and clocks; of other factors
 * they are excluded. */
struct wl_factor_level {
    struct wl_factor_achieved achieved;
    const char *value;        /* as text */
    struct wl_law_group law;  /* runs, configs and the two lines of this level alone */
    const char *reason;       /* why it is not compared, or NULL */
    double offset, offset_se; /* of ln(response) from the base at equal slopes; NAN where not compared */
};

struct wl_factor_pair {
    size_t a, b; /* levels; difference = beta of b - beta of a */
    double difference, se, lo, hi;
    double t, df, p, p_holm; /* against no difference; Holm over the pairs */
    double p_tukey;          /* by the studentised range of all compared levels */
    double p_same;           /* two one-sided tests against -margin and +margin, the larger p */
};

/* Tests over blocks, over runs, or over the means of worker counts. */
struct wl_factor_tests {
    const char *basis; /* "blocks", "run_means" or "config_means" */
    size_t points;
    double sigma, df;                       /* pooled scatter about a line for each level */
    double f, df1, p;                       /* equal slopes, F(df1, df) */
    double partial_eta2;                    /* share of the residual of the common slope that separate slopes explain */
    double beta, beta_se, beta_lo, beta_hi; /* the common slope, t(beta_df) */
    double beta_df;
    double sse_common, sse_separate;
    double *offset, *offset_se;   /* [levels] at the common slope, NAN where not compared */
    struct wl_factor_pair *pairs; /* [n_pairs] */
    size_t n_pairs;
    const char *reason; /* why there are no tests, or NULL */
};

/* Parallel levels against a factor that scales the work W under an overhead that it leaves alone, as a clock does: then
 * ln t of two levels differ along N as W does, by u(N) = (W/N) / (W/N + c). u is that of Amdahl's law through the
 * blocks, which do not depend on the differences of levels, so F is exact whatever u is. */
struct wl_factor_scaled_work {
    double overhead; /* share of the time at the largest shared worker count, by the blocks; NAN: not tested */
    double f, df1, df, p;
    double sigma; /* scatter about it */
    bool decides; /* instead of equal slopes: the blocks are closer to Amdahl's law than to a power law */
};

/* How much longer (or more energy) than the base. */
struct wl_factor_slowdown {
    size_t level;
    double workers; /* NAN: at every worker count, from equal slopes */
    struct wl_estimate ratio;
};

/* A ratio to the base at one worker count. */
struct wl_factor_quantity {
    struct wl_estimate ratio;          /* over runs: of these allocations (Welch) */
    struct wl_estimate configurations; /* with the prior's scatter of configurations: of other allocations too */
    double p_same; /* two one-sided tests that the ratio is within the margin; NAN without repeats */
};

/* A level at a worker count that the base has too; the base itself has the ratio 1. */
struct wl_factor_cell {
    size_t level, runs;
    double workers;
    double time_s, energy_j;                            /* of an epoch, geometric means over runs */
    struct wl_factor_quantity time, energy, power, edp; /* edp: energy x time */
    bool pareto; /* no other level there is at least as good in time and energy and better in one */
};

/* ln t = ln(W(level)/N + c): one overhead for all levels, work at the speed of each; levels + 1 parameters. */
struct wl_factor_overhead {
    double *w, *w_se; /* [levels], NAN where not compared */
    double c, c_se, sse, aicc;
    const char *reason; /* why it was not fitted or is not ranked, or NULL */
};

/* Where the epochs of levels are not the same work, times and energies are those of epochs of so many samples, which
 * the slopes, ratios and W are of too; those at one worker count (time_s, energy_j) stay as they were measured. */
struct wl_factor_work {
    double samples; /* NAN: the same work, or unknown */
    bool per_worker;
    const char *refusal; /* epochs differ, and not every run says by how much; or NULL */
};

enum wl_factor_verdict { WL_FACTOR_UNDECIDED, WL_FACTOR_DIFFERENT, WL_FACTOR_EQUIVALENT };

struct wl_factor_group {
    struct wl_law_key *key;
    size_t n_key;
    const char *title;
    const char *rows_name; /* "epochs", or "steps" and "tokens" as the work */
    enum wl_law_scaling scaling;
    bool estimated, simulated;
    struct wl_factor_level *levels; /* in order of value; uncapped last */
    size_t n_levels, compared;
    size_t base;    /* has a law, unless the group is refused */
    size_t highest; /* the last level with runs, law or not: the reference of speed and energy (wl_law_tradeoff) */
    struct wl_factor_tests over_blocks, over_runs, over_configs;
    struct wl_factor_scaled_work scaled_work; /* over blocks; of time */
    size_t shared_workers;                    /* worker counts that at least two compared levels have */
    const struct wl_factor_tests *tests;      /* over blocks; NULL: refused */
    double p_bh; /* of its equal slopes, Benjamini and Hochberg's over the groups of a result */
    struct wl_factor_slowdown *slowdowns;
    size_t n_slowdowns;
    struct wl_factor_cell *cells; /* also where slopes are refused */
    size_t n_cells;
    struct wl_factor_overhead overhead;
    double aicc_common, aicc_separate; /* over runs; NAN where undefined */
    const char *best_model;            /* "common_slope", "separate_slopes", "shared_overhead"; NULL */
    enum wl_factor_verdict verdict;
    const char *verdict_reason;
    struct wl_factor_work work;
    double runs_needed;             /* per level and worker count, to decide it; NAN where decided or unknown */
    const char *runs_needed_reason; /* its assumptions, or why it is unknown; NULL where decided */
    const char *refusal;            /* why nothing is compared, or NULL */
    struct wl_strs notes;
};

struct wl_factor_result {
    const char *factor;
    const struct wl_obs_work *work; /* of the observations */
    enum wl_law_response response;
    double margin, ratio_margin;
    struct wl_factor_group *groups;
    size_t n;
};

/* Groups as wl_law_fit, without the factor; a batch size as the factor replaces the rule for batches. WL_ENOENT: a
 * column is missing. WL_EINVAL: the factor is `workers`, `base` is not a level, the margin is not positive. */
int wl_factor_compare(const struct wl_observations *obs, const struct wl_factor_options *options,
                      struct wl_factor_result *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
void wl_factor_json(const struct wl_factor_result *r, struct wl_json *object);
const char *wl_factor_verdict_name(enum wl_factor_verdict v);

#endif
