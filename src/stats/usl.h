/* The Universal Scalability Law fitted to throughputs in natural scale. */
#ifndef WL_STATS_USL_H
#define WL_STATS_USL_H

#include "base/base.h"

/* X(N) = gamma N / (1 + sigma (N - 1) + kappa N (N - 1)): contention sigma >= 0, coherency kappa >= 0.
 * Source: Gunther 2007, Guerrilla Capacity Planning, ch. 4. */
struct wl_usl {
    double gamma, sigma, kappa;
    double gamma_se, sigma_se, kappa_se; /* NAN: fixed at its bound 0, or no degrees of freedom */
    double residual_sd, df;
    double peak_workers, peak; /* where X is largest; NAN without a peak: kappa is 0 */
};

/* Least squares of X itself, as in R's package usl; a parameter that would be negative is 0 and the others are fitted
 * again. WL_EINVAL: fewer than four points or three distinct N, or one that is not positive. */
int wl_usl_fit(const double *workers, const double *throughput, size_t n, struct wl_usl *out, struct wl_arena *a,
               struct wl_err *e) WL_MUST_CHECK;

double wl_usl_at(const struct wl_usl *u, double workers);

#endif
