/* Nonlinear least squares. */
#ifndef WL_STATS_NLS_H
#define WL_STATS_NLS_H

#include "base/base.h"

/* Fills residual [n] at theta [k] and, unless it is NULL, jacobian [n,k], the derivatives of the residuals. */
struct wl_nls_problem {
    size_t n, k;
    void (*residual_fn)(const double *theta, double *residual, double *jacobian, void *data);
    void *data;
    /* Where residuals are means of replicates: the squares about those means and their degrees of freedom. They count
     * in sse, df and sigma, and so in the errors. */
    double replicate_squares, replicate_df;
};

/* The local minimum that Levenberg-Marquardt finds from the start [k]: try several. Standard errors and covariance are
 * those of the linear problem at the solution, NAN where that is singular.
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

#endif
