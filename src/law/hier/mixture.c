/* Mixtures of normal distributions. */
#include "law/hier/hier.h"

#include "stats/stats.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Components whose sd agree to 20 % and whose means agree to .3 of the sd are one. */
static const double sd_step = 1.2, mean_step = 0.3, least_weight = 1e-9;

/* Components that are merged: sums of weights and of moments about the first one's mean. */
struct cell {
    long sd, mean; /* of the grid */
    double origin, weight, first, second;
};

/* A hash table of the cells that are not empty, in the order of their first component. */
struct cells {
    struct cell *v;
    size_t n;
    uint32_t *slots; /* [mask + 1] 1 + index of a cell; 0: free */
    size_t mask;
};

/* Ends of what the components that count cover. */
struct range {
    double sd_min, mean_min;
    size_t n;
};

static struct range range_of(const struct wl_hier_mixture *m)
{
    struct range r = { INFINITY, INFINITY, 0 };
    for (size_t i = 0; i < m->n; i++) {
        if (!(m->weight[i] > least_weight)) continue;
        r.n++;
        r.sd_min = fmin(r.sd_min, m->sd[i]);
        r.mean_min = fmin(r.mean_min, m->mean[i]);
    }
    return r;
}

static struct cells cells_new(size_t n, struct wl_arena *a)
{
    size_t slots = 2;
    while (slots < 2 * n) slots *= 2;
    return (struct cells) { wl_new_array(a, struct cell, n), 0, wl_new_array(a, uint32_t, slots), slots - 1 };
}

static struct cell *find_cell(struct cells *c, long sd, long mean, double origin)
{
    size_t slot = ((uint64_t)sd * 0x9e3779b97f4a7c15u ^ (uint64_t)mean * 0xff51afd7ed558ccdu) >> 20 & c->mask;
    for (; c->slots[slot]; slot = (slot + 1) & c->mask) {
        struct cell *found = &c->v[c->slots[slot] - 1];
        if (found->sd == sd && found->mean == mean) return found;
    }
    c->v[c->n] = (struct cell) { .sd = sd, .mean = mean, .origin = origin };
    c->slots[slot] = (uint32_t)++c->n;
    return &c->v[c->n - 1];
}

/* The grid cell of an sd and its width. An sd is met as often as there are curves, since it depends on (tau, sigma)
 * alone: the last one of each hash is kept, which saves a logarithm and a power for nearly all components. */
struct sd_cell {
    double sd, width;
    long cell;
};
enum { SD_CELLS = 256 };

static const struct sd_cell *sd_cell_of(struct sd_cell *known, const struct range *r, double sd)
{
    uint64_t bits;
    memcpy(&bits, &sd, sizeof bits);
    struct sd_cell *k = &known[bits * 0x9e3779b97f4a7c15u >> 56];
    if (k->sd == sd) return k;
    const long cell = (long)floor(log(sd) / log(sd_step)) - (long)floor(log(r->sd_min) / log(sd_step));
    *k = (struct sd_cell) { sd, mean_step * pow(sd_step, (double)cell) * r->sd_min, cell };
    return k;
}

static void add_component(struct cells *c, const struct range *r, const struct sd_cell *width, double weight,
                          double mean)
{
    const double sd = width->sd;
    struct cell *to = find_cell(c, width->cell, (long)floor((mean - r->mean_min) / width->width), mean);
    const double off = mean - to->origin;
    to->weight += weight;
    to->first += weight * off;
    to->second += weight * (sd * sd + off * off);
}

void wl_hier_merge(struct wl_hier_mixture *m, struct wl_arena *scratch)
{
    const struct range r = range_of(m);
    struct cells c = cells_new(r.n, scratch);
    struct sd_cell known[SD_CELLS] = { 0 };
    double sum = 0;
    for (size_t i = 0; i < m->n; i++)
        if (m->weight[i] > least_weight)
            add_component(&c, &r, sd_cell_of(known, &r, m->sd[i]), m->weight[i], m->mean[i]);
    for (size_t i = 0; i < c.n; i++) sum += c.v[i].weight;
    for (size_t i = 0; i < c.n; i++) {
        const double off = c.v[i].first / c.v[i].weight;
        m->weight[i] = c.v[i].weight / sum;
        m->mean[i] = c.v[i].origin + off;
        m->sd[i] = sqrt(c.v[i].second / c.v[i].weight - off * off);
    }
    m->n = c.n;
}

double wl_hier_cdf(const struct wl_hier_mixture *m, double y)
{
    double p = 0;
    for (size_t i = 0; i < m->n; i++) p += m->weight[i] * wl_normal_cdf((y - m->mean[i]) / m->sd[i]);
    return p;
}

static double density(const struct wl_hier_mixture *m, double y)
{
    double sum = 0;
    for (size_t i = 0; i < m->n; i++) {
        const double z = (y - m->mean[i]) / m->sd[i];
        sum += m->weight[i] * exp(-0.5 * z * z) / m->sd[i];
    }
    return sum / sqrt(2 * M_PI);
}

/* Newton's steps from the middle, kept inside a bracket; one that leaves it, or halves it too slowly, is a bisection.
 */
double wl_hier_quantile(const struct wl_hier_mixture *m, double p)
{
    enum { NEWTON = 30, STEPS = 90 };
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < m->n; i++) {
        lo = fmin(lo, m->mean[i] - 9 * m->sd[i]);
        hi = fmax(hi, m->mean[i] + 9 * m->sd[i]);
    }
    const double close = 1e-15 * (hi - lo);
    double y = (lo + hi) / 2;
    for (int i = 0; i < STEPS && hi - lo > close; i++) {
        const double excess = wl_hier_cdf(m, y) - p;
        *(excess < 0 ? &lo : &hi) = y;
        const double next = i < NEWTON ? y - excess / density(m, y) : NAN;
        if (fabs(next - y) <= close) return next;
        y = lo < next && next < hi ? next : (lo + hi) / 2;
    }
    return y;
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
