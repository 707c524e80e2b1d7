/* The predictive distributions at several worker counts: a normal distribution for each curve and node of (tau, sigma).
 * One visit of the posterior serves all of them, since the fit of a curve to the data does not depend on where it is
 * asked for. */
#include "law/hier/combine.h"
#include "law/hier/merge.h"
#include "law/hier/posterior.h"

#include <math.h>
#include <stdint.h>

static const double least_share = 1e-7; /* of the largest weight of a family: components below are left out */

/* A worker count, and the walk there given the data. */
struct point {
    double workers, x; /* x: doublings from the smallest measured count */
    struct wl_hier_covariance with;
    double *variance; /* [scatter nodes] of curve + walk, given the curve's shape */
    /* The mean of curve + walk is linear in the curve s at the configurations: curve there + from_data - from_curve s.
     */
    double *from_data;  /* [scatter nodes] */
    double *from_curve; /* [configs][scatter nodes] */
};

struct wl_hier_predictions {
    const struct wl_hier_fit *fit;
    struct point *points;
    size_t n_points, n_nodes;
    size_t first[WL_HIER_FAMILIES + 1]; /* nodes of family f: first[f] .. first[f + 1] - 1 */
    double *weight;                     /* [nodes] */
    uint32_t *scatter;                  /* [nodes] its node of (tau, sigma) */
    double *mean;                       /* [points][nodes] of curve + walk */
    double *scatter_weight;             /* [scatter nodes] sums of weights */
};

/* One curve at the configurations, negative, and its mean at a point, at each node of (tau, sigma). */
struct curve_fit {
    double *minus_s, *mean; /* [configs], [scatter nodes] */
};

/* ---- points ---- */

/* Covariance of curve + walk at two points, given the curve's shape: kriging with an unknown mean a. */
static double covariance_at(const struct wl_hier_scatter *v, const struct point *p, const struct point *r, size_t q)
{
    const double walk = v->drift * v->tau2[q], same_side = p->x * r->x > 0 ? fmin(fabs(p->x), fabs(r->x)) : 0;
    double explained = 0;
    for (size_t i = 0; i < v->m; i++) explained += walk * fmax(0, fmin(v->x[i], p->x)) * r->with.k_v[i * v->n + q];
    return (1 - p->with.ones_k[q]) * (1 - r->with.ones_k[q]) / v->ones2[q] + walk * same_side - explained;
}

/* a + k'V^-1 (y - s - a) with a's estimate 1'V^-1 (y - s) / 1'V^-1 1. */
static void weigh_data(const struct wl_hier_scatter *v, struct point *p)
{
    for (size_t i = 0; i < v->m; i++)
        for (size_t q = 0; q < v->n; q++) {
            const size_t at = i * v->n + q;
            p->from_curve[at] = p->with.k_v[at] + v->ones_v[at] / v->ones2[q] * (1 - p->with.ones_k[q]);
            p->from_data[q] += v->y[at] * p->from_curve[at];
        }
}

static struct point point_at(const struct wl_hier_fit *fit, double workers, struct wl_arena *a)
{
    const struct wl_hier_scatter *v = &fit->posterior->scatter;
    const double x = log2(workers) - log2(fit->data->workers[0]);
    struct point p = { workers,
                       x,
                       wl_hier_scatter_covariance(v, x, a),
                       wl_new_array(a, double, v->n),
                       wl_new_array(a, double, v->n),
                       wl_new_array(a, double, v->n * v->m) };
    for (size_t q = 0; q < v->n; q++) p.variance[q] = covariance_at(v, &p, &p, q);
    weigh_data(v, &p);
    return p;
}

/* What a configuration and a run add. */
static double scatter_of(const struct wl_hier_scatter *v, enum wl_hier_what what, size_t q)
{
    return (what == WL_HIER_CURVE ? 0 : v->tau2[q]) + (what == WL_HIER_RUN ? v->sigma2[q] : 0);
}

/* ---- the visit ---- */

static double least_weight(const struct wl_hier_component *c, size_t nodes)
{
    double most = 0;
    for (size_t i = 0; i < c->n; i++)
        for (size_t q = 0; q < nodes; q++)
            if (c->nodes[i].weight[q] > most) most = c->nodes[i].weight[q];
    return least_share * most;
}

/* Sets first[] by counting the nodes that have a weight. */
static void count_nodes(struct wl_hier_predictions *p)
{
    const struct wl_hier_posterior *post = p->fit->posterior;
    size_t c = 0;
    for (size_t f = 0; f < WL_HIER_FAMILIES; f++) {
        p->first[f] = p->n_nodes;
        if (c == post->n_components || post->components[c].family != (enum wl_hier_family)f) continue;
        const struct wl_hier_component *component = &post->components[c++];
        const double least = least_weight(component, post->scatter.n);
        for (size_t i = 0; i < component->n; i++)
            for (size_t q = 0; q < post->scatter.n; q++) p->n_nodes += component->nodes[i].weight[q] > least;
    }
    p->first[WL_HIER_FAMILIES] = p->n_nodes;
}

