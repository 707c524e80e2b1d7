#include "planner/calibrate.h"

#include "planner/internal.h"

#include <math.h>
#include <string.h>

static const double NOISE_DF = 3;
/* The proposal than the curvature at the mode: constants that hardly matter have long tails. */
static const double WIDER = 1.6;

/* Rows at given deviates. */
struct fit {
    struct wl_planner_plan *copy;
    const struct wl_planner_rows *rows;
    const struct wl_planner_parameters *ps;
    const double *sd; /* [2] of ln t and ln P */
    size_t machine, n_power;
    double *z; /* [ps->n] scratch */
};

/* Differences measured - model: n of ln t, then n_power of ln P. */
static void differences(const struct fit *f, const double *z, double *d)
{
    size_t power = f->rows->n;
    wl_planner_parameters_set(f->ps, z, f->copy);
    for (size_t i = 0; i < f->rows->n; i++) {
        const struct wl_planner_row *row = &f->rows->v[i];
        const struct wl_planner_case c = wl_planner_case_of(f->copy, f->machine, row->workload);
        const struct wl_planner_point p = wl_planner_evaluate(&c, &row->at);
        d[i] = row->ln_time - log(p.epoch_s);
        if (f->n_power && !isnan(row->ln_power)) d[power++] = row->ln_power - log(p.power_w);
    }
}

/* Residuals in standard deviations: of the rows, then of the prior. */
static void standardised(const struct fit *f, const double *z, double *r)
{
    const size_t n = f->rows->n, m = n + f->n_power;
    differences(f, z, r);
    for (size_t i = 0; i < m; i++) r[i] /= f->sd[i >= n];
    memcpy(r + m, z, f->ps->n * sizeof *z);
}

/* Central differences: the model has no closed derivatives (rounding of steps, buckets, the best algorithm). */
static void residuals(const double *z, double *r, double *jacobian, void *data)
{
    const struct fit *f = data;
    const size_t k = f->ps->n, all = f->rows->n + f->n_power + k;
    const double step = 1e-4;
    for (size_t j = 0; jacobian && j < k; j++) {
        double *column = jacobian + j * all;
        memcpy(f->z, z, k * sizeof *z);
        f->z[j] = z[j] + step;
        standardised(f, f->z, column);
        f->z[j] = z[j] - step;
        standardised(f, f->z, r);
        for (size_t i = 0; i < all; i++) column[i] = (column[i] - r[i]) / (2 * step);
    }
    standardised(f, z, r);
}

/* ---- the mode ---- */

static double squares(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += v[i] * v[i];
    return sum;
}

/* Scale of the inverse chi^2 of the noise: SSE + NOISE_DF noise^2. */
static double scale(const struct wl_planner_plan *p, double sse) { return sse + NOISE_DF * p->noise_sd * p->noise_sd; }

/* -log of the density of the deviates, up to a constant. */
static double potential(const struct fit *f, const double *z, double *d, double *sse)
{
    const size_t n = f->rows->n;
    differences(f, z, d);
    sse[0] = squares(d, n);
    sse[1] = squares(d + n, f->n_power);
    double v = squares(z, f->ps->n) / 2 + ((double)n + NOISE_DF) / 2 * log(scale(f->copy, sse[0]));
    if (f->n_power) v += ((double)f->n_power + NOISE_DF) / 2 * log(scale(f->copy, sse[1]));
    return v;
}

/* Iteratively reweighted: each pass is least squares with the noise of the last one. cov [k,k]. */
static int find_mode(struct fit *f, double *z, double *sd, double *cov, struct wl_arena *a, struct wl_err *e)
{
    enum { PASSES = 6 };
    const size_t n = f->rows->n, k = f->ps->n;
    double *d = wl_new_array(a, double, n + f->n_power), sse[2];
    struct wl_nls_problem problem = { n + f->n_power + k, k, residuals, f };
    f->sd = sd;
    sd[0] = sd[1] = f->copy->noise_sd;
    for (int pass = 0; pass < PASSES; pass++) {
        struct wl_nls fit;
        int rc = wl_nls_fit(&fit, &problem, z, a, e);
        if (rc) return rc;
        memcpy(z, fit.theta, k * sizeof *z);
        for (size_t i = 0; i < k * k; i++) cov[i] = fit.cov[i] / (fit.sigma * fit.sigma);
        potential(f, z, d, sse);
        sd[0] = sqrt(scale(f->copy, sse[0]) / ((double)n + NOISE_DF));
        sd[1] = sqrt(scale(f->copy, sse[1]) / ((double)f->n_power + NOISE_DF));
    }
    return 0;
}

/* ---- samples ---- */

