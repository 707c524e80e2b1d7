#include "advise/batch/process.h"

#include "stats/stats.h"

#include <math.h>
#include <string.h>

enum { MAX = WL_ADVISE_BATCH_MAX, TRIALS = WL_ADVISE_BATCH_TRIALS, NOISES = 3 };
static const double noise_sd[NOISES] = { 0.03, 0.08, 0.2 }, noise_share[NOISES] = { 0.3, 0.4, 0.3 };
static const double level_variance = 25, slope_variance = 0.25, bend_variance = 0.2025;
static const double wiggle_variance = 0.25, wiggle_length = 1.5; /* doublings */
static const double doublings = 3;                               /* unit of z */

void wl_advise_process_init(struct wl_advise_process *p, const double *batch, size_t n)
{
    double x[MAX] = { 0 };
    for (size_t i = 0; i < n; i++) x[i] = log2(batch[i]);
    const double middle = wl_mean(x, n);
    p->n = n;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            const double a = (x[i] - middle) / doublings, b = (x[j] - middle) / doublings;
            const double apart = (x[i] - x[j]) / wiggle_length;
            p->kernel[i + j * n] = level_variance + slope_variance * a * b + bend_variance * a * a * b * b +
                                   wiggle_variance * exp(-0.5 * apart * apart);
        }
}

/* The posterior at one noise. */
struct node {
    double ln_weight, mean[MAX], root[TRIALS * MAX]; /* root = L^-1 K_io: row r is root[r * n ..] */
};

static void condition_node(const struct wl_advise_process *p, size_t noise, double mean, struct node *out)
{
    const size_t m = p->observed, n = p->n;
    double s[TRIALS * TRIALS], e[TRIALS], column[TRIALS], square = 0;
    for (size_t j = 0; j < m; j++) {
        for (size_t i = 0; i < m; i++) s[i + j * m] = p->kernel[p->index[i] + p->index[j] * n];
        s[j + j * m] += noise_sd[noise] * noise_sd[noise] + p->extra[j];
        e[j] = p->y[j] - mean;
    }
    WL_CHECK(wl_cholesky(s, m)); /* the noise is positive */
    wl_cholesky_forward(s, m, e);
    for (size_t r = 0; r < m; r++) square += e[r] * e[r];
    out->ln_weight = log(noise_share[noise]) - 0.5 * (square + wl_cholesky_ln_det(s, m));
    for (size_t i = 0; i < n; i++) {
        out->mean[i] = mean;
        for (size_t r = 0; r < m; r++) column[r] = p->kernel[p->index[r] + i * n];
        wl_cholesky_forward(s, m, column);
        for (size_t r = 0; r < m; r++) {
            out->root[r * n + i] = column[r];
            out->mean[i] += column[r] * e[r];
        }
    }
}

static void add_moments(struct wl_advise_process *p, const struct node *v, double weight)
{
    const size_t n = p->n;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            double c = p->kernel[i + j * n] + (v->mean[i] - p->mean[i]) * (v->mean[j] - p->mean[j]);
            for (size_t r = 0; r < p->observed; r++) c -= v->root[r * n + i] * v->root[r * n + j];
            p->cov[i + j * n] += weight * c;
        }
}

void wl_advise_process_condition(struct wl_advise_process *p)
{
    struct node node[NOISES];
    double weight[NOISES], top = -INFINITY, sum = 0;
    const double mean = p->observed ? wl_mean(p->y, p->observed) : 0;
    memset(p->mean, 0, sizeof p->mean);
    memset(p->cov, 0, sizeof p->cov);
    p->noise_variance = 0;
    for (size_t k = 0; k < NOISES; k++) {
        condition_node(p, k, mean, &node[k]);
        top = fmax(top, node[k].ln_weight);
    }
    for (size_t k = 0; k < NOISES; k++) sum += weight[k] = exp(node[k].ln_weight - top);
    for (size_t k = 0; k < NOISES; k++) {
        weight[k] /= sum;
        p->noise_variance += weight[k] * noise_sd[k] * noise_sd[k];
        for (size_t i = 0; i < p->n; i++) p->mean[i] += weight[k] * node[k].mean[i];
    }
    for (size_t k = 0; k < NOISES; k++) add_moments(p, &node[k], weight[k]);
}

static double least(const struct wl_advise_process *p, const bool *free, const double *step, double z)
{
    double best = INFINITY;
    for (size_t i = 0; i < p->n; i++)
        if (free[i]) best = fmin(best, p->mean[i] + step[i] * z);
    return best;
}

double wl_advise_process_gain(const struct wl_advise_process *p, const bool *free, size_t i)
{
    const struct wl_quadrature *q = &wl_hermite_9;
    double step[MAX];
    const double sd = sqrt(p->cov[i + i * p->n] + p->noise_variance);
    for (size_t k = 0; k < p->n; k++) step[k] = p->cov[k + i * p->n] / sd;
    double gain = least(p, free, step, 0);
    for (size_t a = 0; a < q->n; a++) gain -= q->weight[a] * least(p, free, step, q->node[a]);
    return gain;
}
