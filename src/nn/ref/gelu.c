#include "nn/ref/ref.h"

#include <math.h>

/* Phi, the share of a normal distribution below u. */
static double below(double u) { return 0.5 * (1 + erf(u * M_SQRT1_2)); }

void wl_ref_gelu(int64_t n, const wl_real *u, wl_real *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = (wl_real)((double)u[i] * below((double)u[i]));
}

void wl_ref_gelu_backward(int64_t n, const wl_real *u, const wl_real *dy, wl_real *du)
{
    for (int64_t i = 0; i < n; i++) {
        double x = (double)u[i], density = exp(-x * x / 2) / sqrt(2 * M_PI);
        du[i] = (wl_real)((double)dy[i] * (below(x) + x * density));
    }
}
