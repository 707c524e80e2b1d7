#include "nn/ref/backend/backend.h"

static void bessel_basis(const struct wl_basis *b, int64_t rows, const wl_real *distance, const wl_real *freq,
                         wl_real *y)
{
    wl_ref_bessel_basis(b, 0, rows, distance, freq, y);
}

enum { MAX_RADIAL = 64 };

static void bessel_basis_backward(const struct wl_basis *b, int64_t rows, const wl_real *distance, const wl_real *freq,
                                  const wl_real *dy, wl_real *dfreq)
{
    double sum[MAX_RADIAL];
    WL_CHECK(b->radial <= MAX_RADIAL);
    wl_ref_bessel_basis_backward(b, 0, rows, distance, freq, dy, sum);
    for (int64_t n = 0; n < b->radial; n++) dfreq[n] = (wl_real)sum[n];
}

static const struct wl_bessel_kernels kernels = { bessel_basis, bessel_basis_backward };

const struct wl_op_rules wl_ref_op_bessel_basis = { wl_lower_rows, wl_lower_rows_backward,
                                                    .lowering = &wl_rows_bessel_basis, .kernels = &kernels };
