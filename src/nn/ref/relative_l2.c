#include "nn/ref/ref.h"

#include <math.h>

static double norm_of(int64_t f, const wl_real *x, const wl_real *minus)
{
    double sum = 0;
    for (int64_t i = 0; i < f; i++) {
        const double d = (double)x[i] - (minus ? (double)minus[i] : 0);
        sum += d * d;
    }
    return sqrt(sum);
}

double wl_ref_relative_l2(int64_t n, int64_t f, const wl_real *x, const wl_real *t, int64_t *samples)
{
    double sum = 0;
    *samples = 0;
    for (int64_t i = 0; i < n; i++, x += f, t += f) {
        if (isnan((double)t[0])) continue;
        sum += norm_of(f, x, t) / norm_of(f, t, NULL);
        ++*samples;
    }
    return sum;
}

void wl_ref_relative_l2_backward(int64_t n, int64_t f, double weight, const wl_real *x, const wl_real *t, wl_real *dx)
{
    int64_t samples = 0;
    for (int64_t i = 0; i < n; i++) samples += !isnan((double)t[i * f]);
    for (int64_t i = 0; i < n; i++, x += f, t += f, dx += f) {
        const double far = isnan((double)t[0]) ? 0 : norm_of(f, x, t);
        const double scale = far > 0 ? weight / (far * norm_of(f, t, NULL) * (double)samples) : 0;
        for (int64_t j = 0; j < f; j++) dx[j] = (wl_real)(far > 0 ? scale * ((double)x[j] - (double)t[j]) : 0);
    }
}
