/* Learning from measured curves of other workloads: weights of the particles by three passes of expectation
 * maximization, then the mean residual of the curves about what the particles say. */
#include "advise/cap/posterior.h"

#include "stats/stats.h"

#include <math.h>
#include <string.h>

enum { PASSES = 3, PARTICLES = WL_ADVISE_CAP_PARTICLES };
static const double uniform_share = 0.3, shrinkage = 0.8;
static const double curve_noise = 0.005; /* sd of ln t and ln P of a measured curve */

/* A curve in the model's units: distinct values, ascending. */
struct points {
    size_t n;
    double ratio[WL_ADVISE_CAP_MAX], ln_t[WL_ADVISE_CAP_MAX], ln_p[WL_ADVISE_CAP_MAX];
};

struct learning {
    const struct wl_advise_cap_curve *curves;
    size_t n;
    struct wl_advise_cap_model model;
    struct wl_advise_cap_posterior posterior;
    double *ln_likelihood; /* [n][particles], both scales together */
    double *share;         /* [particles] scratch: responsibility of each particle for a curve */
};

static int curve_fail(const struct wl_advise_cap_curve *c, size_t i, struct wl_err *e, const char *what, double value)
{
    return wl_fail(e, WL_EINVAL, "history curve %zu%s%s%s: %s: %g", i + 1, c->group ? " (" : "",
                   c->group ? c->group : "", c->group ? ")" : "", what, value);
}

static int check_curve(const struct wl_advise_cap_curve *c, size_t i, struct wl_err *e)
{
    if (c->n < 2 || c->n > WL_ADVISE_CAP_MAX)
        return curve_fail(c, i, e, "number of points is not in 2 .. 64", (double)c->n);
    if (c->kind != WL_ADVISE_POWER_CAP && c->kind != WL_ADVISE_CLOCK)
        return curve_fail(c, i, e, "neither caps nor clocks", (double)c->kind);
    if (!(c->scale_w > 0) || isinf(c->scale_w))
        return curve_fail(c, i, e, "power limit of the device is not a positive number of W", c->scale_w);
    if (!(c->top >= 0) || isinf(c->top)) return curve_fail(c, i, e, "largest cap or clock is not positive", c->top);
    double lo = INFINITY, hi = 0;
    for (size_t k = 0; k < c->n; k++) {
        if (!(c->value[k] > 0) || isinf(c->value[k]))
            return curve_fail(c, i, e, "cap or clock is not a positive number", c->value[k]);
        if (!isfinite(c->ln_t[k])) return curve_fail(c, i, e, "ln of a time is not finite", c->ln_t[k]);
        if (!isfinite(c->ln_p[k])) return curve_fail(c, i, e, "ln of a power is not finite", c->ln_p[k]);
        lo = fmin(lo, c->value[k]);
        hi = fmax(hi, c->value[k]);
    }
    return lo < hi ? 0 : curve_fail(c, i, e, "all points have the same cap or clock", lo);
}

/* Inserts a point, keeping the order; points of one value are averaged. */
static void insert(struct points *p, size_t repeats[], double ratio, double ln_t, double ln_p)
{
    size_t i = p->n;
    while (i > 0 && p->ratio[i - 1] >= ratio) i--;
    if (i < p->n && p->ratio[i] == ratio) {
        const double share = 1 / (double)++repeats[i];
        p->ln_t[i] += (ln_t - p->ln_t[i]) * share;
        p->ln_p[i] += (ln_p - p->ln_p[i]) * share;
        return;
    }
    const size_t later = p->n - i;
    memmove(&p->ratio[i + 1], &p->ratio[i], later * sizeof *p->ratio);
    memmove(&p->ln_t[i + 1], &p->ln_t[i], later * sizeof *p->ln_t);
    memmove(&p->ln_p[i + 1], &p->ln_p[i], later * sizeof *p->ln_p);
    memmove(&repeats[i + 1], &repeats[i], later * sizeof *repeats);
    p->ratio[i] = ratio;
    p->ln_t[i] = ln_t;
    p->ln_p[i] = ln_p;
    repeats[i] = 1;
    p->n++;
}

