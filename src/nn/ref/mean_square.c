#include "nn/ref/ref.h"

#include <math.h>

double wl_ref_mean_square(int64_t n, int64_t k, const wl_real *x, const wl_real *t, int64_t *rows)
{
    double sum = 0;
    *rows = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isnan(t[i * k])) continue;
        ++*rows;
        for (int64_t j = i * k; j < (i + 1) * k; j++) {
            double d = (double)x[j] - (double)t[j];
            sum += d * d;
        }
    }
    return *rows ? sum / (double)(*rows * k) : 0;
}

void wl_ref_mean_square_backward(int64_t n, int64_t k, double weight, const wl_real *x, const wl_real *t, wl_real *dx)
{
    int64_t rows = 0;
    for (int64_t i = 0; i < n; i++) rows += !isnan(t[i * k]);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i * k; j < (i + 1) * k; j++)
            dx[j] = isnan(t[i * k]) ? 0 : (wl_real)(2 * weight * ((double)x[j] - (double)t[j]) / (double)(rows * k));
}
