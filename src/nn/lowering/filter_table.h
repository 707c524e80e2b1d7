/* Filters as a table over the distance (docs/adr/155). The two layers of wl_filter_conv before its cutoff are a
 * function of the distance alone, as smooth as the Gaussians. They are evaluated on nodes that lie evenly, and between
 * nodes the polynomial through the six nearest ones is taken (Lagrange). The backward pass is the exact gradient of
 * that: each pair adds its filter's gradient, weighted alike, to those of six nodes, and the layers' backward pass runs
 * on nodes.
 *
 * How many nodes there are follows from the parameters and the batch alone, so nothing of it is kept: the coarsest
 * table is taken whose error is small enough as its sixth differences bound it; where none is, or where a table has
 * more nodes than the batch has pairs, the layers run on pairs. */
#ifndef WL_NN_LOWERING_FILTER_TABLE_H
#define WL_NN_LOWERING_FILTER_TABLE_H

#include "nn/lowering/kernels.h"

#include <math.h>

enum {
    WL_FILTER_TAPS = 6,
    WL_FILTER_BEFORE = 2, /* nodes before a cell, beside its own two */
    WL_FILTER_COARSEST = 8,
    WL_FILTER_FINEST = 32 /* cells to a Gaussian's standard deviation; tables between have powers of two */
};

/* Of what a table holds: the filters, the hidden features and the slopes of the softplus. The gradients are
 * interpolations too, of products that are rougher than these; tests/ops/test_filter_table.c has what they are off. */
static const double WL_FILTER_TOLERANCE = 5e-7;

/* Node k lies at the distance (k - WL_FILTER_BEFORE) / per_length; cell c begins at node c + WL_FILTER_BEFORE. */
struct wl_filter_table {
    int64_t nodes;     /* 0: there is none */
    double per_length; /* cells to an angstrom */
};

static inline struct wl_filter_table wl_filter_table_of(const struct wl_filter_args *a, int64_t cells)
{
    const int64_t all = cells * (a->gaussians - 1);
    return (struct wl_filter_table) { all + WL_FILTER_TAPS, (double)all / a->cutoff };
}

static inline int64_t wl_filter_table_most(int64_t gaussians)
{
    return WL_FILTER_FINEST * (gaussians - 1) + WL_FILTER_TAPS;
}

static inline double wl_filter_node(const struct wl_filter_table *t, int64_t k)
{
    return (double)(k - WL_FILTER_BEFORE) / t->per_length;
}

/* What some nodes say of the error of rows [nodes,f]: of (row k minus the polynomial through its neighbours) the
 * largest squared norm, and the squared norm of all rows. */
struct wl_filter_roughness {
    double largest, size;
};

static inline struct wl_filter_roughness wl_filter_rougher(struct wl_filter_roughness a, struct wl_filter_roughness b)
{
    return (struct wl_filter_roughness) { b.largest > a.largest ? b.largest : a.largest, a.size + b.size };
}

/* What is not finite is not smooth. In the middle of a cell the error of the polynomial is the sixth derivative times
 * 225/64 h^6/6!, and the sixth difference is that derivative times h^6. No node may be further off than a share of the
 * rows' root mean square. */
static inline bool wl_filter_smooth(struct wl_filter_roughness r, int64_t nodes)
{
    static const double MIDDLE = 225. / 64 / 720;
    return isfinite(r.size) && MIDDLE * sqrt(r.largest) <= WL_FILTER_TOLERANCE * sqrt(r.size / (double)nodes);
}

#endif
