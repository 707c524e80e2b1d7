/* Joint model of the time and the power of all settings that a campaign has measured.
 *
 * Two Gaussian processes over the numeric axes of a campaign (workers, batch, cap, clock, threads ...), one for ln t
 * (time per unit of work) and one for ln P (mean power of a worker), each with
 *
 *   mean        m0 + sum over axes of slope x
 *   covariance  25 (level) + sum over axes (slope_sd^2 x x' + curve_sd^2 k) + theta^2 sum over pairs of axes k_a k_b
 *               + tau^2 [same setting] + sigma^2 / runs (data only),   k = exp(-((x - x') / length)^2 / 2)
 *
 * tau belongs to the truth of a setting, sigma to its measurement. Everything is a sum over a grid of (theta, tau,
 * sigma): nothing is optimized and nothing can fail to converge. Joint answers come from draws at fixed positions of a
 * counter-based generator, so that the same input gives the same output. Constants and derivation: docs/adr/117.
 *
 * The smooth part is a product of few columns (a factor of the kernel of each axis over its distinct values, and
 * products of two axes' columns), r of them: a node of the grid costs r^3, not settings^3, and memory is settings x
 * (r + draws). Pure: arrays in, structs out. */
#ifndef WL_ADVISE_JOINT_JOINT_H
#define WL_ADVISE_JOINT_JOINT_H

#include "base/base.h"

enum wl_joint_response {
    WL_JOINT_TIME, /* ln t */
    WL_JOINT_POWER /* ln P */
};
enum {
    WL_JOINT_RESPONSES = 2,
    WL_JOINT_DRAWS = 2000,
    WL_JOINT_MAX_SETTINGS = 5000, /* 160 MB of draws */
};

/* A numeric axis. Slopes and deviations are of ln t and ln P, by x. */
struct wl_joint_axis {
    const double *x; /* [settings] coordinate: ln of the value, of a ratio */
    double length;   /* over which the response varies, in x */
    double slope[WL_JOINT_RESPONSES], slope_sd[WL_JOINT_RESPONSES], curve_sd[WL_JOINT_RESPONSES];
};
/* Coordinate ln N, and ln(cap / largest cap) or ln(clock / largest clock): the constants of the prior, but for `x`. */
extern const struct wl_joint_axis wl_joint_workers_axis, wl_joint_cap_axis;
extern const struct wl_joint_axis wl_joint_count_axis; /* ln of a batch, of threads, of another number */

/* The runs of one setting, reduced. */
struct wl_joint_runs {
    size_t n;                 /* 0: not measured, or not of this response */
    double mean, sum_squares; /* of the runs' means of ln(response); about the mean */
};

struct wl_joint_data {
    size_t n; /* settings */
    const struct wl_joint_axis *axes;
    size_t n_axes;
    const struct wl_joint_runs *runs[WL_JOINT_RESPONSES]; /* [n] */
    double rho;    /* correlation of the noise of ln t and ln P, -0.95 to 0.95; 0 where unknown */
    uint64_t seed; /* of the draws: models whose draws are compared need different ones */
};

struct wl_joint;

/* WL_EINVAL: no setting has a run of the time, too many settings, a number that is not finite. Without any run of the
 * power the model has the time alone. The data are copied. */
int wl_joint_fit(const struct wl_joint_data *d, struct wl_joint **out, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

bool wl_joint_has(const struct wl_joint *j, enum wl_joint_response r);

/* [n] posterior means, and the expected variance of one run about its setting. */
const double *wl_joint_means(const struct wl_joint *j, enum wl_joint_response r);
double wl_joint_run_variance(const struct wl_joint *j, enum wl_joint_response r);
double wl_joint_rho(const struct wl_joint *j);

/* Posterior means of sd: of settings about the smooth part, and of runs. */
struct wl_joint_scatter {
    double tau, sigma;
};
struct wl_joint_scatter wl_joint_scatter(const struct wl_joint *j, enum wl_joint_response r);

/* P(time (t_i - t_ref) + power (P_i - P_ref) <= limit_i), exact for the grid; of a setting that is its own reference 1
 * where its limit is 0 or more.
 * Errors of t and P correlate by rho. */
struct wl_joint_question {
    double time, power;  /* coefficients; power 0 where there is none */
    size_t ref;          /* WL_JOINT_ABSOLUTE: no reference, t_i and P_i themselves */
    const double *limit; /* [n] */
    const size_t *refs;  /* [n] a reference of each setting instead; NULL: ref for all */
};
#define WL_JOINT_ABSOLUTE ((size_t)-1)
void wl_joint_probabilities(const struct wl_joint *j, const struct wl_joint_question *q, double *out,
                            struct wl_arena *scratch);

/* Mean of the runs of setting i alone, without the model; NAN: it has none of that response. */
double wl_joint_run_mean(const struct wl_joint *j, enum wl_joint_response r, size_t i);

/* Draws of the truths of all settings: [n][WL_JOINT_DRAWS], draw d of every setting and of both responses together. */
const double *wl_joint_draws(const struct wl_joint *j, enum wl_joint_response r);

#endif
