#include "advise/choose/epochs.h"

#include <math.h>

enum { BATCHES = 31, SCATTERS = 9 };
static const double least_sd = 0.01, most_sd = 0.6, scale_sd = 0.1; /* of ln(epochs) of a run: grid, half-Cauchy */

/* Given a node, ln e(B) = ln(1 + B / Bcrit) + ln e0, ln e0 ~ N(level, sd^2 / runs). */
struct node {
    double critical, sd, weight, level;
};

static double shape(double batch, double critical) { return log1p(batch / critical); }

static double ln_weight(const struct wl_choose_reached *v, size_t n, struct node *out)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) sum += log(v[i].epochs) - shape(v[i].batch, out->critical);
    out->level = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double r = log(v[i].epochs) - shape(v[i].batch, out->critical) - out->level;
        squares += r * r;
    }
    const double in_scale = out->sd / scale_sd;
    return log(out->sd) - log1p(in_scale * in_scale) - (double)(n - 1) * log(out->sd) -
           0.5 * squares / (out->sd * out->sd);
}

/* Bcrit evenly in its logarithm from a quarter of the smallest batch to 64 times the largest. */
static size_t nodes_of(const struct wl_choose_reached *v, size_t n, struct node *out)
{
    double lo = INFINITY, hi = 0, top = -INFINITY, total = 0;
    for (size_t i = 0; i < n; i++) lo = fmin(lo, v[i].batch / 4), hi = fmax(hi, v[i].batch * 64);
    for (size_t k = 0; k < BATCHES * SCATTERS; k++) {
        const double b = (double)(k / SCATTERS) / (BATCHES - 1), s = (double)(k % SCATTERS) / (SCATTERS - 1);
        out[k] = (struct node) { lo * pow(hi / lo, b), least_sd * pow(most_sd / least_sd, s), 0, 0 };
        out[k].weight = ln_weight(v, n, &out[k]);
        top = fmax(top, out[k].weight);
    }
    for (size_t k = 0; k < BATCHES * SCATTERS; k++) total += out[k].weight = exp(out[k].weight - top);
    for (size_t k = 0; k < BATCHES * SCATTERS; k++) out[k].weight /= total;
    return BATCHES * SCATTERS;
}

static const struct node *node_at(const struct node *v, size_t n, double u)
{
    double sum = v[0].weight;
    size_t k = 0;
    while (sum < u && k + 1 < n) sum += v[++k].weight;
    return &v[k];
}

void wl_choose_epochs(const struct wl_choose_reached *runs, size_t n_runs, const double *batch, size_t n, double *mean,
                      double *draws, struct wl_arena *a)
{
    static const uint64_t key = 20260118;
    struct wl_arena *scratch = wl_arena_new(a);
    struct node *v = wl_new_array(scratch, struct node, BATCHES * SCATTERS);
    const size_t nodes = nodes_of(runs, n_runs, v);
    for (size_t i = 0; i < n; i++) {
        mean[i] = 0;
        for (size_t k = 0; k < nodes; k++) mean[i] += v[k].weight * (v[k].level + shape(batch[i], v[k].critical));
    }
    for (size_t d = 0; d < WL_JOINT_DRAWS; d++) {
        const double u = wl_random_uniform(key, 0, d), z = wl_random_normal(key, 1, d);
        const struct node *at = node_at(v, nodes, u);
        const double level = at->level + at->sd / sqrt((double)n_runs) * z;
        for (size_t i = 0; i < n; i++) draws[i * WL_JOINT_DRAWS + d] = level + shape(batch[i], at->critical) - mean[i];
    }
    wl_arena_free(scratch);
}

double wl_choose_epochs_of_table(const struct wl_choose_epochs_table *t, double batch)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->batch[i] == batch) return log(t->epochs[i]);
    for (size_t i = 1; i < t->n; i++) {
        if (!(t->batch[i - 1] < batch && batch < t->batch[i])) continue;
        const double share = log(batch / t->batch[i - 1]) / log(t->batch[i] / t->batch[i - 1]);
        return log(t->epochs[i - 1]) + share * log(t->epochs[i] / t->epochs[i - 1]);
    }
    return NAN;
}
