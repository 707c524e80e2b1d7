#include "nn/ref/ref.h"

void wl_ref_relu(int64_t n, const wl_real *x, wl_real *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : 0;
}

void wl_ref_relu_backward(int64_t n, const wl_real *y, const wl_real *dy, wl_real *dx)
{
    for (int64_t i = 0; i < n; i++) dx[i] = y[i] > 0 ? dy[i] : 0;
}
