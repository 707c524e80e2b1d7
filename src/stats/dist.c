/* Distribution functions of the normal, t, F and chi squared distributions. */
#include "stats/distributions.h"
#include "stats/special.h"

#include <math.h>

double wl_normal_cdf(double z) { return 0.5 * erfc(-z * M_SQRT1_2); }
double wl_normal_sf(double z) { return 0.5 * erfc(z * M_SQRT1_2); }

/* P(|T| <= t) and P(|T| > t) for t >= 0: the beta distribution of t^2 / (df + t^2). Where t^2 leaves the range
 * of a double, the leading term of the tail is the tail: C t^-df / df with C from B(df/2, 1/2). */
static struct wl_tails t_tails(double t, double df)
{
    if (!(df > 0) || isnan(t)) return (struct wl_tails) { NAN, NAN };
    if (isinf(df)) return (struct wl_tails) { erf(t * M_SQRT1_2), erfc(t * M_SQRT1_2) };
    if (isinf(t)) return (struct wl_tails) { 1, 0 };
    if (t > 1e140) {
        double ln_y = log(df) - 2 * log(t), upper = exp(df / 2 * ln_y - log(df / 2) - wl_lbeta(df / 2, 0.5));
        return (struct wl_tails) { 1 - upper, upper };
    }
    double tt = t * t, sum = df + tt;
    return wl_beta_tails(0.5, df / 2, tt / sum, df / sum);
}

double wl_t_two_sided(double t, double df) { return t_tails(fabs(t), df).upper; }

double wl_t_sf(double t, double df)
{
    struct wl_tails p = t_tails(fabs(t), df);
    return t >= 0 ? p.upper / 2 : 0.5 + p.lower / 2;
}

double wl_t_cdf(double t, double df) { return wl_t_sf(-t, df); }

double wl_f_sf(double f, double df1, double df2)
{
    if (isnan(f) || !(df1 > 0) || !(df2 > 0) || isinf(df1) || isinf(df2)) return NAN;
    if (f <= 0) return 1;
    double ratio = f / df2 * df1; /* x / y */
    if (isinf(ratio)) return 0;
    return wl_beta_tails(df1 / 2, df2 / 2, ratio / (1 + ratio), 1 / (1 + ratio)).upper;
}

double wl_chi2_sf(double x, double df) { return wl_gamma_tails(df / 2, fmax(x, 0) / 2).upper; }
