#include "stats/cholesky.h"

#include <math.h>

/* One column after the other: the inner loop runs along rows. */
bool wl_cholesky(double *a, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (!(a[k * n + k] > 0)) return false;
        const double pivot = sqrt(a[k * n + k]);
        a[k * n + k] = pivot;
        for (size_t i = k + 1; i < n; i++) a[i * n + k] /= pivot;
        for (size_t i = k + 1; i < n; i++) a[k * n + i] = a[i * n + k]; /* the column, beside the diagonal */
        for (size_t i = k + 1; i < n; i++) {
            const double f = a[i * n + k], *column = a + k * n;
            double *row = a + i * n;
            for (size_t q = k + 1; q <= i; q++) row[q] -= f * column[q];
        }
    }
    return true;
}

double wl_cholesky_ln_det(const double *l, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += log(l[i * n + i]);
    return 2 * sum;
}

void wl_cholesky_forward(const double *l, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) {
        double s = x[i];
        for (size_t k = 0; k < i; k++) s -= l[i * n + k] * x[k];
        x[i] = s / l[i * n + i];
    }
}

void wl_cholesky_backward(const double *l, size_t n, double *x)
{
    for (size_t i = n; i-- > 0;) {
        x[i] /= l[i * n + i];
        for (size_t k = 0; k < i; k++) x[k] -= l[i * n + k] * x[i];
    }
}
