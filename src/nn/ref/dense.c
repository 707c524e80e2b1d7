#include "nn/ref/ref.h"

#include <math.h>

static double sigmoid(double u) { return 1 / (1 + exp(-u)); }

static double softplus(double u) { return fmax(u, 0) + log1p(exp(-fabs(u))) - M_LN2; }

double wl_ref_activate(enum wl_activation a, double u)
{
    switch (a) {
    case WL_ACT_NONE: return u;
    case WL_ACT_SOFTPLUS: return isnan(u) ? u : softplus(u);
    case WL_ACT_SWISH: return u * sigmoid(u);
    }
    return NAN;
}

double wl_ref_slope(enum wl_activation a, double u)
{
    double s = sigmoid(u);
    switch (a) {
    case WL_ACT_NONE: return 1;
    case WL_ACT_SOFTPLUS: return s;
    case WL_ACT_SWISH: return s + u * s * (1 - s);
    }
    return NAN;
}

void wl_ref_dense(const struct wl_dense_args *a)
{
    for (int64_t n = 0; n < a->m.n; n++)
        for (int64_t k = 0; k < a->m.k; k++) {
            double u = a->b ? (double)a->b[k] : 0;
            for (int64_t f = 0; f < a->m.f; f++) u += (double)a->x[n * a->m.f + f] * (double)a->w[k * a->m.f + f];
            const int64_t at = n * a->m.k + k;
            if (a->u) a->u[at] = (wl_real)u;
            a->y[at] = (wl_real)((a->residual ? (double)a->residual[at] : 0) + wl_ref_activate(a->activation, u));
        }
}

static double du(const struct wl_dense_grad *a, int64_t n, int64_t k)
{
    const int64_t at = n * a->m.k + k;
    return (double)a->dy[at] * (a->u ? wl_ref_slope(a->activation, (double)a->u[at]) : 1);
}

void wl_ref_dense_backward(const struct wl_dense_grad *a)
{
    const struct wl_matrix m = a->m;
    for (int64_t n = 0; n < m.n; n++)
        for (int64_t f = 0; f < m.f; f++) {
            double sum = a->add ? (double)a->dx[n * m.f + f] : 0;
            for (int64_t k = 0; k < m.k; k++) sum += du(a, n, k) * (double)a->w[k * m.f + f];
            a->dx[n * m.f + f] = (wl_real)sum;
        }
    for (int64_t k = 0; k < m.k; k++) {
        double bias = 0;
        for (int64_t n = 0; n < m.n; n++) bias += du(a, n, k);
        if (a->db) a->db[k] = (wl_real)bias;
        for (int64_t f = 0; f < m.f; f++) {
            double sum = 0;
            for (int64_t n = 0; n < m.n; n++) sum += du(a, n, k) * (double)a->x[n * m.f + f];
            a->dw[k * m.f + f] = (wl_real)sum;
        }
    }
}
