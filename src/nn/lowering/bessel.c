#include "nn/lowering/kernels.h"
#include "nn/lowering/spherical_bessel.h"

#include <math.h>

double wl_spherical_bessel(int order, double t)
{
    return t < order + 1 ? wl_bessel_series(order, t) : wl_bessel_recurrence(order, t, cos(t), sin(t));
}

/* The zero between two places of different sign, by bisection to the last bit. */
static double zero_between(int order, double low, double high)
{
    const bool rises = wl_spherical_bessel(order, low) < 0;
    for (double middle = (low + high) / 2; middle > low && middle < high; middle = (low + high) / 2)
        *((wl_spherical_bessel(order, middle) < 0) == rises ? &low : &high) = middle;
    return (low + high) / 2;
}

/* Those of order 0 are multiples of pi; between two of an order lies one of the next. */
struct wl_bessel_zeros wl_bessel_zeros(const struct wl_basis *b, struct wl_arena *a)
{
    const int64_t orders = b->spherical, most = b->radial + orders - 1;
    struct wl_bessel_zeros z = { wl_new_array(a, double, (size_t)(orders * b->radial)),
                                 wl_new_array(a, double, (size_t)(orders * b->radial)) };
    double *line = wl_new_array(a, double, (size_t)most);
    for (int64_t n = 0; n < most; n++) line[n] = (double)(n + 1) * M_PI;
    for (int64_t l = 0; l < orders; l++) {
        for (int64_t n = 0; l > 0 && n < most - l; n++) line[n] = zero_between((int)l, line[n], line[n + 1]);
        for (int64_t n = 0; n < b->radial; n++) {
            z.zero[l * b->radial + n] = line[n];
            z.norm[l * b->radial + n] = M_SQRT2 / fabs(wl_spherical_bessel((int)l + 1, line[n]));
        }
    }
    return z;
}

/* (1 - x)^3/x times the first p terms of (1 - x)^-3, which is the same polynomial without its cancellation at 1. */
double wl_bessel_envelope(int p, double x)
{
    if (x >= 1) return 0;
    double sum = 0;
    for (int m = p - 1; m >= 0; m--) sum = sum * x + (m + 1) * (m + 2) / 2;
    return (1 - x) * (1 - x) * (1 - x) / x * sum;
}
