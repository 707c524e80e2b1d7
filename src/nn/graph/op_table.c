#include "nn/graph/op_table.h"

#include "nn/graph/graph.h"

/* ---- flop counts: products and sums of matrix products; what is done once per element is not counted ---- */

double wl_flops_none(const struct wl_graph *g, const struct wl_node *n)
{
    (void)g;
    (void)n;
    return 0;
}

static double outputs(const struct wl_node *n) { return (double)wl_dims_count(&n->out->dims); }

static double features(const struct wl_node *n) { return (double)n->out->dims.d[n->out->dims.n - 1]; }

double wl_flops_matrix(const struct wl_graph *g, const struct wl_node *n)
{
    (void)g;
    return 2 * outputs(n) * (double)wl_dims_count(&n->par[0]->dims) / (double)n->par[0]->dims.d[0];
}

double wl_flops_rows_matrix(const struct wl_graph *g, const struct wl_node *n)
{
    return 2 * g->mean_rows[n->rows] * features(n) * (double)n->par[0]->dims.d[1];
}

static double twice_or_once(const struct wl_graph *g, const struct wl_node *n)
{
    return wl_node_flops(g, n) * (n->in[0]->gradient ? 2 : 1);
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