static struct points points_of(const struct wl_advise_cap_curve *c)
{
    struct points p = { 0 };
    size_t repeats[WL_ADVISE_CAP_MAX];
    double top = c->top;
    for (size_t k = 0; k < c->n && c->top <= 0; k++) top = fmax(top, c->value[k]);
    const double unit = c->kind == WL_ADVISE_CLOCK ? top : c->scale_w;
    for (size_t k = 0; k < c->n; k++) insert(&p, repeats, c->value[k] / unit, c->ln_t[k], c->ln_p[k] - log(c->scale_w));
    return p;
}

/* The whole curve as data of the model, which it fills. */
static void as_data(struct learning *l, const struct points *p, enum wl_advise_cap_kind kind,
                    struct wl_advise_cap_data *out)
{
    out->n = p->n;
    for (size_t i = 0; i < p->n; i++) {
        out->index[i] = i;
        out->index[p->n + i] = p->n + i;
        out->y[i] = p->ln_t[i];
        out->y[p->n + i] = p->ln_p[i];
        out->var_t[i] = out->var_p[i] = curve_noise * curve_noise;
        out->cov_tp[i] = 0;
    }
    l->model.kind = kind;
    wl_advise_cap_model_fill(&l->model, p->ratio, p->n, p->n - 1, NULL);
}

static double add_in_ln(double a, double b)
{
    const double top = fmax(a, b);
    return top + log(exp(a - top) + exp(b - top));
}

static void curve_likelihood(struct learning *l, size_t i)
{
    struct wl_advise_cap_data data;
    const struct points p = points_of(&l->curves[i]);
    double *out = l->ln_likelihood + i * PARTICLES;
    as_data(l, &p, l->curves[i].kind, &data);
    for (size_t k = 0; k < PARTICLES; k++) out[k] = -INFINITY;
    for (size_t s = 0; s < WL_ADVISE_CAP_SCALES; s++) {
        wl_advise_cap_likelihood(&l->posterior, &l->model, s, &data, l->share);
        for (size_t k = 0; k < PARTICLES; k++)
            out[k] = add_in_ln(out[k], l->share[k] + log(wl_advise_cap_scale_share[s]));
    }
}

/* l->share: responsibilities for curve i, sum 1. */
static void responsibilities(struct learning *l, size_t i, const double *ln_weight)
{
    const double *ln = l->ln_likelihood + i * PARTICLES;
    double top = -INFINITY, sum = 0;
    for (size_t k = 0; k < PARTICLES; k++) top = fmax(top, l->share[k] = ln[k] + ln_weight[k]);
    for (size_t k = 0; k < PARTICLES; k++) sum += l->share[k] = exp(l->share[k] - top);
    for (size_t k = 0; k < PARTICLES; k++) l->share[k] /= sum;
}

static void learn_weights(struct learning *l, struct wl_advise_cap_prior *prior, double *mean)
{
    for (size_t k = 0; k < PARTICLES; k++) prior->ln_weight[k] = -log(PARTICLES);
    for (size_t pass = 0; pass < PASSES && l->n; pass++) {
        memset(mean, 0, PARTICLES * sizeof *mean);
        for (size_t i = 0; i < l->n; i++) {
            responsibilities(l, i, prior->ln_weight);
            for (size_t k = 0; k < PARTICLES; k++) mean[k] += l->share[k] / (double)l->n;
        }
        for (size_t k = 0; k < PARTICLES; k++)
            prior->ln_weight[k] = log(uniform_share / PARTICLES + (1 - uniform_share) * mean[k]);
    }
}

/* Residual of a curve about its posterior mean curve, that of ln t centred, added at the knots. */
static void add_residual(struct learning *l, size_t i, const double *ln_weight, double (*sum)[WL_ADVISE_CAP_KNOTS])
{
    struct wl_advise_cap_data data;
    const struct points p = points_of(&l->curves[i]);
    double e[2 * WL_ADVISE_CAP_MAX];
    const double *u = l->model.u;
    as_data(l, &p, l->curves[i].kind, &data);
    responsibilities(l, i, ln_weight);
    memcpy(e, data.y, 2 * p.n * sizeof *e);
    for (size_t k = 0; k < PARTICLES; k++)
        for (size_t j = 0; j < 2 * p.n; j++) e[j] -= l->share[k] * l->model.mean[k * 2 * p.n + j];
    const double level = wl_mean(e, p.n);
    for (size_t q = 0; q < WL_ADVISE_CAP_KNOTS; q++) {
        sum[0][q] += wl_advise_cap_interpolate(u, e, p.n, wl_advise_cap_knot(q)) - level;
        sum[1][q] += wl_advise_cap_interpolate(u, e + p.n, p.n, wl_advise_cap_knot(q));
    }
}

