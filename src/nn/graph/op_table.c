#include "nn/graph/op_table.h"

#include "nn/graph/graph.h"
#include "nn/graph/input_checks.h"

/* ---- flop counts: products and sums of matrix products; what is done once per element is not counted ---- */

static double no_flops(const struct wl_graph *g, const struct wl_node *n)
{
    (void)g;
    (void)n;
    return 0;
}

static double outputs(const struct wl_node *n) { return (double)wl_dims_count(&n->out->dims); }

static double features(const struct wl_node *n) { return (double)n->out->dims.d[n->out->dims.n - 1]; }

static double matrix_flops(const struct wl_graph *g, const struct wl_node *n)
{
    (void)g;
    return 2 * outputs(n) * (double)wl_dims_count(&n->par[0]->dims) / (double)n->par[0]->dims.d[0];
}

static double decoder_flops(const struct wl_graph *g, const struct wl_node *n)
{
    (void)g;
    return 2 * outputs(n) * (double)n->tied->dims.d[1];
}

/* 4 real products for a complex one. */
static double complex_flops(const struct wl_graph *g, const struct wl_node *n)
{
    (void)g;
    return 4 * outputs(n) * (double)n->par[0]->dims.d[2];
}

static double attention_flops(const struct wl_graph *g, const struct wl_node *n)
{
    (void)g;
    return 4 * outputs(n) * (double)n->out->dims.d[1];
}

static double rows_matrix_flops(const struct wl_graph *g, const struct wl_node *n)
{
    return 2 * g->mean_rows[n->rows] * features(n) * (double)n->par[0]->dims.d[1];
}

/* A pair's filter is two layers of Gaussians [k] and features [f], and is multiplied with the features of either atom.
 */
static double filter_flops(const struct wl_graph *g, const struct wl_node *n)
{
    const double gaussians = (double)n->u.filter.gaussians, f = features(n);
    return 2 * g->mean_rows[WL_EDGES] * (gaussians * f + f * f + 2 * f);
}

static double twice_or_once(const struct wl_graph *g, const struct wl_node *n)
{
    return wl_node_flops(g, n) * (n->in[0]->gradient ? 2 : 1);
}

/* There is no gradient by the Gaussians. */
static double filter_backward_flops(const struct wl_graph *g, const struct wl_node *n)
{
    return twice_or_once(g, n) - 2 * g->mean_rows[WL_EDGES] * (double)n->u.filter.gaussians * (double)n->out->dims.d[1];
}

/* Of each edge the radial functions are weighted [bilinear,orders] and the sum over its triplets is multiplied with W;
 * of each triplet the weights are summed over the orders and multiplied with an edge's features. */
static double triplet_flops(const struct wl_graph *g, const struct wl_node *n)
{
    enum { ANGULAR = 3 }; /* index of the input: x, residual, radial, angular */
    const double b = (double)n->par[0]->dims.d[0], both = (double)n->par[0]->dims.d[1];
    const double f = (double)n->out->dims.d[1], orders = (double)n->in[ANGULAR]->dims.d[1];
    return 2 * g->mean_rows[WL_EDGES] * (b * both + b * f * f) + 2 * g->mean_rows[WL_TRIPLETS] * (b * orders + b * f);
}

/* ---- rows in f32 ---- */

static bool always(const struct wl_node *n)
{
    (void)n;
    return true;
}

static bool has_no_relu(const struct wl_node *n) { return !n->relu; }

static bool has_no_branch(const struct wl_node *n) { return !n->in[1]; }

/* ---- the table ---- */

const struct wl_op_info *wl_op_info(enum wl_op op)
{
    static const struct wl_op_info table[WL_OP_COUNT] = {
#define ROW(op, name, ...) [WL_OP_##op] = { #name, __VA_ARGS__ },
        WL_OPS(ROW)
#undef ROW
    };
    return &table[op];
}

double wl_node_flops(const struct wl_graph *g, const struct wl_node *n) { return wl_op_info(n->op)->flops(g, n); }

double wl_node_backward_flops(const struct wl_graph *g, const struct wl_node *n)
{
    const struct wl_op_info *info = wl_op_info(n->op);
    return info->backward_flops ? info->backward_flops(g, n) : twice_or_once(g, n);
}
