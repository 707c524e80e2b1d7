/* The predictive distribution at a worker count: a normal distribution for each curve and node of (tau, sigma). */
#include "law/hier/posterior.h"

#include <math.h>

static const double least_share = 1e-7; /* of the largest weight of a family: components below are left out */

/* A worker count and how the walk there covaries with the data. */
struct point {
    double workers, x; /* x: doublings from the smallest measured count */
    struct wl_hier_covariance with;
};

/* What one curve says at each node of (tau, sigma). */
struct curve_fit {
    const struct wl_hier_scatter *v;
    double *s, *quadratic, *a_hat;
};

static struct point point_at(const struct wl_hier_fit *fit, double workers, struct wl_arena *a)
{
    const double x = log2(workers) - log2(fit->data->workers[0]);
    return (struct point) { workers, x, wl_hier_scatter_covariance(&fit->posterior->scatter, x, a) };
}

static struct curve_fit curve_fit_new(const struct wl_hier_fit *fit, struct wl_arena *a)
{
    const struct wl_hier_scatter *v = &fit->posterior->scatter;
    return (struct curve_fit) { v, wl_new_array(a, double, v->m), wl_new_array(a, double, v->n),
                                wl_new_array(a, double, v->n) };
}

static void fit_curve(struct curve_fit *c, const struct wl_hier_fit *fit, enum wl_hier_family family, const double *z)
{
    for (size_t i = 0; i < c->v->m; i++)
        c->s[i] = wl_hier_curves[family].s(fit->data->workers[i], fit->posterior->largest, z);
    wl_hier_scatter_residual(c->v, c->s, c->quadratic, c->a_hat);
}

/* Kriging with an unknown mean a: mean of curve + walk at p, at node q. */
static double mean_at(const struct curve_fit *c, const struct point *p, double curve, size_t q)
{
    const struct wl_hier_scatter *v = c->v;
    double walk = 0;
    for (size_t i = 0; i < v->m; i++) walk += (v->y[i * v->n + q] - c->s[i]) * p->with.k_v[i * v->n + q];
    return curve + c->a_hat[q] * (1 - p->with.ones_k[q]) + walk;
}

/* Covariance of curve + walk at two points, given the curve's shape. */
static double covariance_at(const struct wl_hier_scatter *v, const struct point *p, const struct point *r, size_t q)
{
    const double walk = v->drift * v->tau2[q], same_side = p->x * r->x > 0 ? fmin(fabs(p->x), fabs(r->x)) : 0;
    double explained = 0;
    for (size_t i = 0; i < v->m; i++) explained += walk * fmax(0, fmin(v->x[i], p->x)) * r->with.k_v[i * v->n + q];
    return (1 - p->with.ones_k[q]) * (1 - r->with.ones_k[q]) / v->ones2[q] + walk * same_side - explained;
}

/* What a configuration and a run add. */
static double scatter_of(const struct wl_hier_scatter *v, enum wl_hier_what what, size_t q)
{
    return (what == WL_HIER_CURVE ? 0 : v->tau2[q]) + (what == WL_HIER_RUN ? v->sigma2[q] : 0);
}

static double largest_weight(const struct wl_hier_component *c, size_t nodes)
{
    double most = 0;
    for (size_t i = 0; i < c->n; i++)
        for (size_t q = 0; q < nodes; q++) most = fmax(most, c->nodes[i].weight[q]);
    return most;
}

/* Calls visit for each curve and node of (tau, sigma) that has a weight. */
typedef void visit_fn(void *ctx, const struct curve_fit *c, enum wl_hier_family family, const struct wl_hier_node *node,
                      size_t q);

static void visit_family(const struct wl_hier_fit *fit, const struct wl_hier_component *component, struct curve_fit *c,
                         visit_fn *visit, void *ctx)
{
    const double least = least_share * largest_weight(component, c->v->n);
    for (size_t i = 0; i < component->n; i++) {
        const struct wl_hier_node *node = &component->nodes[i];
        fit_curve(c, fit, component->family, node->z);
        for (size_t q = 0; q < c->v->n; q++)
            if (node->weight[q] > least) visit(ctx, c, component->family, node, q);
    }
}

static void visit_nodes(const struct wl_hier_fit *fit, int family, visit_fn *visit, void *ctx, struct wl_arena *scratch)
{
    struct curve_fit c = curve_fit_new(fit, scratch);
    for (size_t i = 0; i < fit->posterior->n_components; i++) {
        const struct wl_hier_component *component = &fit->posterior->components[i];
        if (family == WL_HIER_ALL || family == (int)component->family) visit_family(fit, component, &c, visit, ctx);
    }
}

/* ---- the mixture ---- */

struct prediction {
    const struct wl_hier_fit *fit;
    const struct wl_hier_query *query;
    struct point at;
    struct wl_hier_mixture out;
    size_t cap;
    struct wl_arena *arena;
};

