/* Pure mathematics of the analysis: distributions, moments, least squares. No I/O, no global state.
 *
 * Matrices are column-major. Probabilities are plain doubles; where a tail can be tiny there is a function for it
 * (_sf), so that nobody subtracts from 1. Accuracy of the distributions: 1e-12 relative, tails included, against
 * 50-digit values (tests/golden/distributions.csv). Arguments outside a domain, and NAN, give NAN.
 */
#ifndef WL_STATS_STATS_H
#define WL_STATS_STATS_H

#include "base/base.h"

/* ---- distributions ---------------------------------------------------------------------------------------- */

/* _cdf: P(X <= x); _sf: P(X > x); _quantile: the x with P(X <= x) = p.
 * Degrees of freedom are positive reals. The quantiles of 0 and 1 are the ends of the support. */
double wl_normal_cdf(double z);
double wl_normal_sf(double z);
double wl_normal_quantile(double p);

double wl_t_cdf(double t, double df);
double wl_t_sf(double t, double df);
double wl_t_two_sided(double t, double df); /* P(|T| > |t|) */
double wl_t_quantile(double p, double df);

double wl_f_sf(double f, double df1, double df2);
double wl_f_quantile(double p, double df1, double df2);

double wl_chi2_sf(double x, double df);

/* The studentised range of k >= 2 means with df degrees of freedom (INFINITY: known deviation): P(Q > q). Of a contrast
 * of two among k that has Student's t, q = |t| sqrt(2). Source: Tukey 1953, Kramer 1956. */
double wl_studentised_range_sf(double q, double k, double df);

/* ---- moments ---------------------------------------------------------------------------------------------- */

double wl_mean(const double *v, size_t n);                       /* NAN where n = 0 */
double wl_sd(const double *v, size_t n);                         /* n - 1 in the denominator; NAN where n < 2 */
double wl_median(const double *v, size_t n, struct wl_arena *a); /* NAN where n = 0 */

/* A number with its interval. */
struct wl_estimate {
    double value, lo, hi; /* NAN where undefined */
};

/* The mean of n independent values with the interval of t(n - 1); lo and hi NAN where n < 2. */
struct wl_estimate wl_mean_interval(const double *v, size_t n, double level);

/* ---- linear least squares --------------------------------------------------------------------------------- */

/* Least squares of y on k coefficients: the intercept (coefficient 0, if there is one) and the columns of x in their
 * order. Solved by Householder QR of the columns, centred (with an intercept) and scaled to length 1: no normal
 * equations. What n = k leaves undefined (sigma, errors, tests) is NAN. With weights w the sums of squares, sigma and
 * leverages are weighted, sigma^2 is the variance of a row of weight 1, and residuals are those of y. */
struct wl_ols {
    size_t n, k;
    bool intercept;
    double df;                        /* n - k */
    double *b, *se, *t, *p;           /* [k] coefficients, standard errors, t and two-sided p against 0 */
    double *cov;                      /* [k,k] covariance of b */
    double *inverse;                  /* [k,k] (X'WX)^-1 */
    double *fitted, *residual;        /* [n] */
    double *leverage;                 /* [n] diagonal of the hat matrix */
    double *student;                  /* [n] externally studentised residuals, t(df - 1) */
    double *cook;                     /* [n] Cook's distance */
    double sse, sst;                  /* residual and total sum of squares (about the mean, or about 0) */
    double sigma;                     /* residual standard deviation sqrt(sse / df) */
    double r2, r2_adj;                /* NAN where sst = 0 */
    double f, p_f;                    /* all columns against none, F(k - intercept, df) */
    double condition;                 /* 2-norm condition number of the centred, scaled columns */
    double weight_sum;                /* n without weights */
    double *mean, *scale, *r_inverse; /* internal: [p] centres and lengths, [p,p] inverse of R */
};

/* Fits x [n, columns] with an intercept or without. WL_EINVAL: fewer rows than coefficients, a value that is not
 * finite (row named), a response whose squares are not, a constant column, columns that are linear combinations of each
 * other. */
