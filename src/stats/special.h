/* Special functions of the distributions. */
#ifndef WL_STATS_SPECIAL_H
#define WL_STATS_SPECIAL_H

#include "base/base.h"

/* ln |Gamma(x)|, thread-safe (C's lgamma writes a global sign). */
double wl_lgamma(double x);

/* ln B(a, b) */
double wl_lbeta(double a, double b);

/* x^a e^-x / Gamma(a): the derivative of P(a, x) by ln x. */
double wl_gamma_prefix(double a, double x);

/* x^a y^b / B(a, b), y = 1 - x: the derivative of I_x(a, b) by the logit ln(x / y). */
double wl_beta_prefix(double a, double b, double x, double y);

/* Both parts of a whole, each to full relative accuracy as long as it is not tiny beside a rounded other: the
 * regularised incomplete gamma functions P(a, x) and Q(a, x), a > 0, x >= 0; the regularised incomplete beta function
 * I_x(a, b) and its complement, a, b > 0. y must be 1 - x; it is an argument of its own because the caller often knows
 * it without cancellation. */
struct wl_tails {
    double lower, upper;
};
struct wl_tails wl_gamma_tails(double a, double x);
struct wl_tails wl_beta_tails(double a, double b, double x, double y);

#endif
