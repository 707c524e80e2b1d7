#include "advise/cap/posterior.h"

#include "stats/stats.h"

#include <math.h>
#include <string.h>

enum { MAX = 2 * WL_ADVISE_CAP_MAX };
static const double least_weight = 1e-5; /* of a particle, of the whole: lighter ones are dropped */

void wl_advise_cap_observe(struct wl_advise_cap_evidence *v, double ln_t, double ln_p,
                           const struct wl_advise_cap_noise *noise)
{
    const double rest = 1 - noise->rho * noise->rho;
    const double tt = 1 / (noise->sd_t * noise->sd_t * rest), pp = 1 / (noise->sd_p * noise->sd_p * rest);
    const double tp = -noise->rho / (noise->sd_t * noise->sd_p * rest);
    v->windows++;
    v->precision_t += tt;
    v->precision_p += pp;
    v->precision_tp += tp;
    v->t += tt * ln_t + tp * ln_p;
    v->p += tp * ln_t + pp * ln_p;
}

void wl_advise_cap_gather(const struct wl_advise_cap_evidence *v, size_t d, struct wl_advise_cap_data *out)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < d; i++) n += v[i].windows > 0;
    out->n = n;
    for (size_t i = 0; i < d; i++) {
        const struct wl_advise_cap_evidence *e = &v[i];
        if (!e->windows) continue;
        const double det = e->precision_t * e->precision_p - e->precision_tp * e->precision_tp;
        out->var_t[at] = e->precision_p / det;
        out->var_p[at] = e->precision_t / det;
        out->cov_tp[at] = -e->precision_tp / det;
        out->index[at] = i;
        out->index[n + at] = d + i;
        out->y[at] = out->var_t[at] * e->t + out->cov_tp[at] * e->p;
        out->y[n + at] = out->cov_tp[at] * e->t + out->var_p[at] * e->p;
        at++;
    }
}

int wl_advise_cap_posterior_alloc(struct wl_advise_cap_posterior *p, size_t most, size_t particles, struct wl_arena *a,
                                  struct wl_err *e)
{
    const size_t row = 2 * most, matrix = row * row, k = particles;
    const size_t per_scale = k + k * row + matrix, shared = row + 3 * matrix + WL_ADVISE_CAP_SCALES * k;
    double *at = wl_try_alloc(a, (WL_ADVISE_CAP_SCALES * per_scale + shared) * sizeof *at, 64,
                              "the posterior of a cap search", e);
    if (!at) return WL_ENOMEM;
    for (size_t s = 0; s < WL_ADVISE_CAP_SCALES; s++, at += per_scale)
        p->scale[s] = (struct wl_advise_cap_scale) { .w = at, .mean = at + k, .cov = at + k + k * row };
    p->m = at;
    p->v = p->m + row;
    p->s = p->v + matrix;
    p->w = p->s + matrix;
    p->lw = p->w + matrix;
    return 0;
}

/* S = V_ii + noise, factored in place in p->s: [2n][2n]. */
static void factor_windows(struct wl_advise_cap_posterior *p, const double *cov, size_t d,
                           const struct wl_advise_cap_data *data)
{
    const size_t n = data->n, n2 = 2 * n;
    for (size_t j = 0; j < n2; j++)
        for (size_t i = 0; i < n2; i++) p->s[i + j * n2] = cov[data->index[i] + data->index[j] * 2 * d];
    for (size_t i = 0; i < n; i++) {
        p->s[i + i * n2] += data->var_t[i];
        p->s[n + i + (n + i) * n2] += data->var_p[i];
        p->s[(n + i) * n2 + i] += data->cov_tp[i];
    }
    WL_CHECK(wl_cholesky(p->s, n2)); /* white discrepancy and noise are positive */
}

/* z = L^-1 (y - mean of a particle), returns z'z. */
static double whiten(const struct wl_advise_cap_posterior *p, const struct wl_advise_cap_data *data, const double *mean,
                     double z[MAX])
{
    double sum = 0;
    for (size_t i = 0; i < 2 * data->n; i++) z[i] = data->y[i] - mean[data->index[i]];
    wl_cholesky_forward(p->s, 2 * data->n, z);
    for (size_t i = 0; i < 2 * data->n; i++) sum += z[i] * z[i];
    return sum;
}

