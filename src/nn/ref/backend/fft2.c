#include "nn/ref/backend/backend.h"

static void fft2(const struct wl_node *n, const float *x, float *y)
{
    const struct wl_fourier_size v = wl_fourier_size(n);
    wl_ref_fft2(&v, n->op == WL_OP_INVERSE_FFT2, x, y);
}

static void inverse_fft2(const struct wl_node *n, const float *x, float *y)
{
    const struct wl_fourier_size v = wl_fourier_size(n);
    wl_ref_inverse_fft2(&v, n->op == WL_OP_INVERSE_FFT2, x, y);
}

static const struct wl_linear_map forward = { .apply = fft2, .adjoint = inverse_fft2 };
static const struct wl_linear_map inverse = { .apply = inverse_fft2, .adjoint = fft2 };

const struct wl_op_rules wl_ref_op_fft2 = { wl_lower_linear_map, wl_lower_linear_map_backward, .kernels = &forward };
const struct wl_op_rules wl_ref_op_inverse_fft2 = { wl_lower_linear_map, wl_lower_linear_map_backward,
                                                    .kernels = &inverse };