int wl_ols_fit(struct wl_ols *o, const double *y, const double *x, size_t n, size_t columns, bool intercept,
               struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The same with weights [n] > 0, inverse variances up to a factor; NULL: all 1. */
int wl_wls_fit(struct wl_ols *o, const double *y, const double *x, const double *weights, size_t n, size_t columns,
               bool intercept, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Prediction at one point x0 [columns]. The mean: where the line is; the run: where one more observation falls.
 * lo and hi are the ends of t intervals of the level asked for; NAN without residual degrees of freedom. */
struct wl_ols_prediction {
    double fit;
    double se_mean, mean_lo, mean_hi;
    double se_run, run_lo, run_hi;
};
struct wl_ols_prediction wl_ols_predict(const struct wl_ols *o, const double *x0, double level);

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

/* ---- are the assumptions of a fit in order? ---- */

/* A test's statistic, its degrees of freedom (NAN where it has none) and p. All NAN where the data leave it undefined.
 */
struct wl_hypothesis_test {
    double statistic, df1, df2, p;
};

/* Normal or not: Shapiro and Wilk's W for 3 to 5000 values (Royston 1995, AS R94); Anderson and Darling's A^2 with mean
 * and deviation estimated, 8 values or more (D'Agostino & Stephens 1986, ch. 4). */
struct wl_hypothesis_test wl_shapiro_wilk(const double *v, size_t n, struct wl_arena *a);
struct wl_hypothesis_test wl_anderson_darling(const double *v, size_t n, struct wl_arena *a);

/* Does the scatter change along the columns x [n, columns] of an unweighted fit? n R^2 of the squared residuals on
 * them, chi squared. Source: Breusch & Pagan 1979, studentised by Koenker 1981. */
struct wl_hypothesis_test wl_breusch_pagan(const struct wl_ols *o, const double *x, struct wl_arena *a);

/* Is a curve missing? F test of the second and third power of the fitted values as further columns. Source: Ramsey
 * 1969. */
struct wl_hypothesis_test wl_ramsey_reset(const struct wl_ols *o, const double *y, const double *x, struct wl_arena *a);

/* Variance inflation factor of each column [k - intercept]: 1 / (1 - R^2) of the column on the others. */
void wl_ols_vif(const struct wl_ols *o, double *vif);

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
struct wl_robust_line {
    double b0, b1, se, lo, hi; /* se NAN where the method has none */
    double scale;              /* of the residuals, NAN where the method has none */
};

/* Theil-Sen: b1 is the median of the slopes of all pairs with different x, b0 the median of y - b1 x; the interval of
 * the level is by the normal approximation to Kendall's tau, with ties. Source: Sen 1968, eq. 2.6. All NAN where all
 * x are equal. */
struct wl_robust_line wl_theil_sen(const double *x, const double *y, size_t n, double level, struct wl_arena *a);

/* Huber's M-estimator, t = 1.345, scale = median |r| / 0.6745, by reweighting from the least squares line; standard
 * error after Huber 1981, eq. 6.5, interval by t(n - 2). WL_EINVAL: as wl_ols_fit, no spread of residuals left, or no
 * convergence. */
int wl_huber(const double *x, const double *y, size_t n, double level, struct wl_robust_line *out, struct wl_arena *a,
             struct wl_err *e) WL_MUST_CHECK;

/* ---- a line that bends once ---- */

/* y = b0 + slope1 x up to the breakpoint, continuous, and slope2 from there; the breakpoint lies between the second and
 * the last but one of the different x, at the smallest sum of squares. lo, hi: the ends of the breaks c with SSE(c) <=
 * SSE (1 + F(level; 1, n - 4) / (n - 4)); NAN without degrees of freedom. p: against one straight line, by the largest
 * gain over all breaks in `draws` samples of normal noise (an F test at the break that was chosen would find too many);
 * NAN without draws or without scatter. WL_EINVAL: fewer than five different x. Source: Muggeo 2003; Andrews 1993 (sup
 * F); Hansen 2000. */
struct wl_segmented {
    double breakpoint, lo, hi;
    double b0, slope1, slope2;
    double sse, df; /* df = n - 4 */
    double p;
};
int wl_segmented_fit(const double *x, const double *y, size_t n, double level, size_t draws, struct wl_segmented *out,
                     struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- nonlinear least squares ---- */

/* Fills residual [n] at theta [k] and, unless it is NULL, jacobian [n,k], the derivatives of the residuals. */
struct wl_nls_problem {
    size_t n, k;
    void (*residual_fn)(const double *theta, double *residual, double *jacobian, void *data);
    void *data;
};

/* The minimum that Levenberg-Marquardt finds from the start [k]: a local one, so try several starts. Standard errors
 * and covariance are those of the linear problem at the solution, NAN where it cannot tell the parameters apart.
 * WL_EINVAL: fewer rows than parameters, no convergence. */
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

/* v [devices][instants], NAN where a reading is missing. mean: of all readings. Coefficients of variation (standard
 * deviation / mean): cv_time, of a device over time, mean over devices; cv_devices, between the devices at one
 * instant, mean over instants, over the mean of all; cv_pooled, of all readings, as in Frey et al. 2022. Intervals of
 * the level by drawing batches of sqrt(instants) consecutive instants with a generator that `seed` keys; NAN below 16
 * instants. */
struct wl_variation {
    size_t devices, instants;
    struct wl_estimate mean, cv_time, cv_devices, cv_pooled;
};
struct wl_variation wl_variation_estimate(const double *v, size_t devices, size_t instants, double level, uint64_t seed,
                                          struct wl_arena *a);

/* ---- bootstrap ---- */

/* n cases drawn with replacement `draws` times. `statistic` fills out [k] from the cases index [n]; a number that a
 * draw leaves undefined is NAN. */
struct wl_bootstrap {
    size_t n, k, draws;
    uint64_t key; /* of the counter generator (base/random.h) */
    void (*statistic)(const size_t *index, size_t n, double *out, void *data);
    void *data;
};
struct wl_bootstrap_interval {
    double value, se;      /* of all cases as they are; deviation of the draws */
    double lo, hi;         /* percentiles */
    double bca_lo, bca_hi; /* bias-corrected and accelerated; NAN where all draws lie on one side of the value */
    size_t draws;          /* that had a value; without 95 % of them all but `value` is NAN */
};

/* Fills out [k]. WL_EINVAL: fewer than two cases or 20 draws. Source: Efron 1987. */
int wl_bootstrap(const struct wl_bootstrap *b, double level, struct wl_bootstrap_interval *out, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* ---- series in time ---- */

/* The mean of a stationary series and how much it knows. NAN without spread. */
struct wl_autocorrelation {
    double lag1;     /* correlation with its next value */
    double tau, ess; /* integrated autocorrelation time 1 + 2 sum rho; n / tau independent values would know as much */
    double se;       /* sd / sqrt(ess) */
    double se_batches; /* from the means of 20 batches, as a check; NAN below 40 values */
};

/* Source: Geyer 1992 (initial positive sequence). */
struct wl_autocorrelation wl_autocorrelation(const double *v, size_t n);

/* How many first values are warm-up: the multiple of 5, less than half of the series, at which the mean of the rest has
 * the smallest squared standard error over means of 5. Source: White 1997 (MSER-5). */
size_t wl_mser5(const double *v, size_t n);

/* ---- several tests at once ---- */

/* Holm's adjusted p values: adjusted[i] <= alpha rejects with the chance of any false rejection <= alpha. NAN stays
 * NAN and does not count. Source: Holm 1979. */
void wl_holm(const double *p, size_t n, double *adjusted, struct wl_arena *a);

/* Benjamini and Hochberg's: adjusted[i] <= q rejects with an expected share of false rejections <= q, for scans over
 * many groups. */
void wl_benjamini_hochberg(const double *p, size_t n, double *adjusted, struct wl_arena *a);

#endif
