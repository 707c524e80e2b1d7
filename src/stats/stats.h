/* Pure mathematics of the analysis: distributions, moments, least squares. No I/O, no global state.
 *
 * Matrices are column-major. Probabilities are plain doubles; where a tail can be tiny there is a function for it
 * (_sf), so that nobody subtracts from 1. Accuracy of the distributions: 1e-12 relative, tails included, against
 * 50-digit values (tests/golden/distributions.csv). Arguments outside a domain, and NAN, give NAN.
 */
#ifndef WL_STATS_STATS_H
#define WL_STATS_STATS_H

#include "base/base.h"

/* ---- special functions ------------------------------------------------------------------------------------ */

/* ln |Gamma(x)|, thread-safe (C's lgamma writes a global sign). */
double wl_lgamma(double x);

/* Regularised incomplete beta function I_x(a, b) and its complement. y must be 1 - x; it is an argument of its own
 * because the caller often knows it without cancellation. a, b > 0. */
double wl_beta_p(double a, double b, double x, double y);

/* Regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x); a > 0, x >= 0. */
double wl_gamma_p(double a, double x);
double wl_gamma_q(double a, double x);

/* ---- distributions ---------------------------------------------------------------------------------------- */

/* _cdf: P(X <= x); _sf: P(X > x); _quantile: the x with P(X <= x) = p; _isf: the x with P(X > x) = q.
 * Degrees of freedom are positive reals. The quantiles of 0 and 1 are the ends of the support. */
double wl_normal_cdf(double z);
double wl_normal_sf(double z);
double wl_normal_quantile(double p);

double wl_t_cdf(double t, double df);
double wl_t_sf(double t, double df);
double wl_t_two_sided(double t, double df); /* P(|T| > |t|) */
double wl_t_quantile(double p, double df);

double wl_f_cdf(double f, double df1, double df2);
double wl_f_sf(double f, double df1, double df2);
double wl_f_quantile(double p, double df1, double df2);
double wl_f_isf(double q, double df1, double df2);

double wl_chi2_cdf(double x, double df);
double wl_chi2_sf(double x, double df);
double wl_chi2_quantile(double p, double df);
double wl_chi2_isf(double q, double df);

/* ---- moments ---------------------------------------------------------------------------------------------- */

double wl_mean(const double *v, size_t n);                       /* NAN where n = 0 */
double wl_sd(const double *v, size_t n);                         /* n - 1 in the denominator; NAN where n < 2 */
double wl_median(const double *v, size_t n, struct wl_arena *a); /* NAN where n = 0 */

/* ---- linear least squares --------------------------------------------------------------------------------- */

/* Least squares of y on k coefficients: the intercept (coefficient 0, if there is one) and the columns of x in their
 * order. Solved by Householder QR of the columns, centred (with an intercept) and scaled to length 1: no normal
 * equations. What n = k leaves undefined (sigma, errors, tests) is NAN. With weights w the sums of squares, sigma and
 * leverages are weighted, sigma^2 is the variance of a row of weight 1, and residuals are those of y. */
struct wl_ols {
    size_t n, k;
    bool intercept;
    double df;                   /* n - k */
    double *b, *se, *t, *p;      /* [k] coefficients, standard errors, t and two-sided p against 0 */
    double *cov;                 /* [k,k] covariance of b */
    double *inverse;             /* [k,k] (X'WX)^-1 */
    double *fitted, *residual;   /* [n] */
    double *leverage;            /* [n] diagonal of the hat matrix */
    double *student;             /* [n] externally studentised residuals, t(df - 1) */
    double *cook;                /* [n] Cook's distance */
    double sse, sst;             /* residual and total sum of squares (about the mean, or about 0) */
    double sigma;                /* residual standard deviation sqrt(sse / df) */
    double r2, r2_adj;           /* NAN where sst = 0 */
    double f, p_f;               /* all columns against none, F(k - intercept, df) */
    double condition;            /* 2-norm condition number of the centred, scaled columns */
    double weight_sum;           /* n without weights */
    double *mean, *scale, *root; /* internal: [p] centres and lengths, [p,p] inverse of R */
};

/* Fits x [n, columns] with an intercept or without. WL_EINVAL: fewer rows than coefficients, a value that is not
 * finite (row named), a constant column, columns that are linear combinations of each other. */
