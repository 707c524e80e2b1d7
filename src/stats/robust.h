/* Robust regression: lines that outliers barely move. */
#ifndef WL_STATS_ROBUST_H
#define WL_STATS_ROBUST_H

#include "base/base.h"

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

#endif
