#include "stats/cholesky.h"

#include <math.h>

bool wl_cholesky(double *a, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        double *column = a + j * n;
        if (!(column[j] > 0)) return false;
        const double root = sqrt(column[j]);
        for (size_t i = j; i < n; i++) column[i] /= root;
        for (size_t k = j + 1; k < n; k++)
            for (size_t i = k; i < n; i++) a[i + k * n] -= column[i] * column[k];
    }
    return true;
}

double wl_cholesky_ln_det(const double *l, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += log(l[i + i * n]);
    return 2 * sum;
}

void wl_cholesky_forward(const double *l, size_t n, double *x)
{
    for (size_t j = 0; j < n; j++) {
        x[j] /= l[j + j * n];
        for (size_t i = j + 1; i < n; i++) x[i] -= l[i + j * n] * x[j];
    }
}

void wl_cholesky_backward(const double *l, size_t n, double *x)
{
    for (size_t j = n; j-- > 0;) {
        for (size_t i = j + 1; i < n; i++) x[j] -= l[i + j * n] * x[i];
        x[j] /= l[j + j * n];
    }
}
