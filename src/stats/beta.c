/* Incomplete beta function by its continued fraction. Source: DLMF 8.17.22, evaluated by the modified Lentz method
 * on the side of the mean where it converges fast; the other side by the complement. */
#include "stats/internal.h"

#include <float.h>
#include <math.h>

enum { MOST_TERMS = 10000000 }; /* about sqrt(max(a, b)) are needed */

/* I_x(a, b) a / prefix */
static double fraction(double a, double b, double x)
{
    double c = 1, d = 1 / (1 - (a + b) / (a + 1) * x), h = d;
    for (int m = 1; m < MOST_TERMS; m++) {
        double even = m * (b - m) / (a + 2 * m - 1) * x / (a + 2 * m);
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        h *= c * d;
        double odd = -(a + m) / (a + 2 * m) * (a + b + m) / (a + 2 * m + 1) * x;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        h *= c * d;
        if (fabs(c * d - 1) < DBL_EPSILON) break;
    }
    return h;
}

struct wl_parts wl_beta_parts(double a, double b, double x, double y)
{
    if (!(a > 0) || !(b > 0) || isinf(a) || isinf(b) || !(x >= 0) || !(y >= 0)) return (struct wl_parts){ NAN, NAN };
    if (x == 0) return (struct wl_parts){ 0, 1 };
    if (y == 0) return (struct wl_parts){ 1, 0 };
    double prefix = wl_beta_prefix(a, b, x, y);
    if (x <= (a + 1) / (a + b + 2)) {
        double p = prefix * fraction(a, b, x) / a;
        return (struct wl_parts){ p, 1 - p };
    }
    double q = prefix * fraction(b, a, y) / b;
    return (struct wl_parts){ 1 - q, q };
}

double wl_beta_p(double a, double b, double x, double y) { return wl_beta_parts(a, b, x, y).lower; }