/* chi^2 of whole degrees of freedom: elements from `at` of a stream of normals. */
static double chi2(uint64_t key, uint64_t stream, size_t df)
{
    double sum = 0;
    for (size_t i = 0; i < df; i++) {
        const double v = wl_random_normal(key, stream, i);
        sum += v * v;
    }
    return sum;
}

/* The state of the chain, whitened by the proposal's factor: z = mode + factor w. */
struct chain {
    const struct wl_planner_posterior *q;
    const struct fit *f;
    const double *factor;         /* [k,k] lower triangle */
    double *w, *next, *direction; /* [k] */
    double *z, *d, sse[2];        /* at the last point: [k] deviates, differences, sums of squares */
    double log_density;           /* of w relative to a standard normal */
};

static double move_to(struct chain *c, const double *w)
{
    const size_t k = c->q->parameters.n;
    memcpy(c->z, c->q->mode, k * sizeof *c->z);
    for (size_t j = 0; j < k; j++)
        for (size_t i = j; i < k; i++) c->z[i] += c->factor[i * k + j] * w[j];
    const double v = squares(w, k) / 2 - potential(c->f, c->z, c->d, c->sse);
    return isfinite(v) ? v : -INFINITY;
}

/* One step of elliptical slice sampling: a point on the ellipse through w and a normal direction, in a bracket of
 * angles that shrinks towards w until the density is above the slice. */
static void slice(struct chain *c, size_t step)
{
    const size_t k = c->q->parameters.n;
    const uint64_t key = (uint64_t)c->q->plan->seed, stream = wl_planner_stream(step, WL_PLANNER_ANGLES, 0);
    const double level = c->log_density + log1p(-wl_random_uniform(key, stream, 0));
    double angle = 2 * M_PI * wl_random_uniform(key, stream, 1), low = angle - 2 * M_PI, high = angle;
    wl_random_normals(key, wl_planner_stream(step, WL_PLANNER_NORMALS, 0), 0, k, c->direction);
    for (uint64_t i = 2;; i++) {
        for (size_t j = 0; j < k; j++) c->next[j] = c->w[j] * cos(angle) + c->direction[j] * sin(angle);
        c->log_density = move_to(c, c->next);
        if (c->log_density > level || high - low < 1e-9) break;
        if (angle < 0)
            low = angle;
        else
            high = angle;
        angle = low + (high - low) * wl_random_uniform(key, stream, i);
    }
    memcpy(c->w, c->next, k * sizeof *c->w);
}

/* The smallest effective number of draws of a parameter. */
static double effective_draws(const struct wl_planner_posterior *q, struct wl_arena *a)
{
    const size_t k = q->parameters.n;
    double *series = wl_new_array(a, double, q->draws), least = (double)q->draws;
    for (size_t j = 0; j < k; j++) {
        for (size_t i = 0; i < q->draws; i++) series[i] = q->z[i * k + j];
        least = fmin(least, wl_autocorrelation(series, q->draws).ess);
    }
    return least;
}

static void keep(struct wl_planner_posterior *q, const struct chain *c, size_t draw)
{
    const size_t n[2] = { c->f->rows->n, c->f->n_power }, k = q->parameters.n;
    memcpy(q->z + draw * k, c->z, k * sizeof *c->z);
    for (size_t r = 0; r < 2; r++) {
        const size_t df = n[r] + (size_t)NOISE_DF;
        q->s[2 * draw + r] = sqrt(scale(q->plan, c->sse[r]) /
                                  chi2((uint64_t)q->plan->seed, wl_planner_stream(draw, WL_PLANNER_NOISE, r), df));
    }
}

/* Without rows each draw is a fresh one of the prior. */
static void sample(struct wl_planner_posterior *q, const struct fit *f, const double *factor, struct wl_arena *a)
{
    enum { WARM_UP = 200, THIN = 4 };
    const size_t k = q->parameters.n, thin = q->rows ? THIN : 1;
    struct chain c = { .q = q,
                       .f = f,
                       .factor = factor,
                       .w = wl_new_array(a, double, k),
                       .next = wl_new_array(a, double, k),
                       .direction = wl_new_array(a, double, k),
                       .z = wl_new_array(a, double, k),
                       .d = wl_new_array(a, double, f->rows->n + f->n_power) };
    c.log_density = move_to(&c, c.w);
    for (size_t step = 0; q->rows && step < WARM_UP; step++) slice(&c, q->draws * thin + step);
    for (size_t i = 0; i < q->draws; i++) {
        for (size_t step = 0; q->rows && step < thin; step++) slice(&c, i * thin + step);
        if (!q->rows) {
            wl_random_normals((uint64_t)q->plan->seed, wl_planner_stream(i, WL_PLANNER_NORMALS, 0), 0, k, c.w);
            move_to(&c, c.w);
        }
        keep(q, &c, i);
    }
    q->effective = q->rows && k ? effective_draws(q, a) : (double)q->draws;
}

