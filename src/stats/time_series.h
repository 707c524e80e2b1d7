/* Autocorrelation and warm-up of a series. */
#ifndef WL_STATS_TIME_SERIES_H
#define WL_STATS_TIME_SERIES_H

#include "base/base.h"

/* The mean of a stationary series and its effective sample size. NAN without spread. */
struct wl_autocorrelation {
    double lag1;       /* correlation with its next value */
    double tau, ess;   /* integrated autocorrelation time 1 + 2 sum rho; ess = n / tau */
    double se;         /* sd / sqrt(ess) */
    double se_batches; /* from the means of 20 batches, as a check; NAN below 40 values */
};

/* Source: Geyer 1992 (initial positive sequence). */
struct wl_autocorrelation wl_autocorrelation(const double *v, size_t n);

/* How many first values are warm-up: the multiple of 5, less than half of the series, at which the mean of the rest has
 * the smallest squared standard error over means of 5. Source: White 1997 (MSER-5). */
size_t wl_mser5(const double *v, size_t n);

#endif
