/* The studentised range: the largest difference between k means over their pooled standard error, df degrees of
 * freedom.
 *
 * With Phi, phi of the normal distribution and s the ratio of the pooled deviation to the true one,
 *   P(Q > q) = E[ H(q s) ],  H(w) = k int phi(z) {Phi(z)^(k-1) - [Phi(z) - Phi(z - w)]^(k-1)} dz,
 * where the braces are a (k-1) power times an expm1, so that no tail is a difference from 1. Both integrands are
 * analytic and vanish at both ends, where the trapezoidal rule converges exponentially in 1/step (Trefethen & Weideman
 * 2014): the steps below leave errors under 1e-17. Source: Tukey 1953; Copenhaver & Holland 1988. */
#include "stats/distributions.h"
#include "stats/special.h"

#include <math.h>

/* H(w): infinitely many degrees of freedom. */
static double known_deviation(double w, double k)
{
    double step = 0.6 / sqrt(k), last = sqrt(w * w / 2 + 83), sum = 0; /* beyond: under 1e-18 of the peak near w / 2 */
    if (!(w > 0)) return 1;
    for (double z = -9; z < last; z += step) {
        double below = wl_normal_cdf(z), apart = wl_normal_cdf(z - w);
        sum += exp(-z * z / 2) * pow(below, k - 1) * -expm1((k - 1) * log1p(-apart / below));
    }
    return sum * step * k / sqrt(2 * M_PI);
}

double wl_studentised_range_sf(double q, double k, double df)
{
    if (isnan(q) || !(k >= 2) || isinf(k) || !(df > 0)) return NAN;
    if (q <= 0) return 1;
    if (isinf(q)) return 0;
    if (isinf(df)) return known_deviation(q, k);
    double step = fmin(0.1, 0.5 / sqrt(2 * df)), sum = 0;
    for (double u = log(10);; u -= step) { /* u = ln s, s^2 df ~ chi squared(df) */
        double density = 2 * wl_gamma_prefix(df / 2, df / 2 * exp(2 * u)),
               term = density > 0 ? density * known_deviation(q * exp(u), k) : 0;
        sum += term;
        bool falling = u < 0 && q * exp(u) < 1; /* left of the peak: H is nearly 1 and the density falls */
        if (term <= 1e-18 * sum && falling) break;
    }
    return fmin(sum * step, 1);
}
