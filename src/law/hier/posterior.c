/* Three passes over the shapes of each family: the whole range, then twice the box that holds the posterior. */
#include "law/hier/posterior.h"

#include <math.h>
#include <string.h>

static const size_t cells_by_pass[3][WL_HIER_SHAPES] = { { 48, 20 }, { 32, 16 }, { 40, 24 } }; /* [pass][shapes - 1] */
static const double box_depth[2] = { 20, 12 }; /* after the first and second pass: nodes below, in ln, are left out */
static const double scatter_depth = 12;        /* of nodes of (tau, sigma), after the first pass */
static const double least_node = 1e-7;         /* posterior weight of a curve that is kept */

/* The curves of one family on the midpoints of k cells per shape. */
struct grid {
    const struct wl_hier_curve *curve;
    size_t k;
    struct wl_hier_box box;
    double width[WL_HIER_SHAPES], ln_cell;
    double (*z)[WL_HIER_SHAPES]; /* [n] */
    size_t n;
    double *ln_weight; /* [n][scatter nodes] */
    double *top;       /* [n] the largest of them */
};

static bool in_range(const struct wl_hier_curve *curve, const double *z)
{
    return !curve->simplex || z[0] * z[0] + z[1] * z[1] <= 1 - 1e-9;
}

static struct grid make_grid(const struct wl_hier_curve *curve, const struct wl_hier_box *box, size_t k,
                             struct wl_arena *a)
{
    const size_t second = curve->shapes == 2 ? k : 1;
    struct grid g = { .curve = curve, .k = k, .box = *box };
    g.z = wl_alloc_array(a, k * second, sizeof *g.z);
    for (size_t j = 0; j < curve->shapes; j++) {
        g.width[j] = (box->hi[j] - box->lo[j]) / (double)k;
        g.ln_cell += log(g.width[j]);
    }
    for (size_t i = 0; i < k * second; i++) {
        const size_t cell[] = { i / second, i % second };
        double *z = g.z[g.n];
        for (size_t j = 0; j < curve->shapes; j++) z[j] = box->lo[j] + ((double)cell[j] + 0.5) * g.width[j];
        g.n += in_range(curve, z);
    }
    return g;
}

static double top_of(const double *w, size_t n)
{
    double top = -INFINITY;
    for (size_t q = 0; q < n; q++) top = w[q] > top ? w[q] : top;
    return top;
}

/* ln of prior x likelihood of each curve at each node of (tau, sigma): its largest value, and all of them if `keep`.
 * tops: [scatter nodes], raised to the largest value of each node, or NULL. */
static void evaluate(struct grid *g, const struct wl_hier_fit *fit, bool keep, double *tops, struct wl_arena *a)
{
    const struct wl_hier_scatter *v = &fit->posterior->scatter;
    const double ln_constant = g->curve->ln_constant(fit->prior) + g->ln_cell;
    double *s = wl_new_array(a, double, v->m);
    g->ln_weight = wl_new_array(a, double, keep ? g->n * v->n : v->n);
    g->top = wl_new_array(a, double, g->n);
    for (size_t i = 0; i < g->n; i++) {
        double *w = g->ln_weight + (keep ? i * v->n : 0);
        for (size_t c = 0; c < v->m; c++) s[c] = g->curve->s(fit->data->workers[c], fit->posterior->largest, g->z[i]);
        wl_hier_scatter_residual(v, s, w);
        const double ln_prior = g->curve->ln_prior(g->z[i], fit->prior) + ln_constant;
        for (size_t q = 0; q < v->n; q++) w[q] = ln_prior + v->ln_prior[q] - 0.5 * w[q];
        g->top[i] = top_of(w, v->n);
        for (size_t q = 0; tops && q < v->n; q++) tops[q] = w[q] > tops[q] ? w[q] : tops[q];
    }
}

/* The smallest box, one cell wider, around the curves within `depth` of the best. */
static struct wl_hier_box shrink(const struct grid *g, double depth)
{
    const double least = top_of(g->top, g->n) - depth;
    struct wl_hier_box b = { .lo = { INFINITY, INFINITY }, .hi = { -INFINITY, -INFINITY } };
    for (size_t i = 0; i < g->n; i++)
        for (size_t j = 0; g->top[i] > least && j < g->curve->shapes; j++) {
            b.lo[j] = fmin(b.lo[j], g->z[i][j] - g->width[j]);
            b.hi[j] = fmax(b.hi[j], g->z[i][j] + g->width[j]);
        }
    for (size_t j = 0; j < g->curve->shapes; j++) {
        b.lo[j] = fmax(b.lo[j], g->box.lo[j]);
        b.hi[j] = fmin(b.hi[j], g->box.hi[j]);
    }
    return b;
}

