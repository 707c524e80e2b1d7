/* Components of a mixture that are alike become one, with their mean and variance. */
#include "law/hier/merge.h"

#include <math.h>
#include <string.h>

/* Components whose sd agree to 20 % and whose means agree to .3 of the sd are one. */
static const double sd_step = 1.2, mean_step = 0.3, least_weight = 1e-9;

/* Numbers an sd, from that of the smallest on; the width of its cells. */
static long sd_number(double sd, double sd_min)
{
    return (long)floor(log(sd) / log(sd_step)) - (long)floor(log(sd_min) / log(sd_step));
}

static double cell_width(long sd_number, double sd_min) { return mean_step * pow(sd_step, (double)sd_number) * sd_min; }

/* ---- any components ---- */

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
    const long cell = sd_number(sd, r->sd_min);
    *k = (struct sd_cell) { sd, cell_width(cell, r->sd_min), cell };
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

/* ---- components of few sd: a table of cells ---- */

/* Sums of weights and of moments about the middle of a cell. */
struct bin {
    double weight, first, second, unused; /* 32 bytes: one cache line holds two */
};

/* The bins of the components that have one sd: means from mean_min on. */
struct bins {
    struct bin *v;
    double width, per_width, variance; /* 1 / width; sd^2 */
    bool used;
};

struct table {
    double least, mean_min, mean_max, sd_min;
    struct bins *of; /* [n_sd] those of like sd share their bins */
    struct bin *v;
    size_t n;
};

static void measure_table(struct table *t, const struct wl_hier_components *c)
{
    for (size_t k = 0; k < c->n; k++) {
        const double mean = c->mean[k];
        if (!(c->weight[k] > t->least)) continue;
        t->of[c->of[k]].used = true;
        if (mean < t->mean_min) t->mean_min = mean;
        if (mean > t->mean_max) t->mean_max = mean;
    }
    for (size_t i = 0; i < c->n_sd; i++)
        if (t->of[i].used) t->sd_min = fmin(t->sd_min, c->sd[i]);
}

enum { MAX_SD_NUMBERS = 128 };

/* false: there would be more bins than are worth their memory. */
static bool make_table(struct table *t, const struct wl_hier_components *c, struct wl_arena *a)
{
    size_t first[MAX_SD_NUMBERS]; /* 1 + the first bin of an sd number; 0: none yet */
    memset(first, 0, sizeof first);
    for (size_t i = 0; i < c->n_sd; i++) {
        struct bins *b = &t->of[i];
        if (!b->used) continue;
        const long number = sd_number(c->sd[i], t->sd_min);
        if (number >= MAX_SD_NUMBERS) return false;
        b->width = cell_width(number, t->sd_min);
        b->per_width = 1 / b->width;
        b->variance = c->sd[i] * c->sd[i];
        const double bins = (t->mean_max - t->mean_min) / b->width + 2;
        if (!first[number]) {
            if (!(bins < (double)(c->n + 4096))) return false;
            first[number] = 1 + t->n;
            t->n += (size_t)bins;
        }
    }
    t->v = wl_new_array(a, struct bin, t->n);
    for (size_t i = 0; i < c->n_sd; i++)
        if (t->of[i].used) t->of[i].v = t->v + first[sd_number(c->sd[i], t->sd_min)] - 1;
    return true;
}

static void fill_table(const struct table *t, const struct wl_hier_components *c)
{
    for (size_t k = 0; k < c->n; k++) {
        const double weight = c->weight[k];
        if (!(weight > t->least)) continue;
        const struct bins *b = &t->of[c->of[k]];
        const double x = (c->mean[k] - t->mean_min) * b->per_width;
        const long i = (long)x;
        const double off = (x - ((double)i + 0.5)) * b->width;
        struct bin *to = b->v + i;
        to->weight += weight;
        to->first += weight * off;
        to->second += weight * (b->variance + off * off);
    }
}

/* The bins that are not empty, in the order of their sd and mean. */
static struct wl_hier_mixture mixture_of(const struct table *t, const struct wl_hier_components *c, struct wl_arena *a)
{
    size_t n = 0;
    double sum = 0;
    for (size_t i = 0; i < t->n; i++) {
        n += t->v[i].weight > 0;
        sum += t->v[i].weight;
    }
    struct wl_hier_mixture m = { wl_new_array(a, double, n), wl_new_array(a, double, n), wl_new_array(a, double, n),
                                 0 };
    bool *done = wl_new_array(a, bool, t->n);
    for (size_t i = 0; i < c->n_sd; i++) {
        const struct bins *b = &t->of[i];
        if (!b->used || done[b->v - t->v]) continue;
        done[b->v - t->v] = true;
        const size_t bins = (size_t)((t->mean_max - t->mean_min) / b->width + 2);
        for (size_t j = 0; j < bins; j++) {
            const struct bin *from = &b->v[j];
            if (!(from->weight > 0)) continue;
            const double off = from->first / from->weight;
            m.weight[m.n] = from->weight / sum;
            m.mean[m.n] = t->mean_min + ((double)j + 0.5) * b->width + off;
            m.sd[m.n++] = sqrt(from->second / from->weight - off * off);
        }
    }
    return m;
}

/* As a mixture, whose arrays are all its own. */
static struct wl_hier_mixture spread(const struct wl_hier_components *c, double total, struct wl_arena *a)
{
    struct wl_hier_mixture m = { wl_new_array(a, double, c->n), wl_new_array(a, double, c->n),
                                 wl_new_array(a, double, c->n), c->n };
    for (size_t k = 0; k < c->n; k++) {
        m.weight[k] = c->weight[k] / total;
        m.mean[k] = c->mean[k];
        m.sd[k] = c->sd[c->of[k]];
    }
    return m;
}

struct wl_hier_mixture wl_hier_merge_components(const struct wl_hier_components *c, struct wl_arena *a)
{
    struct table t = { 0, INFINITY, -INFINITY, INFINITY, wl_new_array(a, struct bins, c->n_sd), NULL, 0 };
    double total = 0;
    for (size_t k = 0; k < c->n; k++) total += c->weight[k];
    t.least = least_weight * total;
    measure_table(&t, c);
    if (make_table(&t, c, a)) {
        fill_table(&t, c);
        return mixture_of(&t, c, a);
    }
    struct wl_hier_mixture m = spread(c, total, a);
    wl_hier_merge(&m, a);
    return m;
}
