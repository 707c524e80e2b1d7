#include "nn/ref/ref.h"

#include <math.h>

void wl_ref_bessel_basis(const struct wl_basis *b, int64_t from, int64_t to, const wl_real *distance,
                         const wl_real *freq, wl_real *y)
{
    for (int64_t e = from; e < to; e++) {
        const double x = (double)distance[e] / b->cutoff, u = wl_bessel_envelope(b->power, x);
        for (int64_t n = 0; n < b->radial; n++) y[e * b->radial + n] = (wl_real)(u * sin((double)freq[n] * x));
    }
}

void wl_ref_bessel_basis_backward(const struct wl_basis *b, int64_t from, int64_t to, const wl_real *distance,
                                  const wl_real *freq, const wl_real *dy, double *dfreq)
{
    for (int64_t n = 0; n < b->radial; n++) dfreq[n] = 0;
    for (int64_t e = from; e < to; e++) {
        const double x = (double)distance[e] / b->cutoff, u = wl_bessel_envelope(b->power, x);
        for (int64_t n = 0; n < b->radial; n++)
            dfreq[n] += (double)dy[e * b->radial + n] * u * x * cos((double)freq[n] * x);
    }
}
