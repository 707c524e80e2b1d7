#include "nn/ref/ref.h"

void wl_ref_spherical_basis(const struct wl_basis *b, const struct wl_bessel_zeros *z, int64_t from, int64_t to,
                            const wl_real *distance, wl_real *y)
{
    for (int64_t e = from; e < to; e++) {
        const double x = (double)distance[e] / b->cutoff, u = wl_bessel_envelope(b->power, x);
        wl_real *row = y + e * b->spherical * b->radial;
        for (int64_t i = 0; i < b->spherical * b->radial; i++)
            row[i] = (wl_real)(u * z->norm[i] * wl_spherical_bessel((int)(i / b->radial), z->zero[i] * x));
    }
}
