/* Operations on rows: shapes, and how their parameters start. */
#include "nn/graph/builder.h"
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

struct wl_tensor *wl_segment_sum(struct wl_graph *g, const char *name, struct wl_rows rows, struct wl_tensor *x,
                                 struct wl_tensor *start)
{
    struct wl_node *n = rows_node(g, WL_OP_SEGMENT_SUM, name, rows, x);
    wl_node_read(n, start);
    wl_node_read(n, rows.counts);
    if (!check(g, n, x, WL_F32, WL_DIMS(0, 0)) || !check(g, n, start, WL_I32, WL_DIMS(0))) return failed(g, n);
    return wl_node_out(g, n, &WL_DIMS(start->dims.d[0] - 1, x->dims.d[1]));
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
