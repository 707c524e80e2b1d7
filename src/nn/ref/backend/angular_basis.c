#include "nn/ref/backend/backend.h"

static void angular_basis(int64_t orders, int64_t rows, const wl_real *cosine, wl_real *y)
{
    wl_ref_angular_basis(orders, 0, rows, cosine, y);
}

static const struct wl_angular_kernels kernels = { angular_basis };

const struct wl_op_rules wl_ref_op_angular_basis = { wl_lower_rows, .lowering = &wl_rows_angular_basis,
                                                     .kernels = &kernels };
