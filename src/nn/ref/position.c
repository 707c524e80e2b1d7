#include "nn/ref/ref.h"

void wl_ref_position(int64_t n, int64_t size, const wl_real *x, const wl_real *p, wl_real *y)
{
    for (int64_t i = 0; i < n * size; i++) y[i] = x[i] + p[i % size];
}

void wl_ref_position_backward(int64_t n, int64_t size, const wl_real *dy, wl_real *dp)
{
    for (int64_t i = 0; i < size; i++) {
        double sum = 0;
        for (int64_t k = 0; k < n; k++) sum += (double)dy[k * size + i];
        dp[i] = (wl_real)sum;
    }
}
