/* Operations on rows: shapes, how their parameters start, flops, and checks of indices. */
#include "nn/graph/builder.h"
#include "nn/graph/input_checks.h"
#include "nn/graph/shapes.h"

#include <math.h>

static const char *dims_text(struct wl_graph *g, const struct wl_tensor *t) { return wl_dims_text(g->arena, &t->dims); }

/* An input of this type and these dims; a dimension of 0 matches any. */
static bool check(struct wl_graph *g, const struct wl_node *n, const struct wl_tensor *t, enum wl_dtype type,
                  struct wl_dims want)
{
    bool fits = t->dtype == type && t->dims.n == want.n;
    for (int i = 0; fits && i < want.n; i++) fits = want.d[i] == 0 || want.d[i] == t->dims.d[i];
    if (!fits)
        wl_graph_fail(g, "%s: %s reads %s, which is %s of %s, expected %s of %s (0: any)", n->name, wl_op_name(n->op),
                      t->name, dims_text(g, t), wl_dtype_name(t->dtype), wl_dims_text(g->arena, &want),
                      wl_dtype_name(type));
    return fits;
}

/* A node on rows reads x first and the counts last. */
static struct wl_node *rows_node(struct wl_graph *g, enum wl_op op, const char *name, struct wl_rows rows,
                                 struct wl_tensor *x)
{
    struct wl_node *n = wl_node_new(g, op, name, x, NULL);
    n->rows = rows.kind;
    check(g, n, rows.counts, WL_I32, WL_DIMS(WL_ROW_KINDS));
    return n;
}

/* The result of an operation that failed: one row of one feature, so that building can continue to the end. */
static struct wl_tensor *failed(struct wl_graph *g, struct wl_node *n) { return wl_node_out(g, n, &WL_DIMS(1, 1)); }

static struct wl_init glorot(int64_t in, int64_t out)
{
    return (struct wl_init) { WL_INIT_UNIFORM, sqrt(6 / (double)(in + out)) };
}

static const struct wl_init zero = { WL_INIT_CONSTANT, 0 };

int wl_check_embed(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    int64_t rows;
    int rc = wl_input_count(n, v, n->rows, n->out->dims.d[0], &rows, e);
    return rc ? rc : wl_check_indices(n->in[0]->name, wl_input_values_of(n, v, 0), rows, n->par[0]->dims.d[0], e);
}

struct wl_tensor *wl_embed(struct wl_graph *g, const char *name, struct wl_rows rows, struct wl_tensor *index,
                           int64_t entries, int64_t features)
{
    struct wl_node *n = rows_node(g, WL_OP_EMBED, name, rows, index);
    wl_node_read(n, rows.counts);
    if (!check(g, n, index, WL_I32, WL_DIMS(0))) return failed(g, n);
    n->par[0] = wl_node_param(g, n, "weight", WL_DIMS(entries, features), (struct wl_init) { WL_INIT_NORMAL, 1 }, true);
    return wl_node_out(g, n, &WL_DIMS(index->dims.d[0], features));
}

struct wl_tensor *wl_dense(struct wl_graph *g, const char *name, struct wl_rows rows, struct wl_tensor *x,
                           struct wl_dense dense)
{
    struct wl_node *n = rows_node(g, WL_OP_DENSE, name, rows, x);
    n->u.dense = dense;
    if ((n->residual = dense.residual)) wl_node_read(n, dense.residual);
    wl_node_read(n, rows.counts);
    if (!check(g, n, x, WL_F32, WL_DIMS(0, 0))) return failed(g, n);
    const int64_t r = x->dims.d[0], f = x->dims.d[1], k = dense.features;
    if (dense.residual && !check(g, n, dense.residual, WL_F32, WL_DIMS(r, k))) return failed(g, n);
    n->par[0] = wl_node_param(g, n, "weight", WL_DIMS(k, f), glorot(f, k), true);
    if (!dense.no_bias) n->par[1] = wl_node_param(g, n, "bias", WL_DIMS(k), zero, false);
    return wl_node_out(g, n, &WL_DIMS(r, k));
}