static void learn_residuals(struct learning *l, struct wl_advise_cap_prior *prior)
{
    for (size_t i = 0; i < l->n; i++) {
        add_residual(l, i, prior->ln_weight, prior->residual[l->curves[i].kind]);
        prior->curves[l->curves[i].kind]++;
    }
    for (size_t kind = 0; kind < 2; kind++)
        for (size_t q = 0; q < 2 * WL_ADVISE_CAP_KNOTS && prior->curves[kind]; q++)
            prior->residual[kind][q / WL_ADVISE_CAP_KNOTS][q % WL_ADVISE_CAP_KNOTS] *=
                shrinkage / (double)prior->curves[kind];
}

static void remember(struct learning *l, size_t i, const double *ln_weight, struct wl_advise_cap_memory *out,
                     struct wl_arena *a)
{
    const struct points p = points_of(&l->curves[i]);
    responsibilities(l, i, ln_weight);
    out->kind = l->curves[i].kind;
    out->device = l->curves[i].device ? wl_strdup(a, l->curves[i].device) : NULL;
    out->n = p.n;
    for (size_t k = 0; k < p.n; k++) {
        out->u[k] = log(p.ratio[k]);
        out->residual_t[k] = p.ln_t[k];
        out->residual_p[k] = p.ln_p[k];
    }
    wl_advise_cap_remember(out, l->model.grid, l->share);
}

static int remember_all(struct learning *l, struct wl_advise_cap_prior *prior, struct wl_arena *a, struct wl_err *e)
{
    prior->memories = l->n < WL_ADVISE_CAP_MEMORIES ? l->n : WL_ADVISE_CAP_MEMORIES;
    prior->memory = wl_try_alloc(a, prior->memories * sizeof *prior->memory, 64, "remembered curves", e);
    if (!prior->memory) return WL_ENOMEM;
    for (size_t k = 0; k < prior->memories; k++)
        remember(l, k * l->n / prior->memories, prior->ln_weight, &prior->memory[k], a);
    return 0;
}

static int prepare(struct learning *l, struct wl_arena *scratch, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < l->n && !rc; i++) rc = check_curve(&l->curves[i], i, e);
    if (!rc) rc = wl_advise_cap_model_alloc(&l->model, WL_ADVISE_CAP_MAX, NULL, NULL, scratch, e);
    if (!rc) rc = wl_advise_cap_posterior_alloc(&l->posterior, WL_ADVISE_CAP_MAX, PARTICLES, scratch, e);
    if (rc) return rc;
    l->ln_likelihood = wl_try_alloc(scratch, (l->n + 2) * PARTICLES * sizeof(double), 64, "the history of caps", e);
    if (!l->ln_likelihood) return WL_ENOMEM;
    l->share = l->ln_likelihood + l->n * PARTICLES;
    for (size_t i = 0; i < l->n; i++) curve_likelihood(l, i);
    return 0;
}

int wl_advise_cap_learn(const struct wl_advise_cap_curve *curves, size_t n, struct wl_advise_cap_prior **out,
                        struct wl_arena *a, struct wl_err *e)
{
    struct wl_advise_cap_prior *prior = wl_try_alloc(a, sizeof *prior, 64, "what is learned from the history", e);
    struct learning l = { .curves = curves, .n = n };
    if (!prior) return WL_ENOMEM;
    struct wl_arena *scratch = wl_arena_new(a);
    int rc = prepare(&l, scratch, e);
    if (!rc) {
        learn_weights(&l, prior, l.share + PARTICLES);
        learn_residuals(&l, prior);
        rc = remember_all(&l, prior, a, e);
    }
    if (!rc) *out = prior;
    wl_arena_free(scratch);
    return rc;
}
