#include "nn/ref/ref.h"

/* Calls copy(image element, row element) for each point of each image, rows in the order [C,s,s] or [s,s,C]. */
static void each_point(const struct wl_patch_size *v, bool channels_last, const wl_real *from, wl_real *to, bool back)
{
    const int64_t s = v->side, across = v->w / s, row = v->c * s * s;
    int64_t at = 0;
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t c = 0; c < v->c; c++)
            for (int64_t y = 0; y < v->h; y++)
                for (int64_t x = 0; x < v->w; x++, at++) {
                    const int64_t square = (n * (v->h / s) + y / s) * across + x / s, p = y % s, q = x % s;
                    const int64_t in = square * row + (channels_last ? (p * s + q) * v->c + c : (c * s + p) * s + q);
                    if (back)
                        to[at] = from[in];
                    else
                        to[in] = from[at];
                }
}

void wl_ref_to_patches(const struct wl_patch_size *v, bool channels_last, const wl_real *image, wl_real *rows)
{
    each_point(v, channels_last, image, rows, false);
}

void wl_ref_from_patches(const struct wl_patch_size *v, bool channels_last, const wl_real *rows, wl_real *image)
{
    each_point(v, channels_last, rows, image, true);
}
