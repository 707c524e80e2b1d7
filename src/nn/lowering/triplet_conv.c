#include "nn/lowering/edges.h"

static const struct wl_triplet_kernels *kernels(const struct wl_step *s) { return wl_rows_own(s)->kernels; }

enum { EDGES_AT = 4 }; /* after x, residual, radial, angular */

static struct wl_triplet_args triplet_shape(const struct wl_node *n)
{
    const int64_t orders = n->in[3]->dims.d[1];
    return (struct wl_triplet_args) { .f = n->out->dims.d[1],
                                      .atoms = n->in[EDGES_AT]->dims.d[0] - 1,
                                      .bilinear = n->par[0]->dims.d[0],
                                      .orders = orders,
                                      .radials = n->par[0]->dims.d[1] / orders };
}

struct wl_triplet_args wl_rows_triplet_args(const struct wl_step *s, const struct wl_run *r)
{
    struct wl_triplet_args a = triplet_shape(s->node);
    struct wl_edge_rows g;
    wl_edges_read(s, r, EDGES_AT, &g);
    a.edge_start = g.edge_start;
    a.reverse = g.reverse;
    a.triplet_start = g.triplet_start;
    a.x = wl_rows_at(s, r, WL_ROWS_IN);
    a.residual = wl_rows_at(s, r, WL_ROWS_IN + 1);
    a.radial = wl_rows_at(s, r, WL_ROWS_IN + 2);
    a.angular = wl_rows_at(s, r, WL_ROWS_IN + 3);
    a.v = wl_rows_at(s, r, WL_ROWS_PARAM);
    a.w = wl_rows_at(s, r, WL_ROWS_PARAM + 1);
    a.y = wl_rows_at(s, r, WL_ROWS_OUT);
    a.scratch = wl_rows_at(s, r, WL_ROWS_SCRATCH);
    return a;
}

static int triplet_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_triplet_args a = wl_rows_triplet_args(s, r);
    a.atoms = wl_rows_count(s, r, WL_ATOMS);
    kernels(s)->forward(&a);
    return 0;
}

struct wl_triplet_grad wl_rows_triplet_grad(const struct wl_step *s, const struct wl_run *r)
{
    return (struct wl_triplet_grad) { .of = wl_rows_triplet_args(s, r),
                                      .dy = wl_rows_at(s, r, WL_ROWS_DOUT),
                                      .dx = wl_rows_at(s, r, WL_ROWS_DIN),
                                      .dv = wl_rows_at(s, r, WL_ROWS_DPARAM),
                                      .dw = wl_rows_at(s, r, WL_ROWS_DPARAM + 1) };
}

static int triplet_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_triplet_grad b = wl_rows_triplet_grad(s, r);
    b.of.atoms = wl_rows_count(s, r, WL_ATOMS);
    kernels(s)->backward(&b);
    return 0;
}

static size_t triplet_scratch(const void *kernels_of, const struct wl_node *n, bool backward)
{
    const struct wl_triplet_kernels *k = kernels_of;
    const struct wl_triplet_args shape = triplet_shape(n);
    return k->scratch ? k->scratch(&shape, backward) : 0;
}

const struct wl_rows_uses wl_rows_uses_triplet_conv = { .gradients = 1 };

const struct wl_rows_op wl_rows_triplet_conv = { &wl_rows_uses_triplet_conv, triplet_run, triplet_backward_run,
                                                 triplet_scratch };