/* Mean of curve + walk at a point, at each node of (tau, sigma). */
static void means_at(const struct wl_hier_scatter *v, const struct point *at, double curve, struct curve_fit *c)
{
    for (size_t q = 0; q < v->n; q++) c->mean[q] = curve + at->from_data[q];
    wl_hier_combine(at->from_curve, c->minus_s, v->m, v->n, c->mean);
}

/* Adds the nodes of one curve, from number `next`; returns the number after them. */
static size_t add_curve(struct wl_hier_predictions *p, struct curve_fit *c, const struct wl_hier_curve *curve,
                        const struct wl_hier_node *node, double least, size_t next)
{
    const struct wl_hier_scatter *v = &p->fit->posterior->scatter;
    const double largest = p->fit->posterior->largest;
    size_t end = next;
    for (size_t q = 0; q < v->n; q++) {
        if (!(node->weight[q] > least)) continue;
        p->weight[end] = node->weight[q];
        p->scatter[end++] = (uint32_t)q;
        p->scatter_weight[q] += node->weight[q];
    }
    if (end == next) return end;
    for (size_t i = 0; i < v->m; i++) c->minus_s[i] = -curve->s(p->fit->data->workers[i], largest, node->z);
    for (size_t i = 0; i < p->n_points; i++) {
        double *mean = p->mean + i * p->n_nodes;
        means_at(v, &p->points[i], curve->s(p->points[i].workers, largest, node->z), c);
        for (size_t k = next; k < end; k++) mean[k] = c->mean[p->scatter[k]];
    }
    return end;
}

static void visit(struct wl_hier_predictions *p, struct wl_arena *scratch)
{
    const struct wl_hier_posterior *post = p->fit->posterior;
    const struct wl_hier_scatter *v = &post->scatter;
    struct curve_fit c = { wl_new_array(scratch, double, v->m), wl_new_array(scratch, double, v->n) };
    size_t next = 0;
    for (size_t f = 0; f < post->n_components; f++) {
        const struct wl_hier_component *component = &post->components[f];
        const double least = least_weight(component, v->n);
        for (size_t i = 0; i < component->n; i++)
            next = add_curve(p, &c, &wl_hier_curves[component->family], &component->nodes[i], least, next);
    }
}

struct wl_hier_predictions *wl_hier_predictions_new(const struct wl_hier_fit *fit, const double *workers, size_t n,
                                                    struct wl_arena *a)
{
    struct wl_hier_predictions *p = wl_new(a, struct wl_hier_predictions);
    struct wl_arena *scratch = wl_arena_new(a);
    p->fit = fit;
    p->n_points = n;
    p->points = wl_new_array(a, struct point, n);
    for (size_t i = 0; i < n; i++) p->points[i] = point_at(fit, workers[i], a);
    count_nodes(p);
    p->weight = wl_new_array(a, double, p->n_nodes);
    p->scatter = wl_new_array(a, uint32_t, p->n_nodes);
    p->mean = wl_new_array(a, double, n * p->n_nodes);
    p->scatter_weight = wl_new_array(a, double, fit->posterior->scatter.n);
    visit(p, scratch);
    wl_arena_free(scratch);
    return p;
}

/* ---- the mixture ---- */

/* [scatter nodes] in a. */
static const double *sds_at(const struct wl_hier_predictions *p, size_t at, enum wl_hier_what what, struct wl_arena *a)
{
    const struct wl_hier_scatter *v = &p->fit->posterior->scatter;
    double *sd = wl_new_array(a, double, v->n);
    for (size_t q = 0; q < v->n; q++) sd[q] = sqrt(fmax(p->points[at].variance[q] + scatter_of(v, what, q), 0));
    return sd;
}

static struct wl_hier_components components_of(const struct wl_hier_predictions *p, size_t at, int family,
                                               const double *sd)
{
    const size_t from = family == WL_HIER_ALL ? 0 : p->first[family],
                 to = family == WL_HIER_ALL ? p->n_nodes : p->first[family + 1];
    return (struct wl_hier_components) { p->weight + from,
                                         p->mean + at * p->n_nodes + from,
                                         p->scatter + from,
                                         to - from,
                                         sd,
                                         p->fit->posterior->scatter.n };
}

static double *copy_of(const double *v, size_t n, struct wl_arena *a)
{
    double *copy = wl_new_array(a, double, n);
    for (size_t i = 0; i < n; i++) copy[i] = v[i];
    return copy;
}

