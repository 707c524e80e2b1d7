#include "nn/ref/ref.h"

#include <math.h>

/* ---- patches ---- */

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

/* ---- position ---- */

void wl_ref_position(int64_t n, int64_t size, const wl_real *x, const wl_real *p, wl_real *y)
{
    for (int64_t i = 0; i < n * size; i++) y[i] = x[i] + p[i % size];
}

void wl_ref_position_backward(int64_t n, int64_t size, const wl_real *dy, wl_real *dp)
{
    for (int64_t i = 0; i < size; i++) {
        double sum = 0;
        for (int64_t k = 0; k < n; k++) sum += (double)dy[k * size + i];
        dp[i] = (wl_real)sum;
    }
}

/* ---- Fourier transforms: their defining sums ---- */

/* Where channel j of block b stands in point i of field n, and its real part in mode i; the imaginary one is `size`
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

/* A column that is not its own mirror image stands for two. */
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

/* ---- complex_linear ---- */

/* Real part of w[b,i,o]; the imaginary one is `imaginary` further. */
static int64_t weight_at(const struct wl_complex_size *v, int64_t b, int64_t i, int64_t o)
{
    return (b * v->in + i) * v->out + o;
}

static double activate(double shrink, double v)
{
    if (shrink == 0) return fmax(v, 0);
    return v > shrink ? v - shrink : v < -shrink ? v + shrink : 0;
}

void wl_ref_complex_linear(const struct wl_complex_size *v, double shrink, const wl_real *x, const wl_real *w,
                           const wl_real *bias, wl_real *y)
{
    const int64_t imaginary = v->blocks * v->in * v->out;
    for (int64_t m = 0; m < v->rows * v->blocks; m++) {
        const int64_t b = m % v->blocks;
        const wl_real *row = x + m * 2 * v->in;
        for (int64_t o = 0; o < v->out; o++) {
            double re = (double)bias[b * v->out + o], im = (double)bias[(v->blocks + b) * v->out + o];
            for (int64_t i = 0; i < v->in; i++) {
                const double xr = (double)row[i], xi = (double)row[v->in + i];
                const double wr = (double)w[weight_at(v, b, i, o)], wi = (double)w[weight_at(v, b, i, o) + imaginary];
                re += xr * wr - xi * wi;
                im += xi * wr + xr * wi;
            }
            y[m * 2 * v->out + o] = (wl_real)activate(shrink, re);
            y[m * 2 * v->out + v->out + o] = (wl_real)activate(shrink, im);
        }
    }
}

void wl_ref_complex_linear_backward_data(const struct wl_complex_size *v, const wl_real *y, const wl_real *dy,
                                         const wl_real *w, wl_real *dx)
{
    const int64_t imaginary = v->blocks * v->in * v->out;
    for (int64_t m = 0; m < v->rows * v->blocks; m++) {
        const int64_t b = m % v->blocks, at = m * 2 * v->out;
        for (int64_t i = 0; i < v->in; i++) {
            double re = 0, im = 0;
            for (int64_t o = 0; o < v->out; o++) {
                const double gr = y[at + o] != 0 ? (double)dy[at + o] : 0;
                const double gi = y[at + v->out + o] != 0 ? (double)dy[at + v->out + o] : 0;
                const double wr = (double)w[weight_at(v, b, i, o)], wi = (double)w[weight_at(v, b, i, o) + imaginary];
                re += gr * wr + gi * wi;
                im += gi * wr - gr * wi;
            }
            dx[m * 2 * v->in + i] = (wl_real)re;
            dx[m * 2 * v->in + v->in + i] = (wl_real)im;
        }
    }
}

void wl_ref_complex_linear_backward_weights(const struct wl_complex_size *v, const wl_real *x, const wl_real *y,
                                            const wl_real *dy, wl_real *dw, wl_real *db)
{
    const int64_t imaginary = v->blocks * v->in * v->out;
    for (int64_t b = 0; b < v->blocks; b++)
        for (int64_t o = 0; o < v->out; o++)
            for (int64_t i = -1; i < v->in; i++) { /* -1: the bias */
                double re = 0, im = 0;
                for (int64_t r = 0; r < v->rows; r++) {
                    const int64_t m = r * v->blocks + b, at = m * 2 * v->out + o;
                    const double gr = y[at] != 0 ? (double)dy[at] : 0;
                    const double gi = y[at + v->out] != 0 ? (double)dy[at + v->out] : 0;
                    const double xr = i < 0 ? 1 : (double)x[m * 2 * v->in + i];
                    const double xi = i < 0 ? 0 : (double)x[m * 2 * v->in + v->in + i];
                    re += gr * xr + gi * xi;
                    im += gi * xr - gr * xi;
                }
                wl_real *to = i < 0 ? db + b * v->out + o : dw + weight_at(v, b, i, o);
                to[0] = (wl_real)re;
                to[i < 0 ? v->blocks * v->out : imaginary] = (wl_real)im;
            }
}