void wl_advise_cap_likelihood(struct wl_advise_cap_posterior *p, const struct wl_advise_cap_model *model, size_t scale,
                              const struct wl_advise_cap_data *data, double *out)
{
    double z[MAX];
    factor_windows(p, model->cov[scale], model->d, data);
    const double ln_det = wl_cholesky_ln_det(p->s, 2 * data->n);
    for (size_t k = 0; k < model->k; k++) out[k] = -0.5 * (whiten(p, data, model->mean + k * 2 * model->d, z) + ln_det);
}

/* w = L^-1 V_io: row r of the windows is w[r * 2d ..]; cov = V - w'w. */
static void condition_covariance(struct wl_advise_cap_posterior *p, const double *cov,
                                 const struct wl_advise_cap_data *data, struct wl_advise_cap_scale *out)
{
    const size_t o = 2 * p->d, n2 = 2 * data->n;
    double column[MAX];
    memcpy(out->cov, cov, o * o * sizeof *cov);
    for (size_t j = 0; j < o; j++) {
        for (size_t i = 0; i < n2; i++) column[i] = cov[data->index[i] + j * o];
        wl_cholesky_forward(p->s, n2, column);
        for (size_t i = 0; i < n2; i++) p->w[i * o + j] = column[i];
    }
    for (size_t r = 0; r < n2; r++)
        for (size_t j = 0; j < o; j++)
            for (size_t i = 0; i < o; i++) out->cov[i + j * o] -= p->w[r * o + i] * p->w[r * o + j];
}

/* Posterior mean of one particle. */
static void condition_mean(const struct wl_advise_cap_posterior *p, const struct wl_advise_cap_data *data,
                           const double *mean, double *out)
{
    const size_t o = 2 * p->d;
    double z[MAX];
    whiten(p, data, mean, z);
    memcpy(out, mean, o * sizeof *out);
    for (size_t r = 0; r < 2 * data->n; r++)
        for (size_t i = 0; i < o; i++) out[i] += p->w[r * o + i] * z[r];
}

/* Weights over both scales: exp(lw - top), and the threshold below which particles are dropped. */
static double total_weight(const double *lw, size_t n, double *top)
{
    double sum = 0;
    *top = -INFINITY;
    for (size_t i = 0; i < n; i++) *top = fmax(*top, lw[i]);
    for (size_t i = 0; i < n; i++) sum += exp(lw[i] - *top);
    return sum;
}

/* Keeps the heavy particles of one scale with their posterior means. */
static void condition_scale(struct wl_advise_cap_posterior *p, const struct wl_advise_cap_model *model, size_t scale,
                            const struct wl_advise_cap_data *data, double least_ln)
{
    struct wl_advise_cap_scale *out = &p->scale[scale];
    const double *lw = p->lw + scale * model->k;
    const size_t o = 2 * p->d;
    factor_windows(p, model->cov[scale], p->d, data);
    condition_covariance(p, model->cov[scale], data, out);
    out->n = 0;
    for (size_t k = 0; k < model->k; k++) {
        if (!(lw[k] > least_ln)) continue;
        out->w[out->n] = lw[k];
        condition_mean(p, data, model->mean + k * o, out->mean + out->n++ * o);
    }
}

static void normalize(struct wl_advise_cap_posterior *p, double top)
{
    double sum = 0;
    for (size_t s = 0; s < WL_ADVISE_CAP_SCALES; s++) {
        struct wl_advise_cap_scale *c = &p->scale[s];
        c->weight = 0;
        for (size_t k = 0; k < c->n; k++) c->weight += c->w[k] = exp(c->w[k] - top);
        sum += c->weight;
    }
    for (size_t s = 0; s < WL_ADVISE_CAP_SCALES; s++) {
        struct wl_advise_cap_scale *c = &p->scale[s];
        c->weight /= sum;
        for (size_t k = 0; k < c->n; k++) c->w[k] /= sum;
    }
}

