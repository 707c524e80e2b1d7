/* The matrices: multiplying polynomials by their values at some points, transposed (Toom and Cook). */
#include "nn/cpu/winograd_1d.h"

#include <math.h>

enum { N = WL_WINOGRAD_1D_POINTS };

/* The last point is infinity: a polynomial's leading coefficient. Of the sets of small fractions tried these had the
 * smallest rounding error in sums over 192 channels. */
static const double points_of_3[] = { 0, 1, -1, 2, -0.5 }, points_of_7[] = { 0, 1, -1, 2, -2, 0.5, -0.5, 4.0 / 3 };

static const struct family {
    int taps, m;
    const double *points;
} families[] = { { 3, 4, points_of_3 }, { 7, 3, points_of_7 } };

/* Row i: the powers below k of point i. */
static void powers(const struct family *f, int n, int k, double out[N][N])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < k; j++) out[i][j] = i + 1 < n ? pow(f->points[i], j) : j + 1 == k;
}

/* Gauss and Jordan with pivots. */
static void invert(int n, double a[N][N], double out[N][N])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) out[i][j] = i == j;
    for (int c = 0; c < n; c++) {
        int best = c;
        for (int i = c + 1; i < n; i++)
            if (fabs(a[i][c]) > fabs(a[best][c])) best = i;
        for (int j = 0; j < n; j++) {
            double x = a[c][j], y = out[c][j];
            a[c][j] = a[best][j];
            out[c][j] = out[best][j];
            a[best][j] = x;
            out[best][j] = y;
        }
        const double pivot = a[c][c];
        for (int j = 0; j < n; j++) {
            a[c][j] /= pivot;
            out[c][j] /= pivot;
        }
        for (int i = 0; i < n; i++) {
            const double factor = i == c ? 0 : a[i][c];
            for (int j = 0; j < n; j++) {
                a[i][j] -= factor * a[c][j];
                out[i][j] -= factor * out[c][j];
            }
        }
    }
}

static struct wl_winograd_1d_matrix matrix(int outs, int ins, double v[N][N], bool transposed)
{
    struct wl_winograd_1d_matrix m = { outs, ins, { 0 } };
    for (int i = 0; i < outs; i++)
        for (int j = 0; j < ins; j++) m.t[i * ins + j] = (float)(transposed ? v[j][i] : v[i][j]);
    return m;
}

static void fill(struct wl_winograd_1d *l, const struct family *f)
{
    const int n = l->points;
    double of_y[N][N], of_w[N][N], of_x[N][N], inverse[N][N];
    powers(f, n, l->m, of_y);
    powers(f, n, l->taps, of_w);
    powers(f, n, n, of_x);
    invert(n, of_x, inverse);
    l->into = matrix(n, n, inverse, true);
    l->into_back = matrix(n, n, inverse, false);
    l->filter = matrix(n, l->taps, of_w, false);
    l->filter_back = matrix(l->taps, n, of_w, true);
    l->from = matrix(l->m, n, of_y, true);
    l->from_back = matrix(n, l->m, of_y, false);
}

bool wl_winograd_1d_init(struct wl_winograd_1d *l, const struct wl_window *v)
{
    const bool down = v->r > 1;
    const int64_t taps = down ? v->r : v->s, length = down ? v->h : v->w;
    if ((v->r > 1) == (v->s > 1) || v->stride[0] != 1 || v->stride[1] != 1 || v->pad[down ? 0 : 1] != taps / 2 ||
        v->pad[down ? 1 : 0] != 0 || v->c % WL_WINOGRAD_1D_LANES || v->k % WL_WINOGRAD_1D_LANES)
        return false;
    for (size_t i = 0; i < WL_COUNT(families); i++) {
        const struct family *f = &families[i];
        if (f->taps != taps || length + 2 * taps > WL_WINOGRAD_1D_LINE) continue;
        *l = (struct wl_winograd_1d) { .n = v->n, .h = v->h, .w = v->w, .down = down, .taps = f->taps, .m = f->m };
        l->points = f->m + f->taps - 1;
        l->tiles = (length + f->m - 1) / f->m;
        fill(l, f);
        return true;
    }
    return false;
}

struct wl_dims wl_winograd_1d_tile_dims(const struct wl_winograd_1d *l, int64_t c)
{
    return WL_DIMS(l->n, l->points * c, l->down ? l->tiles : l->h, l->down ? l->w : l->tiles);
}