int wl_ols_fit(struct wl_ols *o, const double *y, const double *x, size_t n, size_t columns, bool intercept,
               struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The same with weights [n] > 0, inverse variances up to a factor; NULL: all 1. */
int wl_wls_fit(struct wl_ols *o, const double *y, const double *x, const double *weights, size_t n, size_t columns,
               bool intercept, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Prediction at one point x0 [columns]. The mean: where the line is; the run: where one more observation falls.
 * lo and hi are the ends of t intervals of the level asked for; NAN without residual degrees of freedom. */
struct wl_prediction {
    double fit;
    double se_mean, mean_lo, mean_hi;
    double se_run, run_lo, run_hi;
};
struct wl_prediction wl_ols_predict(const struct wl_ols *o, const double *x0, double level);

/* The half width of the t interval of coefficient j. */
double wl_ols_half_width(const struct wl_ols *o, size_t j, double level);

/* F test of lack of fit: rows with equal x [n] are replicates; `coefficients` is how many the fitted curve has.
 *   F = [(SSE - SSpe)/(m - coefficients)] / [SSpe/(n - m)], m distinct x.  Source: Draper & Smith 1998, ch. 2.
 * f and p are NAN where there are no replicates or no x to spare (df1, df2 say which). */
struct wl_lack_of_fit {
    double f, df1, df2, p;
    double ss_pure; /* SSpe */
};
struct wl_lack_of_fit wl_lack_of_fit(const double *x, const double *y, size_t n, double sse, size_t coefficients,
                                     struct wl_arena *a);

/* ---- errors of the coefficients when residuals are not alike or not independent ---- */

enum wl_hc { WL_HC0, WL_HC1, WL_HC2, WL_HC3 };

/* Heteroscedasticity-consistent standard errors [k] of an unweighted fit of x. Source: MacKinnon & White 1985;
 * Long & Ervin 2000. */
void wl_ols_hc(const struct wl_ols *o, const double *x, enum wl_hc kind, double *se);

/* Cluster-robust standard errors [k] of an unweighted fit and their degrees of freedom [k]. `cluster` [n] numbers
 * the clusters from 0.
 *   CR1: residuals inflated by sqrt(G/(G-1) (n-1)/(n-k)), clusters - 1 degrees of freedom (as Stata, statsmodels).
 *   CR2: residuals of each cluster times (I - H_gg)^-1/2, unbiased when residuals are independent and alike, with
 *        Satterthwaite's degrees of freedom for that case. Source: Bell & McCaffrey 2002; Pustejovsky & Tipton 2018.
 * WL_EINVAL: fewer than two clusters. WL_ELIB: the eigenvalue routine failed. */
enum wl_cr { WL_CR1, WL_CR2 };
int wl_ols_cluster(const struct wl_ols *o, const double *x, const size_t *cluster, size_t clusters, enum wl_cr kind,
                   double *se, double *df, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- robust lines ---- */

/* A line y = b0 + b1 x with the interval of b1. */
struct wl_line {
    double b0, b1, se, lo, hi; /* se NAN where the method has none */
    double scale;              /* of the residuals, NAN where the method has none */
};

/* Theil-Sen: b1 is the median of the slopes of all pairs with different x, b0 the median of y - b1 x; the interval of
 * the level is by the normal approximation to Kendall's tau, with ties. Source: Sen 1968, eq. 2.6. All NAN where all
 * x are equal. */
struct wl_line wl_theil_sen(const double *x, const double *y, size_t n, double level, struct wl_arena *a);

/* Huber's M-estimator, t = 1.345, scale = median |r| / 0.6745, by reweighting from the least squares line; standard
 * error after Huber 1981, eq. 6.5, interval by t(n - 2). WL_EINVAL: as wl_ols_fit, no spread of residuals left, or no
 * convergence. */
int wl_huber(const double *x, const double *y, size_t n, double level, struct wl_line *out, struct wl_arena *a,
             struct wl_err *e) WL_MUST_CHECK;

/* ---- a line that bends once ---- */

/* y = b0 + slope1 x up to x = at, continuous, and slope2 from there; `at` lies between the second and the last but one
 * of the different x, at the smallest sum of squares.
 * lo, hi: the ends of the breaks c with SSE(c) <= SSE (1 + F(level; 1, n - 4) / (n - 4)); NAN without degrees of
 * freedom. p: against one straight line, by the largest gain over all breaks in `draws` samples of normal noise (an F
 * test at the break that was chosen would find too many); NAN without draws or without scatter. WL_EINVAL: fewer than
 * five different x. Source: Muggeo 2003; Andrews 1993 (sup F); Hansen 2000. */
struct wl_broken {
    double at, lo, hi;
    double b0, slope1, slope2;
    double sse, df; /* df = n - 4 */
    double p;
};
int wl_broken_line(const double *x, const double *y, size_t n, double level, size_t draws, struct wl_broken *out,
                   struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- nonlinear least squares ---- */

/* Fills residual [n] at theta [k] and, unless it is NULL, jacobian [n,k], the derivatives of the residuals. */
struct wl_nls_problem {
    size_t n, k;
    void (*model)(const double *theta, double *residual, double *jacobian, void *data);
    void *data;
};

/* The minimum that Levenberg-Marquardt finds from the start [k]: a local one, so try several starts. Standard errors
 * and covariance are those of the linear problem at the solution, NAN where it cannot tell the parameters apart. WL_EINVAL: fewer
 * rows than parameters, no convergence. */
struct wl_nls {
    size_t n, k;
    double df;
    double *theta, *se; /* [k] */
    double *cov;        /* [k,k] covariance of theta */
    double sse, sigma;
};
int wl_nls_fit(struct wl_nls *out, const struct wl_nls_problem *problem, const double *start, struct wl_arena *a,
               struct wl_err *e) WL_MUST_CHECK;

/* ---- a quantity over time and devices ---- */

struct wl_estimate {
    double value, lo, hi; /* NAN where undefined */
};

/* v [devices][instants], NAN where a reading is missing. mean: of all readings. Coefficients of variation (standard
 * deviation / mean): cv_time, of a device over time, mean over devices; cv_devices, between the devices at one
 * instant, mean over instants, over the mean of all; cv_pooled, of all readings, as in Frey et al. 2022. Intervals of
 * the level by drawing batches of sqrt(instants) consecutive instants with a generator that `seed` keys; NAN below 16
 * instants. */
struct wl_variation {
    size_t devices, instants;
    struct wl_estimate mean, cv_time, cv_devices, cv_pooled;
};
struct wl_variation wl_variation_of(const double *v, size_t devices, size_t instants, double level, uint64_t seed,
                                    struct wl_arena *a);

/* ---- several tests at once ---- */

/* Holm's adjusted p values: adjusted[i] <= alpha rejects with the chance of any false rejection <= alpha. NAN stays
 * NAN and does not count. Source: Holm 1979. */
void wl_holm(const double *p, size_t n, double *adjusted, struct wl_arena *a);

#endif
