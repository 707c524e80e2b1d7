#include "nn/ref/ref.h"

#include <math.h>

/* Mean and 1/sqrt(var + eps) of a row. */
static void moments(int64_t f, double eps, const wl_real *z, double *mean, double *inverse)
{
    double sum = 0, squares = 0;
    for (int64_t j = 0; j < f; j++) sum += (double)z[j];
    *mean = sum / (double)f;
    for (int64_t j = 0; j < f; j++) squares += ((double)z[j] - *mean) * ((double)z[j] - *mean);
    *inverse = 1 / sqrt(squares / (double)f + eps);
}

void wl_ref_layer_norm(struct wl_vectors r, double eps, const wl_real *z, const wl_real *gamma, const wl_real *beta,
                       wl_real *y)
{
    for (int64_t i = 0; i < r.n; i++, z += r.f, y += r.f) {
        double mean, inverse;
        moments(r.f, eps, z, &mean, &inverse);
        for (int64_t j = 0; j < r.f; j++)
            y[j] = (wl_real)((double)gamma[j] * ((double)z[j] - mean) * inverse + (double)beta[j]);
    }
}

/* With h = (z - mean) inverse and g = gamma dy: dz = inverse (g - mean(g) - h mean(g h)). */
static void row_backward(const struct wl_ref_layer_norm_grad *b, int64_t row)
{
    const int64_t f = b->rows.f;
    const wl_real *z = b->z + row * f, *dy = b->dy + row * f;
    wl_real *dz = b->dz + row * f;
    double mean, inverse, sum = 0, along = 0;
    moments(f, b->eps, z, &mean, &inverse);
    for (int64_t j = 0; j < f; j++) {
        double h = ((double)z[j] - mean) * inverse, g = (double)b->gamma[j] * (double)dy[j];
        sum += g;
        along += g * h;
        b->dgamma[j] += (wl_real)((double)dy[j] * h);
        b->dbeta[j] += dy[j];
    }
    for (int64_t j = 0; j < f; j++) {
        double h = ((double)z[j] - mean) * inverse, g = (double)b->gamma[j] * (double)dy[j];
        dz[j] = (wl_real)(inverse * (g - sum / (double)f - h * along / (double)f));
    }
}

void wl_ref_layer_norm_backward(const struct wl_ref_layer_norm_grad *g)
{
    for (int64_t j = 0; j < g->rows.f; j++) g->dgamma[j] = g->dbeta[j] = 0;
    for (int64_t i = 0; i < g->rows.n; i++) row_backward(g, i);
}
