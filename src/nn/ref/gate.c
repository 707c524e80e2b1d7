#include "nn/ref/ref.h"

void wl_ref_gate(const struct wl_gate_args *a)
{
    for (int64_t r = 0; r < a->rows; r++)
        for (int64_t j = 0; j < a->f; j++) {
            double g = 0;
            for (int64_t i = 0; i < a->k; i++) g += (double)a->basis[r * a->k + i] * (double)a->w[j * a->k + i];
            a->y[r * a->f + j] = (wl_real)((double)a->x[r * a->f + j] * g);
        }
}

void wl_ref_gate_backward(const struct wl_gate_grad *g)
{
    const struct wl_gate_args *a = &g->of;
    for (int64_t i = 0; i < a->f * a->k; i++) g->dw[i] = 0;
    for (int64_t i = 0; i < a->rows * a->k && !g->add; i++) g->d_basis[i] = 0;
    for (int64_t r = 0; r < a->rows; r++)
        for (int64_t j = 0; j < a->f; j++) {
            const double dy = (double)g->dy[r * a->f + j], d = dy * (double)a->x[r * a->f + j];
            double gate = 0;
            for (int64_t i = 0; i < a->k; i++) {
                gate += (double)a->basis[r * a->k + i] * (double)a->w[j * a->k + i];
                g->dw[j * a->k + i] += (wl_real)(d * (double)a->basis[r * a->k + i]);
                g->d_basis[r * a->k + i] += (wl_real)(d * (double)a->w[j * a->k + i]);
            }
            g->dx[r * a->f + j] = (wl_real)(dy * gate);
        }
}
