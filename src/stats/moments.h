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

/* above / below, of positive numbers whose intervals have the same level and whose errors are independent. Their
 * logarithms' distances to the ends add as squares (MOVER: Zou and Donner 2008, Statistics in Medicine 27, 1693-1702).
 * lo and hi are NAN where an end is not known or not positive; all are where a number is not. */
struct wl_estimate wl_ratio_interval(const struct wl_estimate *above, const struct wl_estimate *below);

#endif
