/* Incomplete beta function by a continued fraction. Source: Didonato & Morris 1992, "Significant digit computation
 * of the incomplete beta function ratios" (TOMS 708), eq. 9 (BFRAC): its partial denominators have no cancellation
 * on the lower side of the mean, where DLMF 8.17.22 loses digits as b grows. The other side is the complement. */
#include "stats/special.h"

#include <float.h>
#include <math.h>

enum { MAX_TERMS = 10000000 }; /* about sqrt(max(a, b)) are needed */

/* I_x(a, b) / prefix = 1 / (b0 + a1 / (b1 + a2 / (b2 + ...))), by the modified Lentz method. */
static double fraction(double a, double b, double x, double y)
{
    double excess = a * y - b * x; /* >= 0 below the mean */
    double f = a * (excess + 1) / (a + 1), c = f, d = 0;
    for (int m = 1; m < MAX_TERMS; m++) {
        double left = a + 2.0 * m - 1, right = left + 2;
        double numerator = (a + m - 1) / left * ((a + b + m - 1) / left) * m * (b - m) * x * x;
        double denominator = m + m * (b - m) * x / left + (a + m) * (excess + 1 + m * (1 + y)) / right;
        d = 1 / (denominator + numerator * d);
        c = denominator + numerator / c;
        f *= c * d;
        if (fabs(c * d - 1) < DBL_EPSILON) break;
    }
    return 1 / f;
}

struct wl_tails wl_beta_tails(double a, double b, double x, double y)
{
    if (!(a > 0) || !(b > 0) || isinf(a) || isinf(b) || !(x >= 0) || !(y >= 0)) return (struct wl_tails) { NAN, NAN };
    if (x == 0) return (struct wl_tails) { 0, 1 };
    if (y == 0) return (struct wl_tails) { 1, 0 };
    double prefix = wl_beta_prefix(a, b, x, y);
    if (a * y >= b * x) {
        double p = prefix * fraction(a, b, x, y);
        return (struct wl_tails) { p, 1 - p };
    }
    double q = prefix * fraction(b, a, y, x);
    return (struct wl_tails) { 1 - q, q };
}
