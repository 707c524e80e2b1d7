#include "nn/ref/ref.h"

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

static void angular_basis(int64_t orders, int64_t rows, const wl_real *cosine, wl_real *y)
{
    wl_ref_angular_basis(orders, 0, rows, cosine, y);
}

static void edge_concat(const struct wl_concat_args *a, int64_t atoms) { wl_ref_edge_concat(a, 0, atoms); }

static void edge_concat_backward(const struct wl_concat_grad *b, int64_t atoms)
{
    wl_ref_edge_concat_backward(b, 0, atoms);
}

const struct wl_rows_kernels wl_ref_rows = {
    .dense = wl_ref_dense,
    .dense_backward = wl_ref_dense_backward,
    .filter_conv = wl_ref_filter_conv,
    .filter_conv_backward = wl_ref_filter_conv_backward,
    .bessel_basis = bessel_basis,
    .bessel_basis_backward = bessel_basis_backward,
    .spherical_table = spherical_table,
    .spherical_basis = spherical_basis,
    .angular_basis = angular_basis,
    .gate = wl_ref_gate,
    .gate_backward = wl_ref_gate_backward,
    .edge_concat = edge_concat,
    .edge_concat_backward = edge_concat_backward,
    .triplet_conv = wl_ref_triplet_conv,
    .triplet_conv_backward = wl_ref_triplet_conv_backward,
};
