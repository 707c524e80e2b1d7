/* Mean, deviation, median, and the interval of a mean. */
#ifndef WL_STATS_MOMENTS_H
#define WL_STATS_MOMENTS_H

#include "base/base.h"

double wl_mean(const double *v, size_t n);                       /* NAN where n = 0 */
double wl_sd(const double *v, size_t n);                         /* n - 1 in the denominator; NAN where n < 2 */
double wl_median(const double *v, size_t n, struct wl_arena *a); /* NAN where n = 0 */

/* A number with its interval. */
struct wl_estimate {
    double value, lo, hi; /* NAN where undefined */
};

/* The mean of n independent values with the interval of t(n - 1); lo and hi NAN where n < 2. */
struct wl_estimate wl_mean_interval(const double *v, size_t n, double level);

#endif
