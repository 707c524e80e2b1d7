/* The predictive distribution at a worker count: a normal distribution for each curve and node of (tau, sigma). */
#include "law/hier/posterior.h"

#include <math.h>

static const double least_share = 1e-7; /* of the largest weight of a family: components below are left out */

struct prediction {
    const struct wl_hier_fit *fit;
    double workers;
    enum wl_hier_what what;
    struct wl_hier_covariance with; /* of the walk there with the data */
    double *s, *quadratic, *a_hat;  /* scratch */
    struct wl_hier_mixture out;
    size_t cap;
    struct wl_arena *arena;
};

static void add(struct prediction *p, double weight, double mean, double variance)
{
    struct wl_hier_mixture *m = &p->out;
    if (m->n == p->cap) {
        size_t cap = p->cap;
        m->weight = wl_grow(p->arena, m->weight, m->n, &cap, m->n + 1, sizeof *m->weight);
        cap = p->cap;
        m->mean = wl_grow(p->arena, m->mean, m->n, &cap, m->n + 1, sizeof *m->mean);
        cap = p->cap;
        m->sd = wl_grow(p->arena, m->sd, m->n, &cap, m->n + 1, sizeof *m->sd);
        p->cap = cap;
    }
    m->weight[m->n] = weight;
    m->mean[m->n] = mean;
    m->sd[m->n++] = sqrt(fmax(variance, 0));
}

static double largest_weight(const struct wl_hier_component *c, size_t nodes)
{
    double most = 0;
    for (size_t i = 0; i < c->n; i++)
        for (size_t q = 0; q < nodes; q++) most = fmax(most, c->nodes[i].weight[q]);
    return most;
}

/* Mean and variance at node q, given the curve: kriging with an unknown mean a. */
static void add_node(struct prediction *p, const struct wl_hier_node *node, double curve, size_t q)
{
    const struct wl_hier_scatter *v = &p->fit->posterior->scatter;
    const struct wl_hier_covariance *k = &p->with;
    double walk = 0;
    for (size_t i = 0; i < v->m; i++) walk += (v->y[i * v->n + q] - p->s[i]) * k->k_v[i * v->n + q];
    const double a = p->a_hat[q], rest = 1 - k->ones_k[q];
    double variance = rest * rest / v->ones2[q] + k->walk * v->tau2[q] - k->k_k[q];
    if (p->what != WL_HIER_CURVE) variance += v->tau2[q];
    if (p->what == WL_HIER_RUN) variance += v->sigma2[q];
    add(p, node->weight[q], curve + a * rest + walk, variance);
}

static void add_component(struct prediction *p, const struct wl_hier_component *c)
{
    const struct wl_hier_posterior *post = p->fit->posterior;
    const struct wl_hier_curve *curve = &wl_hier_curves[c->family];
    const double least = least_share * largest_weight(c, post->scatter.n);
    for (size_t i = 0; i < c->n; i++) {
        const struct wl_hier_node *node = &c->nodes[i];
        for (size_t k = 0; k < post->scatter.m; k++)
            p->s[k] = curve->s(p->fit->data->workers[k], post->largest, node->z);
        wl_hier_scatter_residual(&post->scatter, p->s, p->quadratic, p->a_hat);
        const double there = curve->s(p->workers, post->largest, node->z);
        for (size_t q = 0; q < post->scatter.n; q++)
            if (node->weight[q] > least) add_node(p, node, there, q);
    }
}

static void normalise(struct wl_hier_mixture *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->n; i++) sum += m->weight[i];
    for (size_t i = 0; i < m->n; i++) m->weight[i] /= sum;
}

struct wl_hier_mixture wl_hier_predict(const struct wl_hier_fit *fit, double workers, enum wl_hier_what what,
                                       bool exact, struct wl_arena *a)
{
    const struct wl_hier_scatter *v = &fit->posterior->scatter;
    struct wl_arena *scratch = wl_arena_new(a);
    struct prediction p = { .fit = fit, .workers = workers, .what = what, .arena = a };
    p.with = wl_hier_scatter_covariance(v, log2(workers) - log2(fit->data->workers[0]), scratch);
    p.s = wl_new_array(scratch, double, v->m);
    p.quadratic = wl_new_array(scratch, double, v->n);
    p.a_hat = wl_new_array(scratch, double, v->n);
    for (size_t i = 0; i < fit->posterior->n_components; i++) add_component(&p, &fit->posterior->components[i]);
    normalise(&p.out);
    if (!exact) wl_hier_merge(&p.out, scratch);
    wl_arena_free(scratch);
    return p.out;
}
