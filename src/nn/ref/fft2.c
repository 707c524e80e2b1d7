/* The Fourier transforms by their defining sums. */
#include "nn/ref/ref.h"

#include <math.h>

/* The index of channel j of block b in point i of field n, and of its real part in mode i; the imaginary part is `size`
 * further. */
static int64_t point_at(const struct wl_fourier_size *v, int64_t n, int64_t i, int64_t b, int64_t j)
{
    return ((n * v->h * v->w + i) * v->blocks + b) * v->size + j;
}

static int64_t mode_at(const struct wl_fourier_size *v, int64_t n, int64_t i, int64_t b, int64_t j)
{
    return ((n * v->h * v->modes + i) * v->blocks + b) * 2 * v->size + j;
}

static double angle(const struct wl_fourier_size *v, int64_t point, int64_t mode)
{
    const int64_t r = point / v->w, c = point % v->w, u = mode / v->modes, k = mode % v->modes;
    return 2 * M_PI * ((double)(u * r % v->h) / (double)v->h + (double)(k * c % v->w) / (double)v->w);
}

/* A column that is not its own mirror image counts as two. */
static double share(const struct wl_fourier_size *v, int64_t mode, bool doubled)
{
    const int64_t k = mode % v->modes;
    return (doubled && k && 2 * k != v->w ? 2 : 1) / sqrt((double)(v->h * v->w));
}

void wl_ref_fft2(const struct wl_fourier_size *v, bool doubled, const wl_real *x, wl_real *s)
{
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t m = 0; m < v->h * v->modes; m++)
            for (int64_t f = 0; f < v->blocks * v->size; f++) {
                const int64_t b = f / v->size, j = f % v->size, at = mode_at(v, n, m, b, j);
                double re = 0, im = 0;
                for (int64_t i = 0; i < v->h * v->w; i++) {
                    const double t = angle(v, i, m), value = (double)x[point_at(v, n, i, b, j)];
                    re += value * cos(t);
                    im -= value * sin(t);
                }
                s[at] = (wl_real)(re * share(v, m, doubled));
                s[at + v->size] = (wl_real)(im * share(v, m, doubled));
            }
}

void wl_ref_inverse_fft2(const struct wl_fourier_size *v, bool doubled, const wl_real *s, wl_real *x)
{
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t i = 0; i < v->h * v->w; i++)
            for (int64_t f = 0; f < v->blocks * v->size; f++) {
                const int64_t b = f / v->size, j = f % v->size;
                double sum = 0;
                for (int64_t m = 0; m < v->h * v->modes; m++) {
                    const int64_t at = mode_at(v, n, m, b, j);
                    const double t = angle(v, i, m);
                    sum += share(v, m, doubled) * ((double)s[at] * cos(t) - (double)s[at + v->size] * sin(t));
                }
                x[point_at(v, n, i, b, j)] = (wl_real)sum;
            }
}
