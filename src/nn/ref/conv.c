#include "nn/ref/ref.h"

/* The row of the input of window row i of output row p; outside [0, size) is padding. */
static inline int64_t row(const struct wl_window *v, int64_t p, int64_t i) { return p * v->stride[0] - v->pad[0] + i; }

static inline int64_t col(const struct wl_window *v, int64_t q, int64_t j) { return q * v->stride[1] - v->pad[1] + j; }

static inline bool inside(int64_t i, int64_t size) { return i >= 0 && i < size; }

/* One output element: the sum over channels and the window. */
static double dot(const struct wl_window *v, const wl_real *x, const wl_real *w, int64_t p, int64_t q)
{
    double sum = 0;
    for (int64_t c = 0; c < v->c; c++)
        for (int64_t i = 0; i < v->r; i++)
            for (int64_t j = 0; j < v->s; j++) {
                int64_t y = row(v, p, i), z = col(v, q, j);
                if (!inside(y, v->h) || !inside(z, v->w)) continue;
                sum += (double)x[(c * v->h + y) * v->w + z] * (double)w[(c * v->r + i) * v->s + j];
            }
    return sum;
}

void wl_ref_conv(const struct wl_window *v, const wl_real *x, const wl_real *w, const wl_real *b, wl_real *y)
{
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t k = 0; k < v->k; k++)
            for (int64_t p = 0; p < v->p; p++)
                for (int64_t q = 0; q < v->q; q++) {
                    double sum = dot(v, x + n * v->c * v->h * v->w, w + k * v->c * v->r * v->s, p, q);
                    y[((n * v->k + k) * v->p + p) * v->q + q] = (wl_real)(sum + (b ? (double)b[k] : 0));
                }
}

/* dx at (c, y, z) of one sample: every output whose window covers it, times the weight that met it there. */
static double dot_data(const struct wl_window *v, const wl_real *dy, const wl_real *w, int64_t c, int64_t y, int64_t z)
{
    double sum = 0;
    for (int64_t k = 0; k < v->k; k++)
        for (int64_t i = 0; i < v->r; i++)
            for (int64_t j = 0; j < v->s; j++) {
                int64_t up = y + v->pad[0] - i, left = z + v->pad[1] - j; /* p * stride, q * stride */
                if (up % v->stride[0] || left % v->stride[1]) continue;
                int64_t p = up / v->stride[0], q = left / v->stride[1];
                if (!inside(p, v->p) || !inside(q, v->q)) continue;
                sum += (double)dy[(k * v->p + p) * v->q + q] * (double)w[((k * v->c + c) * v->r + i) * v->s + j];
            }
    return sum;
}

void wl_ref_conv_backward_data(const struct wl_window *v, const wl_real *dy, const wl_real *w, wl_real *dx)
{
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t c = 0; c < v->c; c++)
            for (int64_t y = 0; y < v->h; y++)
                for (int64_t z = 0; z < v->w; z++)
                    dx[((n * v->c + c) * v->h + y) * v->w + z] =
                        (wl_real)dot_data(v, dy + n * v->k * v->p * v->q, w, c, y, z);
}

/* dw at (k, c, i, j): every output of channel k times the input that this weight met. */
static double dot_weights(const struct wl_window *v, const wl_real *x, const wl_real *dy, int64_t k, int64_t c,
                          int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t p = 0; p < v->p; p++)
            for (int64_t q = 0; q < v->q; q++) {
                int64_t y = row(v, p, i), z = col(v, q, j);
                if (!inside(y, v->h) || !inside(z, v->w)) continue;
                sum += (double)dy[((n * v->k + k) * v->p + p) * v->q + q] *
                       (double)x[((n * v->c + c) * v->h + y) * v->w + z];
            }
    return sum;
}

void wl_ref_conv_backward_weights(const struct wl_window *v, const wl_real *x, const wl_real *dy, wl_real *dw)
{
    for (int64_t k = 0; k < v->k; k++)
        for (int64_t c = 0; c < v->c; c++)
            for (int64_t i = 0; i < v->r; i++)
                for (int64_t j = 0; j < v->s; j++)
                    dw[((k * v->c + c) * v->r + i) * v->s + j] = (wl_real)dot_weights(v, x, dy, k, c, i, j);
}

void wl_ref_channel_sum(struct wl_channels ch, const wl_real *dy, wl_real *db)
{
    for (int64_t c = 0; c < ch.c; c++) {
        double sum = 0;
        for (int64_t n = 0; n < ch.n; n++)
            for (int64_t i = 0; i < ch.area; i++) sum += (double)dy[(n * ch.c + c) * ch.area + i];
        db[c] = (wl_real)sum;
    }
}
