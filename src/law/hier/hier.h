/* Hierarchical model of a response against the worker count:
 *
 *   ln t(run r of configuration i) = a + s(N_i; z) + u_i + e_ir
 *   u ~ N(0, tau^2 (I + drift K)),  K_ij = min(x_i, x_j),  x = log2(N / smallest N);  e ~ N(0, sigma^2 + epochs)
 *
 * a is flat; the curve s is one of a few families with one or two shape parameters z; the effect u of a configuration
 * is independent of the others but for a random walk over doublings, which widens a prediction with its distance. All
 * other priors are proper, so the weights of families are comparable. Everything is a sum over a deterministic grid of
 * (z, tau, sigma): there is no optimizer and no sampling, nothing can fail to converge, and two worker counts give an
 * answer. Derivation and constants: docs/adr/111. Nothing here reads files or prints. */
#ifndef WL_LAW_HIER_HIER_H
#define WL_LAW_HIER_HIER_H

#include "base/base.h"

/* Curves s(N) with s = 0 at the largest worker count R; p and q are shares of the response at R. */
enum wl_hier_family {
    WL_HIER_POWER,         /* -b ln(N/R) */
    WL_HIER_AMDAHL,        /* ln((1-p) R/N + p) */
    WL_HIER_POWER_CONST,   /* ln((1-p) (R/N)^b + p) */
    WL_HIER_AMDAHL_LOG,    /* ln((1-p-q) R/N + p + q ln N / ln R) */
    WL_HIER_AMDAHL_LINEAR, /* ln((1-p-q) R/N + p + q N/R): the Universal Scalability Law (Gunther 1993) */
    /* Mean power of a worker. */
    WL_HIER_FLAT,  /* 0 */
    WL_HIER_SLOPE, /* b ln(N/R) */
    WL_HIER_IDLE,  /* ln(c + (1-c) u), u the compute share of an Amdahl curve */
    WL_HIER_FAMILIES
};

/* Every constant of the model. sd are of ln(response). */
struct wl_hier_prior {
    double tau, sigma;               /* scales of the half-Cauchy priors of the sd of configurations and of runs */
    double tau_min, tau_max;         /* ends of the grid of tau */
    size_t tau_nodes, sigma_nodes;   /* evenly spaced in ln tau and ln sigma */
    double exponent, exponent_sd;    /* b ~ normal */
    double compute_share, add_share; /* shares at R ~ Dirichlet(compute_share, 1/2 constant, add_share log or linear) */
    double drift;                    /* variance of the random walk per doubling, in tau^2 */
    size_t two_shape_workers;        /* distinct worker counts that a family of two shape parameters needs */
    double weight[WL_HIER_FAMILIES]; /* prior weights; 0: the family is not considered */
};
extern const struct wl_hier_prior wl_hier_time_prior;   /* response per work */
extern const struct wl_hier_prior wl_hier_power_prior;  /* mean power of a worker */
extern const struct wl_hier_prior wl_hier_energy_prior; /* energy per work and worker: time x power */

const char *wl_hier_family_name(enum wl_hier_family f);    /* "amdahl_log" */
const char *wl_hier_family_formula(enum wl_hier_family f); /* "W/N + c + g log2 N" */
size_t wl_hier_family_shapes(enum wl_hier_family f);       /* 1 or 2 */

/* One run: mean of the ln(response) of its epochs, and their sum of squares about it. `config` numbers the
 * configurations 0..; runs of one configuration have the same worker count. */
struct wl_hier_run {
    double workers;
    size_t config, epochs;
    double mean, sum_squares;
};

