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
static double local_exponent(const struct wl_hier_curve *curve, double workers, double largest, const double *z)
{
    static const double step = 1e-4; /* of ln N */
    return (curve->s(workers * exp(-step), largest, z) - curve->s(workers * exp(step), largest, z)) / (2 * step);
}

static size_t collect(const struct wl_hier_fit *fit, double workers, int family, struct weighted *out)
{
    const struct wl_hier_posterior *post = fit->posterior;
    size_t n = 0;
    for (size_t c = 0; c < post->n_components; c++) {
        const struct wl_hier_component *component = &post->components[c];
        if (family != WL_HIER_ALL && family != (int)component->family) continue;
        for (size_t i = 0; i < component->n; i++) {
            const struct wl_hier_node *node = &component->nodes[i];
            double weight = 0;
            for (size_t q = 0; q < post->scatter.n; q++) weight += node->weight[q];
            out[n++] =
                (struct weighted) { local_exponent(&wl_hier_curves[component->family], workers, post->largest, node->z),
                                    weight };
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
    qsort(v, nodes, sizeof *v, by_value);
    for (size_t i = 0; i < n; i++) out[i] = quantile(v, nodes, total, levels[i]);
    wl_arena_free(scratch);
}
