/* Linear least squares, ordinary and weighted, by QR. */
#ifndef WL_STATS_OLS_H
#define WL_STATS_OLS_H

#include "base/base.h"

/* A linear model's data. */
struct wl_ols_data {
    size_t n, columns;
    const double *y;       /* [n] response */
    const double *x;       /* [n, columns] */
    const double *weights; /* [n] > 0, inverse variances up to a factor; NULL: ordinary least squares, all 1 */
    bool intercept;
};

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

/* WL_EINVAL: fewer rows than coefficients, a value that is not finite (row named), a response whose squares are not, a
 * weight that is not positive, a constant column, columns that are linear combinations of each other. */
int wl_ols_fit(struct wl_ols *o, const struct wl_ols_data *data, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The line y = b[0] + b[1] x, x [n], without weights. */
int wl_ols_line(struct wl_ols *o, const double *y, const double *x, size_t n, struct wl_arena *a,
                struct wl_err *e) WL_MUST_CHECK;

/* Prediction at one point x0 [columns], with the confidence interval of the mean and the prediction interval of one
 * more observation (run). lo and hi are the ends of t intervals of the given level; NAN without residual degrees of
 * freedom. */
struct wl_ols_prediction {
    double fit;
    double se_mean, mean_lo, mean_hi;
    double se_run, run_lo, run_hi;
};
struct wl_ols_prediction wl_ols_predict(const struct wl_ols *o, const double *x0, double level);

/* The half width of the t interval of coefficient j. */
double wl_ols_half_width(const struct wl_ols *o, size_t j, double level);

#endif