static size_t cells(const struct wl_hier_curve *curve, size_t pass) { return cells_by_pass[pass][curve->shapes - 1]; }

/* Drops the nodes of (tau, sigma) at which no curve of any family comes near the best. */
static void drop_scatter(struct wl_hier_scatter *v, const double *top, struct wl_arena *a)
{
    const double least = top_of(top, v->n) - scatter_depth;
    bool *keep = wl_new_array(a, bool, v->n);
    for (size_t q = 0; q < v->n; q++) keep[q] = top[q] > least;
    wl_hier_scatter_keep(v, keep);
}

/* First pass: the box of each family, and the nodes of (tau, sigma) that matter. */
static void scan(const struct wl_hier_fit *fit, struct wl_hier_box *boxes, struct wl_arena *a)
{
    struct wl_hier_scatter *v = &fit->posterior->scatter;
    double *top = wl_new_array(a, double, v->n);
    for (size_t q = 0; q < v->n; q++) top[q] = -INFINITY;
    for (size_t f = 0; f < WL_HIER_FAMILIES; f++) {
        if (fit->reason[f]) continue;
        const struct wl_hier_curve *curve = &wl_hier_curves[f];
        struct wl_arena *scratch = wl_arena_new(a);
        struct grid g = make_grid(curve, &curve->box, cells(curve, 0), scratch);
        evaluate(&g, fit, false, top, scratch);
        boxes[f] = shrink(&g, box_depth[0]);
        wl_arena_free(scratch);
    }
    drop_scatter(v, top, a);
}

/* Second pass, on a scratch arena, and third. */
static struct grid refine(const struct wl_hier_fit *fit, const struct wl_hier_curve *curve,
                          const struct wl_hier_box *box, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct grid coarse = make_grid(curve, box, cells(curve, 1), scratch);
    evaluate(&coarse, fit, false, NULL, scratch);
    struct wl_hier_box narrow = shrink(&coarse, box_depth[1]);
    wl_arena_free(scratch);
    struct grid fine = make_grid(curve, &narrow, cells(curve, 2), a);
    evaluate(&fine, fit, true, NULL, a);
    return fine;
}

/* exp(ln weight - most) of all nodes in place, and their sum. Below exp(-vanishing) a node is taken to be 0: the sum of
 * 1e5 such nodes is less than 1e-9 of the largest. */
static const double vanishing = 33;

static double exponentiate(struct grid *g, double ln_family, size_t nodes, double most)
{
    double sum = 0;
    for (size_t i = 0; i < g->n; i++) {
        double *w = g->ln_weight + i * nodes;
        for (size_t q = 0; q < nodes; q++) {
            const double ln = w[q] + ln_family - most;
            sum += w[q] = ln > -vanishing ? exp(ln) : 0;
        }
    }
    return sum;
}

/* Keeps the curves with a weight, normalised by `total`, the sum over all families. */
static void keep_nodes(const struct grid *g, double total, size_t nodes, struct wl_hier_component *out, double *weight,
                       struct wl_arena *a)
{
    out->nodes = wl_new_array(a, struct wl_hier_node, g->n);
    for (size_t i = 0; i < g->n; i++) {
        double sum = 0;
        double *w = g->ln_weight + i * nodes;
        for (size_t q = 0; q < nodes; q++) sum += w[q] /= total;
        *weight += sum;
        if (!(sum > least_node)) continue;
        struct wl_hier_node *node = &out->nodes[out->n++];
        memcpy(node->z, g->z[i], sizeof node->z);
        node->total = sum;
        node->weight = wl_new_array(a, double, nodes);
        memcpy(node->weight, w, nodes * sizeof *w);
    }
}