/* v += sum over the particles of a scale of w x x', x = mean - m: the lower triangle, four particles at a time. */
static void add_scatter(struct wl_advise_cap_posterior *p, const struct wl_advise_cap_scale *c)
{
    enum { BLOCK = 4 };
    const size_t o = 2 * p->d;
    for (size_t k = 0; k < c->n; k += BLOCK) {
        double x[BLOCK][MAX], w[BLOCK] = { 0 };
        for (size_t b = 0; b < BLOCK; b++) {
            const bool there = k + b < c->n;
            w[b] = there ? c->w[k + b] : 0;
            for (size_t i = 0; i < o; i++) x[b][i] = there ? c->mean[(k + b) * o + i] - p->m[i] : 0;
        }
        for (size_t j = 0; j < o; j++) {
            const double c0 = w[0] * x[0][j], c1 = w[1] * x[1][j], c2 = w[2] * x[2][j], c3 = w[3] * x[3][j];
            double *column = p->v + j * o;
            for (size_t i = j; i < o; i++) column[i] += c0 * x[0][i] + c1 * x[1][i] + c2 * x[2][i] + c3 * x[3][i];
        }
    }
}

/* Mean and covariance of the mixture. */
static void moments(struct wl_advise_cap_posterior *p)
{
    const size_t o = 2 * p->d;
    memset(p->m, 0, o * sizeof *p->m);
    memset(p->v, 0, o * o * sizeof *p->v);
    for (size_t s = 0; s < WL_ADVISE_CAP_SCALES; s++) {
        const struct wl_advise_cap_scale *c = &p->scale[s];
        for (size_t i = 0; i < o * o; i++) p->v[i] += c->weight * c->cov[i];
        for (size_t k = 0; k < c->n; k++)
            for (size_t i = 0; i < o; i++) p->m[i] += c->w[k] * c->mean[k * o + i];
    }
    for (size_t s = 0; s < WL_ADVISE_CAP_SCALES; s++) add_scatter(p, &p->scale[s]);
    for (size_t j = 0; j < o; j++)
        for (size_t i = 0; i < j; i++) p->v[i + j * o] = p->v[j + i * o];
}

void wl_advise_cap_condition(struct wl_advise_cap_posterior *p, const struct wl_advise_cap_model *model,
                             const struct wl_advise_cap_prior *prior, const struct wl_advise_cap_data *data)
{
    double top = 0;
    p->d = model->d;
    for (size_t s = 0; s < WL_ADVISE_CAP_SCALES; s++) {
        double *lw = p->lw + s * model->k;
        wl_advise_cap_likelihood(p, model, s, data, lw);
        for (size_t k = 0; k < model->k; k++) lw[k] += wl_advise_cap_ln_prior(model, prior, k, s);
    }
    const double least_ln = log(least_weight * total_weight(p->lw, WL_ADVISE_CAP_SCALES * model->k, &top)) + top;
    for (size_t s = 0; s < WL_ADVISE_CAP_SCALES; s++) condition_scale(p, model, s, data, least_ln);
    normalize(p, top);
    moments(p);
}

double wl_advise_cap_below(const struct wl_advise_cap_posterior *p, size_t i, size_t reference, double ln_limit)
{
    const double least_variance = 1e-12;
    const size_t o = 2 * p->d;
    double sum = 0;
    if (i == reference) return ln_limit >= 0;
    for (size_t s = 0; s < WL_ADVISE_CAP_SCALES; s++) {
        const struct wl_advise_cap_scale *c = &p->scale[s];
        const double v = c->cov[i + i * o] + c->cov[reference + reference * o] - 2 * c->cov[i + reference * o];
        const double sd = sqrt(fmax(v, least_variance));
        for (size_t k = 0; k < c->n; k++) {
            const double *mean = c->mean + k * o;
            sum += c->w[k] * wl_normal_cdf((ln_limit - mean[i] + mean[reference]) / sd);
        }
    }
    return fmin(sum, 1);
}

double wl_advise_cap_slowdown_variance(const struct wl_advise_cap_posterior *p, size_t i, size_t reference)
{
    const size_t o = 2 * p->d, r = reference;
    return i == r ? 0 : fmax(p->v[i + i * o] + p->v[r + r * o] - 2 * p->v[i + r * o], 0);
}
