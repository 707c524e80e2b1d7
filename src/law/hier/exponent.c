/* The local exponent of the curve: of each curve of the posterior, weighted. */
#include "law/hier/posterior.h"

#include <math.h>
#include <stdlib.h>

struct weighted {
    double value, weight;
};

static int by_value(const void *x, const void *y)
{
    const struct weighted *p = x, *q = y;
    return (p->value > q->value) - (p->value < q->value);
}

/* -d s / d ln N by a central difference. */
struct ends {
    double below, above, distance; /* worker counts, and of their ln */
};

static struct ends ends_about(double workers)
{
    static const double step = 1e-4;
    return (struct ends) { workers * exp(-step), workers * exp(step), 2 * step };
}

static double local_exponent(const struct wl_hier_curve *curve, const struct ends *at, double largest, const double *z)
{
    return (curve->s(at->below, largest, z) - curve->s(at->above, largest, z)) / at->distance;
}

/* Sorted by value: into as many bins of one width as there are values, then within bins. */
static struct weighted *sorted(const struct weighted *v, size_t n, struct wl_arena *a)
{
    struct weighted *out = wl_new_array(a, struct weighted, n);
    size_t *end = wl_new_array(a, size_t, n + 1), *bin = wl_new_array(a, size_t, n); /* end of each bin in `out` */
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        lo = v[i].value < lo ? v[i].value : lo;
        hi = v[i].value > hi ? v[i].value : hi;
    }
    const double per_width = hi > lo ? ((double)n - 0.5) / (hi - lo) : 0;
    for (size_t i = 0; i < n; i++) {
        bin[i] = (size_t)((v[i].value - lo) * per_width);
        end[bin[i] + 1]++;
    }
    for (size_t k = 0; k < n; k++) end[k + 1] += end[k];
    for (size_t i = 0; i < n; i++) out[end[bin[i]]++] = v[i];
    for (size_t k = 0, begin = 0; k < n; begin = end[k++])
        if (end[k] - begin > 1) qsort(out + begin, end[k] - begin, sizeof *out, by_value);
    return out;
}

static size_t collect(const struct wl_hier_fit *fit, double workers, int family, struct weighted *out)
{
    const struct wl_hier_posterior *post = fit->posterior;
    const struct ends at = ends_about(workers);
    size_t n = 0;
    for (size_t c = 0; c < post->n_components; c++) {
        const struct wl_hier_component *component = &post->components[c];
        if (family != WL_HIER_ALL && family != (int)component->family) continue;
        for (size_t i = 0; i < component->n; i++) {
            const struct wl_hier_node *node = &component->nodes[i];
            out[n++] =
                (struct weighted) { local_exponent(&wl_hier_curves[component->family], &at, post->largest, node->z),
                                    node->total };
        }
    }
    return n;
}

/* Of sorted values: half of the weight of each lies below it, linear between them. */
static double quantile(const struct weighted *v, size_t n, double total, double p)
{
    double below = 0, last = 0;
    for (size_t i = 0; i < n; i++) {
        const double at = (below + v[i].weight / 2) / total;
        if (at >= p && i == 0) return v[0].value;
        if (at >= p) return v[i - 1].value + (v[i].value - v[i - 1].value) * (p - last) / (at - last);
        last = at;
        below += v[i].weight;
    }
    return n ? v[n - 1].value : NAN;
}

void wl_hier_exponent(const struct wl_hier_fit *fit, double workers, int family, const double *levels, size_t n,
                      double *out)
{
    struct wl_arena *scratch = wl_arena_new(NULL);
    size_t nodes = 0;
    for (size_t c = 0; c < fit->posterior->n_components; c++) nodes += fit->posterior->components[c].n;
    struct weighted *v = wl_new_array(scratch, struct weighted, nodes);
    nodes = collect(fit, workers, family, v);
    double total = 0;
    for (size_t i = 0; i < nodes; i++) total += v[i].weight;
    v = sorted(v, nodes, scratch);
    for (size_t i = 0; i < n; i++) out[i] = quantile(v, nodes, total, levels[i]);
    wl_arena_free(scratch);
}