static int check_rows(const struct fit *f, struct wl_arena *a, struct wl_err *e)
{
    for (size_t i = 0; i < f->rows->n; i++) {
        const struct wl_planner_row *row = &f->rows->v[i];
        const struct wl_planner_case c = wl_planner_case_of(f->copy, f->machine, row->workload);
        const char *missing = wl_planner_missing(&c, &row->at, false, a), *plural = row->at.workers == 1 ? "" : "s";
        if (missing)
            return wl_fail(e, WL_EINVAL, "%s: %s is missing: the measurement of %s with %g worker%s needs it",
                           f->copy->path, missing, c.workload->name, row->at.workers, plural);
        if (!wl_planner_divides(&c, &row->at))
            return wl_fail(e, WL_EINVAL,
                           "%s: a measurement of %s has %g worker%s: expected a multiple of "
                           "tensor_parallel x pipeline_stages = %lld",
                           f->copy->path, c.workload->name, row->at.workers, plural,
                           (long long)(c.workload->tensor_parallel * c.workload->pipeline_stages));
        if (isnan(wl_planner_evaluate(&c, &row->at).epoch_s))
            return wl_fail(
                e, WL_EINVAL,
                "%s: [machine %s] idle_power = %g: expected less than %g (W), the cap of a measurement of %s "
                "with %g worker%s, or lowest_clock",
                f->copy->path, c.machine->name, c.machine->idle_w, row->at.cap_w, c.workload->name, row->at.workers,
                plural);
    }
    return 0;
}

/* Rows whose power the plan can compute. */
static size_t count_power(const struct fit *f, struct wl_arena *a)
{
    size_t n = 0;
    for (size_t i = 0; i < f->rows->n; i++) {
        const struct wl_planner_row *row = &f->rows->v[i];
        const struct wl_planner_case c = wl_planner_case_of(f->copy, f->machine, row->workload);
        if (wl_planner_missing(&c, &row->at, true, a)) return 0;
        n += !isnan(row->ln_power);
    }
    return n;
}

/* Draws of all constants are kept. */
static int check_draws(const struct wl_planner_posterior *q, struct wl_err *e)
{
    const size_t MAX_VALUES = (size_t)1 << 27; /* 1 GiB */
    const size_t most = MAX_VALUES / (q->parameters.n + 2);
    if (q->draws <= most) return 0;
    return wl_fail(e, WL_EINVAL, "%s: draws = %zu: expected at most %zu for the %zu uncertain constants of this plan",
                   q->plan->path, q->draws, most, q->parameters.n);
}

int wl_planner_calibrate(const struct wl_planner_plan *p, size_t machine, const struct wl_planner_rows *rows,
                         struct wl_planner_posterior *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_planner_rows none = { 0 };
    *out = (struct wl_planner_posterior) { .plan = p, .machine = machine, .rows = rows ? rows->n : 0 };
    out->parameters = wl_planner_parameters_of(p, machine, true, a);
    out->draws = (size_t)p->draws;
    const size_t k = out->parameters.n;
    int rc = check_draws(out, e);
    if (rc) return rc;
    out->mode = wl_new_array(a, double, k);
    out->z = wl_new_array(a, double, k * out->draws);
    out->s = wl_new_array(a, double, 2 * out->draws);
    double *factor = wl_new_array(a, double, k *k), sd[2] = { p->noise_sd, p->noise_sd };
    struct fit f = { wl_planner_plan_copy(p, a), rows ? rows : &none, &out->parameters, sd, machine, 0,
                     wl_new_array(a, double, k) };
    for (size_t i = 0; i < k; i++) factor[i + i * k] = 1;
    rc = check_rows(&f, a, e);
    f.n_power = rc ? 0 : count_power(&f, a);
    if (rc == 0 && out->rows && k) rc = find_mode(&f, out->mode, sd, factor, a, e);
    if (rc) return rc;
    if (k && !wl_cholesky(factor, k))
        return wl_fail(e, WL_EINVAL, "%s: the measurements do not determine the constants", p->path);
    out->noise[0] = out->rows ? sd[0] : NAN;
    out->noise[1] = f.n_power ? sd[1] : NAN;
    for (size_t i = 0; out->rows && i < k * k; i++) factor[i] *= WIDER;
    sample(out, &f, factor, a);
    return 0;
}
