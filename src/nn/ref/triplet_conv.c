#include "nn/ref/ref.h"

#include <string.h>

/* Triplet k->j->i: the edges q = i->j and k->j by number. */
struct triplet {
    int64_t q, k, number;
};

/* s_b of a triplet. */
static double weight_of(const struct wl_triplet_args *a, struct triplet t, int64_t b)
{
    const int64_t n = a->radials, both = a->orders * n;
    double s = 0;
    for (int64_t l = 0; l < a->orders; l++)
        for (int64_t i = l * n; i < (l + 1) * n; i++)
            s += (double)a->v[b * both + i] * (double)a->radial[t.k * both + i] *
                 (double)a->angular[t.number * a->orders + l];
    return s;
}

/* Calls `each` for all triplets in their order. */
static void for_triplets(const struct wl_triplet_args *a, void (*each)(const void *what, struct triplet t),
                         const void *what)
{
    for (int64_t j = 0; j < a->atoms; j++) {
        int64_t number = a->triplet_start[j];
        for (int64_t q = a->edge_start[j]; q < a->edge_start[j + 1]; q++)
            for (int64_t k = a->edge_start[j]; k < a->edge_start[j + 1]; k++)
                if (k != q) each(what, (struct triplet) { q, k, number++ });
    }
}

static void add_triplet(const void *what, struct triplet t)
{
    const struct wl_triplet_args *a = what;
    const int64_t f = a->f;
    wl_real *y = a->y + a->reverse[t.q] * f;
    const wl_real *x = a->x + t.k * f;
    for (int64_t b = 0; b < a->bilinear; b++) {
        const double s = weight_of(a, t, b);
        for (int64_t i = 0; i < f; i++) {
            double sum = 0;
            for (int64_t j = 0; j < f; j++) sum += (double)a->w[(i * a->bilinear + b) * f + j] * (double)x[j];
            y[i] += (wl_real)(s * sum);
        }
    }
}

void wl_ref_triplet_conv(const struct wl_triplet_args *a)
{
    memcpy(a->y, a->residual, (size_t)(a->edge_start[a->atoms] * a->f) * sizeof *a->y);
    for_triplets(a, add_triplet, a);
}

static void add_gradients(const void *what, struct triplet t)
{
    const struct wl_triplet_grad *g = what;
    const struct wl_triplet_args *a = &g->of;
    const int64_t f = a->f, n = a->radials, both = a->orders * n;
    const wl_real *dy = g->dy + a->reverse[t.q] * f, *x = a->x + t.k * f;
    for (int64_t b = 0; b < a->bilinear; b++) {
        const double s = weight_of(a, t, b);
        double ds = 0;
        for (int64_t i = 0; i < f; i++)
            for (int64_t j = 0; j < f; j++) {
                const int64_t at = (i * a->bilinear + b) * f + j;
                const double d = (double)dy[i] * (double)x[j];
                ds += d * (double)a->w[at];
                g->dw[at] += (wl_real)(s * d);
                g->dx[t.k * f + j] += (wl_real)(s * (double)dy[i] * (double)a->w[at]);
            }
        for (int64_t i = 0; i < both; i++)
            g->dv[b * both + i] +=
                (wl_real)(ds * (double)a->radial[t.k * both + i] * (double)a->angular[t.number * a->orders + i / n]);
    }
}

void wl_ref_triplet_conv_backward(const struct wl_triplet_grad *g)
{
    const struct wl_triplet_args *a = &g->of;
    memset(g->dx, 0, (size_t)(a->edge_start[a->atoms] * a->f) * sizeof *g->dx);
    memset(g->dw, 0, (size_t)(a->f * a->bilinear * a->f) * sizeof *g->dw);
    memset(g->dv, 0, (size_t)(a->bilinear * a->orders * a->radials) * sizeof *g->dv);
    for_triplets(a, add_gradients, g);
}
