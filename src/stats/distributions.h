/* Distributions: probabilities, tails, quantiles. */
#ifndef WL_STATS_DISTRIBUTIONS_H
#define WL_STATS_DISTRIBUTIONS_H

#include "base/base.h"

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
/* p [n] of many q [n]: more than 32 are interpolated, ln P to about 1e-10. */
void wl_studentised_range_sf_all(const double *q, size_t n, double k, double df, double *p, struct wl_arena *a);

#endif
