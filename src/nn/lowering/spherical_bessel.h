/* The two forms of the spherical Bessel function j_order(t), for C and for kernels. */
#ifndef WL_NN_LOWERING_SPHERICAL_BESSEL_H
#define WL_NN_LOWERING_SPHERICAL_BESSEL_H

#include <math.h>

#ifndef WL_DEVICE
#define WL_DEVICE static inline
#endif

/* Below t = order + 1 the recurrence would lose digits. */
WL_DEVICE double wl_bessel_series(int order, double t)
{
    double first = 1, term = 1, sum = 1;
    for (int l = 1; l <= order; l++) first *= t / (2 * l + 1);
    for (int k = 1; fabs(term) > 1e-18; k++) {
        term *= -t * t / 2 / (k * (2 * (order + k) + 1));
        sum += term;
    }
    return first * sum;
}

/* From cos(t) and sin(t). */
WL_DEVICE double wl_bessel_recurrence(int order, double t, double cosine, double sine)
{
    double before = cosine / t, j = sine / t; /* orders -1 and 0 */
    for (int l = 0; l < order; l++) {
        const double next = (2 * l + 1) / t * j - before;
        before = j;
        j = next;
    }
    return j;
}

#endif