int wl_check_segments(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    int64_t segments;
    int rc = wl_input_count(n, v, n->rows, n->out->dims.d[0], &segments, e);
    return rc ? rc : wl_check_starts(n->in[1]->name, wl_input_values_of(n, v, 1), segments, n->in[0]->dims.d[0], e);
}

struct wl_tensor *wl_segment_sum(struct wl_graph *g, const char *name, struct wl_rows rows, struct wl_tensor *x,
                                 struct wl_tensor *start)
{
    struct wl_node *n = rows_node(g, WL_OP_SEGMENT_SUM, name, rows, x);
    wl_node_read(n, start);
    wl_node_read(n, rows.counts);
    if (!check(g, n, x, WL_F32, WL_DIMS(0, 0)) || !check(g, n, start, WL_I32, WL_DIMS(0))) return failed(g, n);
    return wl_node_out(g, n, &WL_DIMS(start->dims.d[0] - 1, x->dims.d[1]));
}

/* A pair's filter is two layers of Gaussians [k] and features [f], and is multiplied with the features of either atom.
 */
double wl_flops_filter_conv(const struct wl_graph *g, const struct wl_node *n)
{
    const double gaussians = (double)n->u.filter.gaussians, f = (double)n->out->dims.d[1];
    return 2 * g->mean_rows[WL_EDGES] * (gaussians * f + f * f + 2 * f);
}

/* There is no gradient by the Gaussians. */
double wl_backward_flops_filter_conv(const struct wl_graph *g, const struct wl_node *n)
{
    return wl_flops_filter_conv(g, n) * (n->in[0]->gradient ? 2 : 1) -
           2 * g->mean_rows[WL_EDGES] * (double)n->u.filter.gaussians * (double)n->out->dims.d[1];
}

/* Kernels divide the work by molecules, so a pair must not reach beyond its own. */
int wl_check_pairs(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    const int32_t *atom_start = wl_input_values_of(n, v, 1), *pair_start = wl_input_values_of(n, v, 2),
                  *pair = wl_input_values_of(n, v, 3);
    int64_t molecules;
    int rc = wl_input_count(n, v, WL_MOLECULES, n->in[1]->dims.d[0] - 1, &molecules, e);
    if (!rc) rc = wl_check_starts(n->in[1]->name, atom_start, molecules, n->in[0]->dims.d[0], e);
    if (!rc) rc = wl_check_starts(n->in[2]->name, pair_start, molecules, n->in[4]->dims.d[0], e);
    for (int64_t m = 0; m < molecules && !rc; m++)
        for (int64_t p = 2 * (int64_t)pair_start[m]; p < 2 * (int64_t)pair_start[m + 1]; p++)
            if (pair[p] < atom_start[m] || pair[p] >= atom_start[m + 1])
                rc = wl_fail(e, WL_EINVAL, "%s: pair %lld names atom %d, which is not of molecule %lld", n->in[3]->name,
                             (long long)p / 2, (int)pair[p], (long long)m);
    return rc;
}

struct wl_tensor *wl_filter_conv(struct wl_graph *g, const char *name, struct wl_pairs pairs, struct wl_tensor *x,
                                 struct wl_filter filter)
{
    struct wl_node *n = rows_node(g, WL_OP_FILTER_CONV, name, (struct wl_rows) { pairs.counts, WL_EDGES }, x);
    struct wl_tensor *const graph[] = { pairs.atom_start, pairs.pair_start, pairs.pair, pairs.distance, pairs.counts };
    for (size_t i = 0; i < WL_COUNT(graph); i++) wl_node_read(n, graph[i]);
    n->u.filter = filter;
    const int64_t p = pairs.distance->dims.d[0], molecules = pairs.atom_start->dims.d[0];
    if (!check(g, n, x, WL_F32, WL_DIMS(0, 0)) || !check(g, n, pairs.atom_start, WL_I32, WL_DIMS(0)) ||
        !check(g, n, pairs.pair_start, WL_I32, WL_DIMS(molecules)) || !check(g, n, pairs.pair, WL_I32, WL_DIMS(p, 2)) ||
        !check(g, n, pairs.distance, WL_F32, WL_DIMS(p)))
        return failed(g, n);
    if (!(filter.gaussians >= 2 && filter.cutoff > 0)) {
        wl_graph_fail(g, "%s: filter_conv with %lld Gaussians up to %g, expected at least 2 and a cutoff above 0",
                      n->name, (long long)filter.gaussians, filter.cutoff);
        return failed(g, n);
    }
    const int64_t f = x->dims.d[1], k = filter.gaussians;
    n->par[0] = wl_node_param(g, n, "0.weight", WL_DIMS(f, k), glorot(k, f), true);
    n->par[1] = wl_node_param(g, n, "0.bias", WL_DIMS(f), zero, false);
    n->par[2] = wl_node_param(g, n, "2.weight", WL_DIMS(f, f), glorot(f, f), true);
    n->par[3] = wl_node_param(g, n, "2.bias", WL_DIMS(f), zero, false);
    return wl_node_out(g, n, &x->dims);
}