struct wl_hier_mixture wl_hier_prediction(const struct wl_hier_predictions *p, size_t at, enum wl_hier_what what,
                                          int family, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    const struct wl_hier_components c = components_of(p, at, family, sds_at(p, at, what, scratch));
    struct wl_hier_mixture m = wl_hier_merge_components(&c, scratch);
    m.weight = copy_of(m.weight, m.n, a);
    m.mean = copy_of(m.mean, m.n, a);
    m.sd = copy_of(m.sd, m.n, a);
    wl_arena_free(scratch);
    return m;
}

/* Unmerged. */
static struct wl_hier_mixture exact_mixture(const struct wl_hier_predictions *p, const struct wl_hier_query *query,
                                            struct wl_arena *a)
{
    const struct wl_hier_components c = components_of(p, 0, query->family, sds_at(p, 0, query->what, a));
    struct wl_hier_mixture m = { wl_new_array(a, double, c.n), copy_of(c.mean, c.n, a), wl_new_array(a, double, c.n),
                                 c.n };
    double sum = 0;
    for (size_t k = 0; k < c.n; k++) sum += c.weight[k];
    for (size_t k = 0; k < c.n; k++) {
        m.weight[k] = c.weight[k] / sum;
        m.sd[k] = c.sd[c.of[k]];
    }
    return m;
}

struct wl_hier_mixture wl_hier_predict(const struct wl_hier_fit *fit, const struct wl_hier_query *query,
                                       struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    const struct wl_hier_predictions *p = wl_hier_predictions_new(fit, &query->workers, 1, scratch);
    const struct wl_hier_mixture m =
        query->exact ? exact_mixture(p, query, a) : wl_hier_prediction(p, 0, query->what, query->family, a);
    wl_arena_free(scratch);
    return m;
}

double wl_hier_curve_mean(const struct wl_hier_fit *fit, double workers)
{
    const struct wl_hier_posterior *post = fit->posterior;
    double mean = 0, total = 0;
    for (size_t c = 0; c < post->n_components; c++)
        for (size_t i = 0; i < post->components[c].n; i++) {
            const struct wl_hier_node *node = &post->components[c].nodes[i];
            mean += node->total * wl_hier_curves[post->components[c].family].s(workers, post->largest, node->z);
            total += node->total;
        }
    return mean / total;
}

/* ---- what another measurement would do ---- */

/* Weighted second moments of the means at two points, over all nodes. */
struct moments {
    double mm, mc, cc;
};

static double mean_over_nodes(const struct wl_hier_predictions *p, size_t at)
{
    double sum = 0, weight = 0;
    for (size_t k = 0; k < p->n_nodes; k++) {
        sum += p->weight[k] * p->mean[at * p->n_nodes + k];
        weight += p->weight[k];
    }
    return sum / weight;
}

static struct moments moments_between(const struct wl_hier_predictions *p, size_t at, size_t candidate)
{
    const double *m = p->mean + at * p->n_nodes, *c = p->mean + candidate * p->n_nodes;
    const double m_mean = mean_over_nodes(p, at), c_mean = mean_over_nodes(p, candidate);
    struct moments sum = { 0 };
    for (size_t k = 0; k < p->n_nodes; k++) {
        const double w = p->weight[k], dm = m[k] - m_mean, dc = c[k] - c_mean;
        sum.mm += w * dm * dm;
        sum.mc += w * dm * dc;
        sum.cc += w * dc * dc;
    }
    return sum;
}

double wl_hier_prediction_sd_after(const struct wl_hier_predictions *p, size_t at, enum wl_hier_what what,
                                   size_t candidate, size_t runs)
{
    const struct wl_hier_scatter *v = &p->fit->posterior->scatter;
    const struct point *m = &p->points[at], *c = &p->points[candidate];
    struct moments s = moments_between(p, at, candidate);
    double weight = 0;
    for (size_t q = 0; q < v->n; q++) {
        const double w = p->scatter_weight[q];
        if (!(w > 0)) continue;
        weight += w;
        s.mm += w * (m->variance[q] + scatter_of(v, what, q));
        s.mc += w * covariance_at(v, m, c, q);
        s.cc += w * (c->variance[q] + v->tau2[q] + v->sigma2[q] / (double)runs);
    }
    return sqrt(fmax(0, (s.mm - s.mc * s.mc / s.cc) / weight));
}

double wl_hier_sd_after(const struct wl_hier_fit *fit, const struct wl_hier_query *query, double candidate, size_t runs)
{
    struct wl_arena *scratch = wl_arena_new(NULL);
    const double workers[] = { query->workers, candidate };
    const struct wl_hier_predictions *p = wl_hier_predictions_new(fit, workers, WL_COUNT(workers), scratch);
    const double sd = wl_hier_prediction_sd_after(p, 0, query->what, 1, runs);
    wl_arena_free(scratch);
    return sd;
}
