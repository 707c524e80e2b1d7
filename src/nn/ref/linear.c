#include "nn/ref/ref.h"

void wl_ref_linear(struct wl_matrix m, const wl_real *x, const wl_real *w, const wl_real *b, wl_real *y)
{
    for (int64_t n = 0; n < m.n; n++)
        for (int64_t k = 0; k < m.k; k++) {
            double sum = b ? (double)b[k] : 0;
            for (int64_t f = 0; f < m.f; f++) sum += (double)x[n * m.f + f] * (double)w[k * m.f + f];
            y[n * m.k + k] = (wl_real)sum;
        }
}

void wl_ref_linear_backward_data(struct wl_matrix m, const wl_real *dy, const wl_real *w, wl_real *dx)
{
    for (int64_t n = 0; n < m.n; n++)
        for (int64_t f = 0; f < m.f; f++) {
            double sum = 0;
            for (int64_t k = 0; k < m.k; k++) sum += (double)dy[n * m.k + k] * (double)w[k * m.f + f];
            dx[n * m.f + f] = (wl_real)sum;
        }
}

void wl_ref_linear_backward_weights(struct wl_matrix m, const wl_real *x, const wl_real *dy, wl_real *dw, wl_real *db)
{
    for (int64_t k = 0; k < m.k; k++) {
        double bias = 0;
        for (int64_t n = 0; n < m.n; n++) bias += (double)dy[n * m.k + k];
        if (db) db[k] = (wl_real)bias;
        for (int64_t f = 0; f < m.f; f++) {
            double sum = 0;
            for (int64_t n = 0; n < m.n; n++) sum += (double)dy[n * m.k + k] * (double)x[n * m.f + f];
            dw[k * m.f + f] = (wl_real)sum;
        }
    }
}