static bool check_basis(struct wl_graph *g, const struct wl_node *n, const struct wl_basis *b)
{
    if (b->radial >= 1 && b->spherical >= 1 && b->power >= 1 && b->cutoff > 0) return true;
    wl_graph_fail(g, "%s: %s of %lld radial and %lld spherical functions, power %d, cutoff %g: each must be above 0",
                  n->name, wl_op_name(n->op), (long long)b->radial, (long long)b->spherical, b->power, b->cutoff);
    return false;
}

/* A basis of numbers [R], `width` functions of each. */
static struct wl_node *basis_node(struct wl_graph *g, enum wl_op op, const char *name, struct wl_rows rows,
                                  struct wl_tensor *of, struct wl_basis basis, bool *fits)
{
    struct wl_node *n = rows_node(g, op, name, rows, of);
    wl_node_read(n, rows.counts);
    n->u.basis = basis;
    *fits = check(g, n, of, WL_F32, WL_DIMS(0)) && check_basis(g, n, &basis);
    return n;
}

struct wl_tensor *wl_bessel_basis(struct wl_graph *g, const char *name, struct wl_rows edges,
                                  struct wl_tensor *distance, struct wl_basis basis)
{
    bool fits;
    struct wl_node *n = basis_node(g, WL_OP_BESSEL_BASIS, name, edges, distance, basis, &fits);
    if (!fits) return failed(g, n);
    const struct wl_init multiples = { WL_INIT_MULTIPLES, M_PI };
    n->par[0] = wl_node_param(g, n, "freq", WL_DIMS(basis.radial), multiples, false);
    return wl_node_out(g, n, &WL_DIMS(distance->dims.d[0], basis.radial));
}

struct wl_tensor *wl_spherical_basis(struct wl_graph *g, const char *name, struct wl_rows edges,
                                     struct wl_tensor *distance, struct wl_basis basis)
{
    bool fits;
    struct wl_node *n = basis_node(g, WL_OP_SPHERICAL_BASIS, name, edges, distance, basis, &fits);
    return fits ? wl_node_out(g, n, &WL_DIMS(distance->dims.d[0], basis.spherical * basis.radial)) : failed(g, n);
}

struct wl_tensor *wl_angular_basis(struct wl_graph *g, const char *name, struct wl_rows triplets,
                                   struct wl_tensor *cosine, struct wl_basis basis)
{
    bool fits;
    struct wl_node *n = basis_node(g, WL_OP_ANGULAR_BASIS, name, triplets, cosine, basis, &fits);
    return fits ? wl_node_out(g, n, &WL_DIMS(cosine->dims.d[0], basis.spherical)) : failed(g, n);
}

struct wl_tensor *wl_gate(struct wl_graph *g, const char *name, struct wl_rows rows, struct wl_tensor *x,
                          struct wl_tensor *basis)
{
    struct wl_node *n = rows_node(g, WL_OP_GATE, name, rows, x);
    wl_node_read(n, basis);
    wl_node_read(n, rows.counts);
    if (!check(g, n, x, WL_F32, WL_DIMS(0, 0)) || !check(g, n, basis, WL_F32, WL_DIMS(x->dims.d[0], 0)))
        return failed(g, n);
    const int64_t f = x->dims.d[1], k = basis->dims.d[1];
    n->par[0] = wl_node_param(g, n, "weight", WL_DIMS(f, k), glorot(k, f), true);
    return wl_node_out(g, n, &x->dims);
}