static void integrate(struct wl_hier_fit *fit, const struct wl_hier_box *boxes, struct wl_arena *a)
{
    struct wl_hier_posterior *post = fit->posterior;
    const size_t nodes = post->scatter.n;
    struct wl_arena *scratch = wl_arena_new(a);
    struct grid g[WL_HIER_FAMILIES];
    double most = -INFINITY, sum = 0;
    for (size_t f = 0; f < WL_HIER_FAMILIES; f++) {
        if (fit->reason[f]) continue;
        g[f] = refine(fit, &wl_hier_curves[f], &boxes[f], scratch);
        most = fmax(most, top_of(g[f].top, g[f].n) + log(fit->prior->weight[f]));
    }
    for (size_t f = 0; f < WL_HIER_FAMILIES; f++)
        if (!fit->reason[f]) sum += exponentiate(&g[f], log(fit->prior->weight[f]), nodes, most);
    for (size_t f = 0; f < WL_HIER_FAMILIES; f++) {
        if (fit->reason[f]) continue;
        struct wl_hier_component *c = &post->components[post->n_components++];
        c->family = (enum wl_hier_family)f;
        keep_nodes(&g[f], sum, nodes, c, &fit->weight[f], a);
    }
    wl_arena_free(scratch);
}

static void describe_scatter(struct wl_hier_fit *fit)
{
    const struct wl_hier_posterior *post = fit->posterior;
    double ln_tau2 = 0, ln_sigma2 = 0, total = 0;
    for (size_t q = 0; q < post->scatter.n; q++) {
        double w = 0;
        for (size_t c = 0; c < post->n_components; c++)
            for (size_t i = 0; i < post->components[c].n; i++) w += post->components[c].nodes[i].weight[q];
        total += w;
        ln_tau2 += w * log(post->scatter.tau2[q]);
        ln_sigma2 += w * log(post->scatter.sigma2[q]);
    }
    fit->tau = exp(ln_tau2 / total / 2);
    fit->sigma = exp(ln_sigma2 / total / 2);
}

/* ---- which families ---- */

static const char *exclusion(const struct wl_hier_data *d, const struct wl_hier_prior *p, size_t f, struct wl_arena *a)
{
    if (!(p->weight[f] > 0)) return "its prior weight is 0";
    if (wl_hier_curves[f].shapes == 2 && d->n_workers < p->two_shape_workers)
        return wl_strf(a, "%zu worker counts: two shape parameters need %zu", d->n_workers, p->two_shape_workers);
    if (wl_hier_curves[f].needs_whole && d->workers[0] < 1) return "ln N is negative below one worker";
    return NULL;
}

static int check_prior(const struct wl_hier_prior *p, struct wl_err *e)
{
    const struct {
        const char *name;
        double value;
    } positive[] = { { "tau", p->tau },
                     { "sigma", p->sigma },
                     { "tau_min", p->tau_min },
                     { "tau_max", p->tau_max },
                     { "tau_nodes", (double)p->tau_nodes },
                     { "sigma_nodes", (double)p->sigma_nodes },
                     { "exponent_sd", p->exponent_sd },
                     { "compute_share", p->compute_share },
                     { "add_share", p->add_share } };
    for (size_t i = 0; i < WL_COUNT(positive); i++)
        if (!(positive[i].value > 0) || !isfinite(positive[i].value))
            return wl_fail(e, WL_EINVAL, "prior: %s is %g: expected a positive number", positive[i].name,
                           positive[i].value);
    if (!(p->drift >= 0) || !isfinite(p->drift))
        return wl_fail(e, WL_EINVAL, "prior: drift is %g: expected 0 or more", p->drift);
    if (!isfinite(p->exponent)) return wl_fail(e, WL_EINVAL, "prior: exponent is %g: expected a number", p->exponent);
    return 0;
}

int wl_hier_fit(const struct wl_hier_data *data, const struct wl_hier_prior *prior, struct wl_hier_fit *out,
                struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_hier_fit) { .prior = prior, .data = data };
    int rc = check_prior(prior, e);
    if (rc) return rc;
    bool any = false;
    for (size_t f = 0; f < WL_HIER_FAMILIES; f++) {
        out->reason[f] = exclusion(data, prior, f, a);
        any = any || !out->reason[f];
    }
    if (!any)
        return wl_fail(e, WL_ENOENT, "the prior leaves no family of curves for %zu worker count%s", data->n_configs,
                       data->n_configs == 1 ? "" : "s");
    out->posterior = wl_new(a, struct wl_hier_posterior);
    out->posterior->largest = data->workers[data->n_configs - 1];
    wl_hier_scatter_nodes(data, prior, &out->posterior->scatter, a);
    struct wl_hier_box boxes[WL_HIER_FAMILIES];
    scan(out, boxes, a);
    integrate(out, boxes, a);
    describe_scatter(out);
    return 0;
}
