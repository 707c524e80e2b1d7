/* Mixtures of normal distributions. */
#include "law/hier/hier.h"

#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

/* Components whose sd agree to 20 % and whose means agree to .3 of the sd are one. */
static const double sd_step = 1.2, mean_step = 0.3, least_weight = 1e-9;

struct component {
    long sd_cell, mean_cell;
    double weight, mean, sd;
};

static int by_cell(const void *x, const void *y)
{
    const struct component *p = x, *q = y;
    if (p->sd_cell != q->sd_cell) return p->sd_cell < q->sd_cell ? -1 : 1;
    if (p->mean_cell != q->mean_cell) return p->mean_cell < q->mean_cell ? -1 : 1;
    return 0;
}

static bool same_cell(const struct component *p, const struct component *q)
{
    return p->sd_cell == q->sd_cell && p->mean_cell == q->mean_cell;
}

/* Components with a weight, and the ends of what they cover. */
static size_t gather(const struct wl_hier_mixture *m, struct component *v)
{
    double sd_min = INFINITY, mean_min = INFINITY;
    long first = 0;
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (!(m->weight[i] > least_weight)) continue;
        v[n++] = (struct component) { .weight = m->weight[i], .mean = m->mean[i], .sd = m->sd[i] };
        sd_min = fmin(sd_min, m->sd[i]);
        mean_min = fmin(mean_min, m->mean[i]);
    }
    first = (long)floor(log(sd_min) / log(sd_step));
    for (size_t i = 0; i < n; i++) {
        v[i].sd_cell = (long)floor(log(v[i].sd) / log(sd_step)) - first;
        const double width = mean_step * pow(sd_step, (double)v[i].sd_cell) * sd_min;
        v[i].mean_cell = (long)floor((v[i].mean - mean_min) / width);
    }
    return n;
}

static void merge_cell(const struct component *v, size_t n, struct wl_hier_mixture *m, size_t to)
{
    double weight = 0, mean = 0, variance = 0;
    for (size_t i = 0; i < n; i++) weight += v[i].weight, mean += v[i].weight * v[i].mean;
    mean /= weight;
    for (size_t i = 0; i < n; i++)
        variance += v[i].weight * (v[i].sd * v[i].sd + (v[i].mean - mean) * (v[i].mean - mean));
    m->weight[to] = weight;
    m->mean[to] = mean;
    m->sd[to] = sqrt(variance / weight);
}

void wl_hier_merge(struct wl_hier_mixture *m, struct wl_arena *scratch)
{
    struct component *v = wl_new_array(scratch, struct component, m->n);
    size_t n = gather(m, v), merged = 0;
    double sum = 0;
    qsort(v, n, sizeof *v, by_cell);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && same_cell(&v[i], &v[end]);) end++;
        merge_cell(v + i, end - i, m, merged);
        sum += m->weight[merged++];
    }
    m->n = merged;
    for (size_t i = 0; i < m->n; i++) m->weight[i] /= sum;
}

double wl_hier_cdf(const struct wl_hier_mixture *m, double y)
{
    double p = 0;
    for (size_t i = 0; i < m->n; i++) p += m->weight[i] * wl_normal_cdf((y - m->mean[i]) / m->sd[i]);
    return p;
}

double wl_hier_quantile(const struct wl_hier_mixture *m, double p)
{
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < m->n; i++) {
        lo = fmin(lo, m->mean[i] - 9 * m->sd[i]);
        hi = fmax(hi, m->mean[i] + 9 * m->sd[i]);
    }
    for (int i = 0; i < 60; i++) {
        double middle = (lo + hi) / 2;
        *(wl_hier_cdf(m, middle) < p ? &lo : &hi) = middle;
    }
    return (lo + hi) / 2;
}

double wl_hier_mean(const struct wl_hier_mixture *m)
{
    double mean = 0;
    for (size_t i = 0; i < m->n; i++) mean += m->weight[i] * m->mean[i];
    return mean;
}

double wl_hier_variance(const struct wl_hier_mixture *m)
{
    double mean = wl_hier_mean(m), variance = 0;
    for (size_t i = 0; i < m->n; i++) {
        double off = m->mean[i] - mean;
        variance += m->weight[i] * (m->sd[i] * m->sd[i] + off * off);
    }
    return variance;
}