/* Adds the inputs of the edges after the other ones. */
static bool read_edges(struct wl_graph *g, struct wl_node *n, struct wl_edges edges)
{
    struct wl_tensor *const graph[] = { edges.edge_start, edges.source, edges.reverse, edges.triplet_start };
    for (size_t i = 0; i < WL_COUNT(graph); i++) wl_node_read(n, graph[i]);
    wl_node_read(n, edges.counts);
    const int64_t e = edges.source->dims.d[0], starts = edges.edge_start->dims.d[0];
    return check(g, n, edges.edge_start, WL_I32, WL_DIMS(0)) && check(g, n, edges.source, WL_I32, WL_DIMS(0)) &&
           check(g, n, edges.reverse, WL_I32, WL_DIMS(e)) && check(g, n, edges.triplet_start, WL_I32, WL_DIMS(starts));
}

/* Of a node that reads them from input `at` on. */
struct edges {
    int64_t atoms, edges;
    const int32_t *edge_start, *source, *reverse, *triplet_start;
};

/* Each edge between two atoms has one in the other direction, which backward sums over. */
static int check_edges(const struct wl_node *n, const struct wl_input_values *v, int at, struct edges *g,
                       struct wl_err *e)
{
    struct wl_tensor *const *in = n->in + at;
    *g = (struct edges) { .edge_start = wl_input_values_of(n, v, at),
                          .source = wl_input_values_of(n, v, at + 1),
                          .reverse = wl_input_values_of(n, v, at + 2),
                          .triplet_start = wl_input_values_of(n, v, at + 3) };
    int rc = wl_input_count(n, v, WL_EDGES, in[1]->dims.d[0], &g->edges, e);
    if (!rc) rc = wl_input_count(n, v, WL_ATOMS, in[0]->dims.d[0] - 1, &g->atoms, e);
    if (!rc) rc = wl_check_starts(in[0]->name, g->edge_start, g->atoms, g->edges, e);
    if (!rc) rc = wl_check_indices(in[1]->name, g->source, g->edges, g->atoms, e);
    if (!rc) rc = wl_check_indices(in[2]->name, g->reverse, g->edges, g->edges, e);
    for (int64_t i = 0; i < g->atoms && !rc; i++)
        for (int64_t q = g->edge_start[i]; q < g->edge_start[i + 1] && !rc; q++)
            if (g->source[g->reverse[q]] != i || g->reverse[g->reverse[q]] != q)
                rc = wl_fail(e, WL_EINVAL, "%s: edge %lld, from atom %d to %lld, has no edge back", in[2]->name,
                             (long long)q, (int)g->source[q], (long long)i);
    return rc;
}

int wl_check_edge_concat(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    struct edges g;
    return check_edges(n, v, 2, &g, e);
}

struct wl_tensor *wl_edge_concat(struct wl_graph *g, const char *name, struct wl_edges edges, struct wl_tensor *x,
                                 struct wl_tensor *z)
{
    struct wl_node *n = rows_node(g, WL_OP_EDGE_CONCAT, name, (struct wl_rows) { edges.counts, WL_EDGES }, x);
    wl_node_read(n, z);
    const int64_t atoms = edges.edge_start->dims.d[0] - 1, e = edges.source->dims.d[0];
    if (!read_edges(g, n, edges) || !check(g, n, x, WL_F32, WL_DIMS(atoms, 0)) ||
        !check(g, n, z, WL_F32, WL_DIMS(e, 0)))
        return failed(g, n);
    return wl_node_out(g, n, &WL_DIMS(e, 2 * x->dims.d[1] + z->dims.d[1]));
}

/* Of each edge the radial functions are weighted [bilinear,orders] and the sum over its triplets is multiplied with W;
 * of each triplet the weights are summed over the orders and multiplied with an edge's features. */
