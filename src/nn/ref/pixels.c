#include "nn/ref/ref.h"

void wl_ref_pixels(const struct wl_pixel_map *m, const uint8_t *x, wl_real *y)
{
    for (int64_t i = 0; i < m->n * m->c * m->area; i++) {
        const int64_t c = i / m->area % m->c;
        const wl_real scaled = (wl_real)x[i] * m->scale[c];
        y[i] = scaled + m->shift[c];
    }
}
