/* Tests of the assumptions of a fit. */
#ifndef WL_STATS_DIAGNOSTICS_H
#define WL_STATS_DIAGNOSTICS_H

#include "stats/ols.h"

/* F test of lack of fit: rows with equal x [n] are replicates; `coefficients` is how many the fitted curve has.
 *   F = [(SSE - SSpe)/(m - coefficients)] / [SSpe/(n - m)], m distinct x.  Source: Draper & Smith 1998, ch. 2.
 * f and p are NAN where there are no replicates or no x to spare (df1, df2 say which). */
struct wl_lack_of_fit {
    double f, df1, df2, p;
    double ss_pure; /* SSpe */
};
struct wl_lack_of_fit wl_lack_of_fit(const double *x, const double *y, size_t n, double sse, size_t coefficients,
                                     struct wl_arena *a);

/* A test's statistic, its degrees of freedom (NAN where it has none) and p. All NAN where the data leave it undefined.
 */
struct wl_hypothesis_test {
    double statistic, df1, df2, p;
};

/* Tests of normality: Shapiro and Wilk's W for 3 to 5000 values (Royston 1995, AS R94); Anderson and Darling's A^2 with
 * mean and deviation estimated, 8 values or more (D'Agostino & Stephens 1986, ch. 4). */
struct wl_hypothesis_test wl_shapiro_wilk(const double *v, size_t n, struct wl_arena *a);
struct wl_hypothesis_test wl_anderson_darling(const double *v, size_t n, struct wl_arena *a);

/* Test of equal variance along the columns x [n, columns] of an unweighted fit: n R^2 of the squared residuals on
 * them, chi squared. Source: Breusch & Pagan 1979, studentised by Koenker 1981. */
struct wl_hypothesis_test wl_breusch_pagan(const struct wl_ols *o, const double *x, struct wl_arena *a);

/* Test for a missing nonlinear term: F test of the second and third power of the fitted values as further columns.
 * Source: Ramsey 1969. */
struct wl_hypothesis_test wl_ramsey_reset(const struct wl_ols *o, const double *y, const double *x, struct wl_arena *a);

/* Variance inflation factor of each column [k - intercept]: 1 / (1 - R^2) of the column on the others. */
void wl_ols_vif(const struct wl_ols *o, double *vif);

#endif