double wl_flops_triplet_conv(const struct wl_graph *g, const struct wl_node *n)
{
    enum { ANGULAR = 3 }; /* index of the input: x, residual, radial, angular */
    const double b = (double)n->par[0]->dims.d[0], both = (double)n->par[0]->dims.d[1];
    const double f = (double)n->out->dims.d[1], orders = (double)n->in[ANGULAR]->dims.d[1];
    return 2 * g->mean_rows[WL_EDGES] * (b * both + b * f * f) + 2 * g->mean_rows[WL_TRIPLETS] * (b * orders + b * f);
}

/* The triplets around an atom are those of its edges, and there is room for all of them. Kernels take the edges that
 * lead to an atom as one block: at most WL_MAX_NEIGHBOURS. */
static int check_triplets(const struct wl_node *n, const struct wl_input_values *v, const char *name,
                          const struct edges *g, int64_t room, struct wl_err *e)
{
    int64_t triplets;
    int rc = wl_input_count(n, v, WL_TRIPLETS, room, &triplets, e);
    if (!rc) rc = wl_check_starts(name, g->triplet_start, g->atoms, triplets, e);
    for (int64_t i = 0; i < g->atoms && !rc; i++) {
        const int64_t near = g->edge_start[i + 1] - g->edge_start[i];
        if (near > WL_MAX_NEIGHBOURS)
            rc = wl_fail(e, WL_EINVAL, "atom %lld has %lld neighbours, at most %d are expected", (long long)i,
                         (long long)near, WL_MAX_NEIGHBOURS);
        else if (g->triplet_start[i + 1] - g->triplet_start[i] != near * (near - 1))
            rc = wl_fail(e, WL_EINVAL, "%s: %d triplets around atom %lld, its %lld neighbours make %lld", name,
                         (int)(g->triplet_start[i + 1] - g->triplet_start[i]), (long long)i, (long long)near,
                         (long long)(near * (near - 1)));
    }
    return rc;
}

int wl_check_triplet_conv(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    enum { EDGES_AT = 4 }; /* after x, residual, radial, angular */
    struct edges g;
    int rc = check_edges(n, v, EDGES_AT, &g, e);
    return rc ? rc : check_triplets(n, v, n->in[EDGES_AT + 3]->name, &g, n->in[3]->dims.d[0], e);
}

struct wl_tensor *wl_triplet_conv(struct wl_graph *g, const char *name, struct wl_edges edges, struct wl_tensor *x,
                                  struct wl_triplet_conv conv)
{
    struct wl_node *n = rows_node(g, WL_OP_TRIPLET_CONV, name, (struct wl_rows) { edges.counts, WL_EDGES }, x);
    n->residual = conv.residual;
    wl_node_read(n, conv.residual);
    wl_node_read(n, conv.radial);
    wl_node_read(n, conv.angular);
    if (!read_edges(g, n, edges)) return failed(g, n);
    const int64_t e = edges.source->dims.d[0], f = x->dims.d[1], b = conv.bilinear;
    const int64_t both = conv.radial->dims.d[1], l = conv.angular->dims.d[1];
    if (!check(g, n, x, WL_F32, WL_DIMS(e, 0)) || !check(g, n, conv.residual, WL_F32, WL_DIMS(e, f)) ||
        !check(g, n, conv.radial, WL_F32, WL_DIMS(e, 0)) || !check(g, n, conv.angular, WL_F32, WL_DIMS(0, 0)))
        return failed(g, n);
    if (both % l || conv.radial->gradient || conv.angular->gradient) {
        wl_graph_fail(g, "%s: triplet_conv of bases %s %s and %s %s, expected the same orders in both and no gradients",
                      n->name, conv.radial->name, dims_text(g, conv.radial), conv.angular->name,
                      dims_text(g, conv.angular));
        return failed(g, n);
    }
    n->par[0] = wl_node_param(g, n, "lin_sbf.weight", WL_DIMS(b, both), glorot(both, b), true);
    n->par[1] = wl_node_param(g, n, "W", WL_DIMS(f, b, f), (struct wl_init) { WL_INIT_NORMAL, 2 / (double)f }, true);
    return wl_node_out(g, n, &x->dims);
}