/* Runs reduced once, in one pass; nothing later depends on their number. */
struct wl_hier_data {
    struct wl_hier_class *classes; /* runs of one configuration with the same number of epochs */
    size_t n_classes;
    double *workers; /* [n_configs], ascending */
    size_t *runs;    /* [n_configs] */
    size_t n_configs, n_workers /* distinct */, n_runs;
    double epoch_variance; /* of one epoch about its run; 0 where all runs have the same number: part of sigma then */
    double typical_epochs; /* of a run: the median */
};
/* WL_EINVAL: fewer than two worker counts, or a number that is not finite and positive where it must be. */
int wl_hier_reduce(const struct wl_hier_run *runs, size_t n, struct wl_hier_data *out, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

/* The posterior. */
struct wl_hier_fit {
    double weight[WL_HIER_FAMILIES];      /* posterior weights; sum 1 */
    const char *reason[WL_HIER_FAMILIES]; /* why a family is left out, or NULL */
    double tau, sigma;                    /* sd of configurations and of runs: geometric means over the posterior */
    const struct wl_hier_prior *prior;
    const struct wl_hier_data *data;
    struct wl_hier_posterior *posterior; /* nodes and their weights */
};
/* data and prior must outlive the fit. WL_EINVAL: a constant of the prior is out of
 * range. WL_ENOENT: the prior leaves no family. */
int wl_hier_fit(const struct wl_hier_data *data, const struct wl_hier_prior *prior, struct wl_hier_fit *out,
                struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* A mixture of normal distributions of ln(response). */
struct wl_hier_mixture {
    double *weight, *mean, *sd; /* [n]; weights sum to 1 */
    size_t n;
};
enum wl_hier_what {
    WL_HIER_CURVE,  /* the curve: what many configurations at N would have on average */
    WL_HIER_CONFIG, /* the mean of a new configuration */
    WL_HIER_RUN     /* the mean of a new run, with a typical number of epochs, of a new configuration */
};
enum { WL_HIER_ALL = -1 }; /* families */
struct wl_hier_query {
    double workers; /* any, measured or not */
    enum wl_hier_what what;
    int family; /* enum wl_hier_family: given that family; or WL_HIER_ALL */
    bool exact; /* else components that are alike are merged, keeping their mean and variance */
};
struct wl_hier_mixture wl_hier_predict(const struct wl_hier_fit *fit, const struct wl_hier_query *query,
                                       struct wl_arena *a);

/* The predictive distributions at n worker counts, from one visit of the posterior: every curve is fitted to the data
 * once, whatever is asked of it. Memory: about 20,000 numbers for each worker count. `fit` must outlive it. */
struct wl_hier_predictions;
struct wl_hier_predictions *wl_hier_predictions_new(const struct wl_hier_fit *fit, const double *workers, size_t n,
                                                    struct wl_arena *a);
/* At worker count number `at`, merged; `family` as in the query. */
struct wl_hier_mixture wl_hier_prediction(const struct wl_hier_predictions *p, size_t at, enum wl_hier_what what,
                                          int family, struct wl_arena *a);
/* Medians and central intervals of ln(response) at worker count number `at`, from the innermost of `from` on: of the
 * curve, of the mean of a configuration, of a run. Each interval holds the one before it. Quantiles alone need not:
 * where a posterior has a second, distant mode, its density rises at the end of the interval, and what scatter adds
 * there moves the quantile towards the middle. Elements of `out` before `from` are NAN. */
struct wl_hier_interval {
    double median, lo, hi;
};
struct wl_hier_intervals {
    struct wl_hier_interval of[WL_HIER_RUN + 1]; /* [enum wl_hier_what] */
};
struct wl_hier_intervals wl_hier_intervals(const struct wl_hier_predictions *p, size_t at, enum wl_hier_what from,
                                           double confidence, struct wl_arena *scratch);

/* Expected sd of the ln(response) at worker count number `at`, once a configuration with `runs` more runs has been
 * measured at number `candidate`: the best linear predictor from it, over the whole posterior. */
double wl_hier_prediction_sd_after(const struct wl_hier_predictions *p, size_t at, enum wl_hier_what what,
                                   size_t candidate, size_t runs);
/* The same of one query (all families) and one candidate. */
double wl_hier_sd_after(const struct wl_hier_fit *fit, const struct wl_hier_query *query, double candidate,
                        size_t runs);

/* Posterior mean of the curve s(N) alone: 0 at the largest measured worker count. */
double wl_hier_curve_mean(const struct wl_hier_fit *fit, double workers);

/* Quantiles of the posterior of the local exponent -d s / d ln N at a worker count, given a family or over all; NAN
 * where the family is left out. levels, out: [n]. */
void wl_hier_exponent(const struct wl_hier_fit *fit, double workers, int family, const double *levels, size_t n,
                      double *out);

double wl_hier_cdf(const struct wl_hier_mixture *m, double y);
double wl_hier_quantile(const struct wl_hier_mixture *m, double p); /* to 1e-9 of the smallest sd */
void wl_hier_quantiles(const struct wl_hier_mixture *m, const double *levels, size_t n, double *out); /* [n] */
double wl_hier_mean(const struct wl_hier_mixture *m);
double wl_hier_variance(const struct wl_hier_mixture *m);

/* Merges components of like mean and sd, in place. */
void wl_hier_merge(struct wl_hier_mixture *m, struct wl_arena *scratch);

#endif
