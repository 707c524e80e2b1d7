#include "nn/ref/ref.h"

void wl_ref_gather(struct wl_gather_size g, const int32_t *positions, const wl_real *x, wl_real *y)
{
    for (int64_t i = 0; i < g.n * g.p; i++)
        for (int64_t j = 0; j < g.f; j++) y[i * g.f + j] = x[(i / g.p * g.s + positions[i]) * g.f + j];
}

void wl_ref_gather_backward(struct wl_gather_size g, const int32_t *positions, const wl_real *dy, wl_real *dx)
{
    for (int64_t i = 0; i < g.n * g.s * g.f; i++) dx[i] = 0;
    for (int64_t i = 0; i < g.n * g.p; i++)
        for (int64_t j = 0; j < g.f; j++) dx[(i / g.p * g.s + positions[i]) * g.f + j] += dy[i * g.f + j];
}
