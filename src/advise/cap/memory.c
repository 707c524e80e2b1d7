#include "advise/cap/memory.h"

#include <math.h>

double wl_advise_cap_interpolate(const double *x, const double *y, size_t n, double at)
{
    size_t i = 0;
    while (i < n && x[i] < at) i++;
    if (i == 0) return y[0];
    if (i == n) return y[n - 1];
    return y[i - 1] + (at - x[i - 1]) / (x[i] - x[i - 1]) * (y[i] - y[i - 1]);
}

/* The heaviest particles, by insertion. */
static void find_heaviest(struct wl_advise_cap_memory *m, const double *share)
{
    size_t n = 0;
    for (size_t k = 0; k < WL_ADVISE_CAP_PARTICLES; k++) {
        if (n == WL_ADVISE_CAP_HEAVIEST && share[k] <= m->share[n - 1]) continue;
        size_t i = n < WL_ADVISE_CAP_HEAVIEST ? n++ : n - 1;
        for (; i > 0 && m->share[i - 1] < share[k]; i--) {
            m->share[i] = m->share[i - 1];
            m->particle[i] = m->particle[i - 1];
        }
        m->share[i] = share[k];
        m->particle[i] = k;
    }
}

/* What the grid says. */
static struct wl_advise_cap_point smooth(const struct wl_advise_cap_memory *m,
                                         const struct wl_advise_cap_particle *grid, enum wl_advise_cap_kind kind,
                                         double ratio)
{
    struct wl_advise_cap_point sum = { 0, 0 };
    for (size_t i = 0; i < WL_ADVISE_CAP_HEAVIEST; i++) {
        const struct wl_advise_cap_particle *z = &grid[m->particle[i]];
        const struct wl_advise_cap_point p =
            wl_advise_cap_point_at(z, kind, ratio, wl_advise_cap_speed_at(z, kind, ratio));
        sum.ln_t += m->share[i] * p.ln_t;
        sum.ln_p += m->share[i] * p.ln_p;
    }
    return sum;
}

void wl_advise_cap_remember(struct wl_advise_cap_memory *m, const struct wl_advise_cap_particle *grid,
                            const double *share)
{
    double sum = 0;
    find_heaviest(m, share);
    for (size_t i = 0; i < WL_ADVISE_CAP_HEAVIEST; i++) sum += m->share[i];
    for (size_t i = 0; i < WL_ADVISE_CAP_HEAVIEST; i++) m->share[i] /= sum;
    for (size_t i = 0; i < m->n; i++) {
        const struct wl_advise_cap_point p = smooth(m, grid, m->kind, exp(m->u[i]));
        m->residual_t[i] -= p.ln_t;
        m->residual_p[i] -= p.ln_p;
    }
}

struct wl_advise_cap_point wl_advise_cap_recall(const struct wl_advise_cap_memory *m,
                                                const struct wl_advise_cap_particle *grid, enum wl_advise_cap_kind kind,
                                                double ratio)
{
    struct wl_advise_cap_point p = smooth(m, grid, kind, ratio);
    if (kind != m->kind) return p;
    p.ln_t += wl_advise_cap_interpolate(m->u, m->residual_t, m->n, log(ratio));
    p.ln_p += wl_advise_cap_interpolate(m->u, m->residual_p, m->n, log(ratio));
    return p;
}
