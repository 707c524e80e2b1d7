#include "advise/cap/model.h"

#include <math.h>

const double wl_advise_cap_scale_share[WL_ADVISE_CAP_SCALES] = { 0.75, 0.25 };
/* Of the remembered curves, together, and of their scales: they are of other programs. */
static const double memory_share = 0.35, memory_scale_share[WL_ADVISE_CAP_SCALES] = { 0.5, 0.5 };
static const double scale[WL_ADVISE_CAP_SCALES] = { 1, 2.5 };

/* Standard deviations of the discrepancy at scale 1: white, and correlated over u. */
static const struct {
    double white, correlated;
} sd_t = { 0.010, 0.015 }, sd_p = { 0.012, 0.03 };
static const double length = 0.5; /* of the correlation, in u */
static const double level = 3;    /* of ln t: nothing is known of it */
static const double knot_lo = -1.2, knot_hi = 0;

double wl_advise_cap_knot(size_t i) { return knot_lo + (knot_hi - knot_lo) * (double)i / (WL_ADVISE_CAP_KNOTS - 1); }

static int find_memories(struct wl_advise_cap_model *m, const struct wl_advise_cap_prior *prior, const char *device,
                         struct wl_arena *a, struct wl_err *e)
{
    m->k = WL_ADVISE_CAP_PARTICLES;
    if (!prior || !device) return 0;
    m->memory = wl_try_alloc(a, prior->memories * sizeof(void *), 16, "the memories of a cap search", e);
    if (!m->memory) return WL_ENOMEM;
    for (size_t i = 0; i < prior->memories; i++) {
        const struct wl_advise_cap_memory *v = &prior->memory[i];
        if (v->device && wl_str_eq(v->device, device)) m->memory[m->k++ - WL_ADVISE_CAP_PARTICLES] = v;
    }
    return 0;
}

int wl_advise_cap_model_alloc(struct wl_advise_cap_model *m, size_t most, const struct wl_advise_cap_prior *prior,
                              const char *device, struct wl_arena *a, struct wl_err *e)
{
    const size_t row = 2 * most * sizeof(double), alignment = 64;
    if (find_memories(m, prior, device, a, e)) return WL_ENOMEM;
    m->grid = wl_try_alloc(a, WL_ADVISE_CAP_PARTICLES * sizeof *m->grid, alignment, "the grid of a cap search", e);
    if (!m->grid) return WL_ENOMEM;
    wl_advise_cap_grid(m->grid);
    m->mean = wl_try_alloc(a, m->k * row, alignment, "the curves of a cap search", e);
    if (!m->mean) return WL_ENOMEM;
    for (size_t s = 0; s < WL_ADVISE_CAP_SCALES; s++) {
        m->cov[s] = wl_try_alloc(a, 2 * most * row, alignment, "a covariance of a cap search", e);
        if (!m->cov[s]) return WL_ENOMEM;
    }
    return 0;
}

double wl_advise_cap_ln_prior(const struct wl_advise_cap_model *m, const struct wl_advise_cap_prior *prior, size_t k,
                              size_t scale_at)
{
    const size_t memories = m->k - WL_ADVISE_CAP_PARTICLES;
    if (k >= WL_ADVISE_CAP_PARTICLES) return log(memory_scale_share[scale_at] * memory_share / (double)memories);
    const double ln_weight = prior ? prior->ln_weight[k] : -log(WL_ADVISE_CAP_PARTICLES);
    return ln_weight + log(wl_advise_cap_scale_share[scale_at] * (memories ? 1 - memory_share : 1));
}

/* Means of one particle: its points, ln t relative to the reference, and a residual (NULL: none). */
static void put_means(const struct wl_advise_cap_model *m, size_t k, const struct wl_advise_cap_point *p,
                      const double *residual)
{
    const size_t d = m->d;
    double *mean = m->mean + k * 2 * d;
    for (size_t i = 0; i < d; i++) {
        mean[i] = p[i].ln_t - p[m->reference].ln_t + (residual ? residual[i] : 0);
        mean[d + i] = p[i].ln_p + (residual ? residual[d + i] : 0);
    }
}

static void fill_grid(struct wl_advise_cap_model *m, const double *ratio, const double *residual)
{
    struct wl_advise_cap_speed speed[WL_ADVISE_CAP_MAX];
    struct wl_advise_cap_point p[WL_ADVISE_CAP_MAX];
    for (size_t k = 0; k < WL_ADVISE_CAP_PARTICLES; k++) {
        for (size_t i = 0; i < m->d && k % WL_ADVISE_CAP_ALIKE == 0; i++)
            speed[i] = wl_advise_cap_speed_at(&m->grid[k], m->kind, ratio[i]);
        for (size_t i = 0; i < m->d; i++) p[i] = wl_advise_cap_point_at(&m->grid[k], m->kind, ratio[i], speed[i]);
        put_means(m, k, p, residual);
    }
}

static void fill_memories(struct wl_advise_cap_model *m, const double *ratio)
{
    struct wl_advise_cap_point p[WL_ADVISE_CAP_MAX];
    for (size_t k = WL_ADVISE_CAP_PARTICLES; k < m->k; k++) {
        const struct wl_advise_cap_memory *v = m->memory[k - WL_ADVISE_CAP_PARTICLES];
        for (size_t i = 0; i < m->d; i++) p[i] = wl_advise_cap_recall(v, m->grid, m->kind, ratio[i]);
        put_means(m, k, p, NULL);
    }
}

static void fill_means(struct wl_advise_cap_model *m, const double *ratio, const struct wl_advise_cap_prior *prior)
{
    double residual[2 * WL_ADVISE_CAP_MAX] = { 0 }, knot[WL_ADVISE_CAP_KNOTS];
    for (size_t i = 0; i < WL_ADVISE_CAP_KNOTS; i++) knot[i] = wl_advise_cap_knot(i);
    for (size_t i = 0; prior && i < 2 * m->d; i++)
        residual[i] =
            wl_advise_cap_interpolate(knot, prior->residual[m->kind][i >= m->d], WL_ADVISE_CAP_KNOTS, m->u[i % m->d]);
    fill_grid(m, ratio, residual);
    fill_memories(m, ratio);
}

/* Time and power are independent blocks. */
static void fill_covariance(struct wl_advise_cap_model *m, size_t s)
{
    const size_t d = m->d;
    const double s2 = scale[s] * scale[s];
    for (size_t j = 0; j < 2 * d; j++)
        for (size_t i = 0; i < 2 * d; i++) {
            const bool power = i >= d, apart = power != (j >= d);
            const double near = exp(-fabs(m->u[i % d] - m->u[j % d]) / length);
            const double white = power ? sd_p.white : sd_t.white;
            const double correlated = power ? sd_p.correlated : sd_t.correlated;
            const double v = s2 * (white * white * (i == j) + correlated * correlated * near);
            m->cov[s][i + j * 2 * d] = apart ? 0 : power ? v : v + level * level;
        }
}

void wl_advise_cap_model_fill(struct wl_advise_cap_model *m, const double *ratio, size_t d, size_t reference,
                              const struct wl_advise_cap_prior *prior)
{
    m->d = d;
    m->reference = reference;
    for (size_t i = 0; i < d; i++) m->u[i] = log(ratio[i]);
    fill_means(m, ratio, prior);
    for (size_t s = 0; s < WL_ADVISE_CAP_SCALES; s++) fill_covariance(m, s);
}
