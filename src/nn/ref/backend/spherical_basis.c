#include "nn/ref/backend/backend.h"

static const void *spherical_table(const struct wl_basis *b, struct wl_arena *a)
{
    struct wl_bessel_zeros *z = wl_new(a, struct wl_bessel_zeros);
    *z = wl_bessel_zeros(b, a);
    return z;
}

static void spherical_basis(const struct wl_basis *b, const void *table, int64_t rows, const wl_real *distance,
                            wl_real *y)
{
    wl_ref_spherical_basis(b, table, 0, rows, distance, y);
}

static const struct wl_spherical_kernels kernels = { spherical_table, spherical_basis };

const struct wl_op_rules wl_ref_op_spherical_basis = { wl_lower_rows, .lowering = &wl_rows_spherical_basis,
                                                       .kernels = &kernels };
