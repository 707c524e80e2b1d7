#include "nn/ref/ref.h"

void wl_ref_put_channels(struct wl_channels x_of, int64_t channels, int64_t at, const wl_real *x, wl_real *y)
{
    const int64_t part = x_of.c * x_of.area;
    for (int64_t n = 0; n < x_of.n; n++)
        for (int64_t i = 0; i < part; i++) y[(n * channels + at) * x_of.area + i] = x[n * part + i];
}

void wl_ref_get_channels(struct wl_channels x_of, int64_t channels, int64_t at, const wl_real *y, wl_real *x)
{
    const int64_t part = x_of.c * x_of.area;
    for (int64_t n = 0; n < x_of.n; n++)
        for (int64_t i = 0; i < part; i++) x[n * part + i] = y[(n * channels + at) * x_of.area + i];
}
