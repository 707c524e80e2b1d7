#include "nn/ref/ref.h"

#include <math.h>

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