static void grow(struct prediction *p)
{
    double **const columns[] = { &p->out.weight, &p->out.mean, &p->out.sd };
    size_t cap = p->cap;
    for (size_t i = 0; i < WL_COUNT(columns); i++) {
        cap = p->cap;
        *columns[i] = wl_grow(p->arena, *columns[i], p->out.n, &cap, p->out.n + 1, sizeof **columns[i]);
    }
    p->cap = cap;
}

static void add_node(void *ctx, const struct curve_fit *c, enum wl_hier_family family, const struct wl_hier_node *node,
                     size_t q)
{
    struct prediction *p = ctx;
    const double there = wl_hier_curves[family].s(p->at.workers, p->fit->posterior->largest, node->z),
                 rest = 1 - p->at.with.ones_k[q],
                 variance = rest * rest / c->v->ones2[q] + p->at.with.walk * c->v->tau2[q] - p->at.with.k_k[q] +
                            scatter_of(c->v, p->query->what, q);
    if (p->out.n == p->cap) grow(p);
    p->out.weight[p->out.n] = node->weight[q];
    p->out.mean[p->out.n] = mean_at(c, &p->at, there, q);
    p->out.sd[p->out.n++] = sqrt(fmax(variance, 0));
}

static void normalise(struct wl_hier_mixture *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->n; i++) sum += m->weight[i];
    for (size_t i = 0; i < m->n; i++) m->weight[i] /= sum;
}

struct wl_hier_mixture wl_hier_predict(const struct wl_hier_fit *fit, const struct wl_hier_query *query,
                                       struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct prediction p = { .fit = fit, .query = query, .at = point_at(fit, query->workers, scratch), .arena = a };
    visit_nodes(fit, query->family, add_node, &p, scratch);
    normalise(&p.out);
    if (!query->exact) wl_hier_merge(&p.out, scratch);
    wl_arena_free(scratch);
    return p.out;
}

double wl_hier_curve_mean(const struct wl_hier_fit *fit, double workers)
{
    const struct wl_hier_posterior *post = fit->posterior;
    double mean = 0, total = 0;
    for (size_t c = 0; c < post->n_components; c++)
        for (size_t i = 0; i < post->components[c].n; i++) {
            const struct wl_hier_node *node = &post->components[c].nodes[i];
            double weight = 0;
            for (size_t q = 0; q < post->scatter.n; q++) weight += node->weight[q];
            mean += weight * wl_hier_curves[post->components[c].family].s(workers, post->largest, node->z);
            total += weight;
        }
    return mean / total;
}

/* ---- what another measurement would do ---- */

/* Weighted sums over nodes: of the means m at the query and c at the candidate, and of their covariances. */
struct joint {
    const struct wl_hier_fit *fit;
    const struct wl_hier_query *query;
    struct point at, candidate;
    double runs;
    double weight, m, c, mm, mc, cc;
};

static void add_joint(void *ctx, const struct curve_fit *c, enum wl_hier_family family, const struct wl_hier_node *node,
                      size_t q)
{
    struct joint *j = ctx;
    const struct wl_hier_curve *curve = &wl_hier_curves[family];
    const double largest = j->fit->posterior->largest, w = node->weight[q],
                 m = mean_at(c, &j->at, curve->s(j->at.workers, largest, node->z), q),
                 k = mean_at(c, &j->candidate, curve->s(j->candidate.workers, largest, node->z), q);
    j->weight += w;
    j->m += w * m;
    j->c += w * k;
    j->mm += w * (m * m + covariance_at(c->v, &j->at, &j->at, q) + scatter_of(c->v, j->query->what, q));
    j->mc += w * (m * k + covariance_at(c->v, &j->at, &j->candidate, q));
    j->cc +=
        w * (k * k + covariance_at(c->v, &j->candidate, &j->candidate, q) + c->v->tau2[q] + c->v->sigma2[q] / j->runs);
}

double wl_hier_sd_after(const struct wl_hier_fit *fit, const struct wl_hier_query *query, double candidate, size_t runs)
{
    struct wl_arena *scratch = wl_arena_new(NULL);
    struct joint j = { .fit = fit,
                       .query = query,
                       .at = point_at(fit, query->workers, scratch),
                       .candidate = point_at(fit, candidate, scratch),
                       .runs = (double)runs };
    visit_nodes(fit, query->family, add_joint, &j, scratch);
    wl_arena_free(scratch);
    const double m = j.m / j.weight, c = j.c / j.weight, mm = j.mm / j.weight - m * m, mc = j.mc / j.weight - m * c,
                 cc = j.cc / j.weight - c * c;
    return sqrt(fmax(0, mm - mc * mc / cc));
}
