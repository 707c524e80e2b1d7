#include "nn/ref/ref.h"

#include <string.h>

void wl_ref_edge_concat(const struct wl_edge_concat_args *a, int64_t from, int64_t to)
{
    const int64_t f = a->f, g = a->g, width = 2 * f + g;
    for (int64_t i = from; i < to; i++)
        for (int64_t e = a->edge_start[i]; e < a->edge_start[i + 1]; e++) {
            memcpy(a->y + e * width, a->x + i * f, (size_t)f * sizeof *a->y);
            memcpy(a->y + e * width + f, a->x + a->source[e] * f, (size_t)f * sizeof *a->y);
            memcpy(a->y + e * width + 2 * f, a->z + e * g, (size_t)g * sizeof *a->y);
        }
}

void wl_ref_edge_concat_backward(const struct wl_edge_concat_grad *b, int64_t from, int64_t to)
{
    const int64_t f = b->of.f, g = b->of.g, width = 2 * f + g;
    for (int64_t i = from; i < to; i++) {
        wl_real *dx = b->dx + i * f;
        memset(dx, 0, (size_t)f * sizeof *dx);
        for (int64_t e = b->of.edge_start[i]; e < b->of.edge_start[i + 1]; e++) {
            const wl_real *to_i = b->dy + e * width, *from_i = b->dy + b->of.reverse[e] * width + f;
            for (int64_t j = 0; j < f; j++) dx[j] += to_i[j] + from_i[j];
            memcpy(b->dz + e * g, to_i + 2 * f, (size_t)g * sizeof *b->dz);
        }
    }
}
