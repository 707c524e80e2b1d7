#include "nn/lowering/filter_table.h"
#include "nn/lowering/rows.h"

static const struct wl_filter_kernels *kernels(const struct wl_step *s) { return wl_rows_own(s)->kernels; }

struct wl_filter_args wl_rows_filter_args(const struct wl_step *s, const struct wl_run *r)
{
    const struct wl_node *n = s->node;
    return (struct wl_filter_args) { .molecules = n->in[1]->dims.d[0] - 1,
                                     .f = n->out->dims.d[1],
                                     .gaussians = n->u.filter.gaussians,
                                     .cutoff = n->u.filter.cutoff,
                                     .exact = n->u.filter.exact,
                                     .x = wl_rows_at(s, r, WL_ROWS_IN),
                                     .atom_start = wl_rows_at(s, r, WL_ROWS_IN + 1),
                                     .pair_start = wl_rows_at(s, r, WL_ROWS_IN + 2),
                                     .pair = wl_rows_at(s, r, WL_ROWS_IN + 3),
                                     .distance = wl_rows_at(s, r, WL_ROWS_IN + 4),
                                     .w0 = wl_rows_at(s, r, WL_ROWS_PARAM),
                                     .b0 = wl_rows_at(s, r, WL_ROWS_PARAM + 1),
                                     .w2 = wl_rows_at(s, r, WL_ROWS_PARAM + 2),
                                     .b2 = wl_rows_at(s, r, WL_ROWS_PARAM + 3),
                                     .y = wl_rows_at(s, r, WL_ROWS_OUT),
                                     .saved_filters = wl_rows_at(s, r, WL_ROWS_SAVED),
                                     .scratch = wl_rows_at(s, r, WL_ROWS_SCRATCH) };
}

static int filter_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_filter_args a = wl_rows_filter_args(s, r);
    a.molecules = wl_rows_count(s, r, WL_MOLECULES);
    kernels(s)->forward(&a);
    return 0;
}

struct wl_filter_grad wl_rows_filter_grad(const struct wl_step *s, const struct wl_run *r)
{
    return (struct wl_filter_grad) { .of = wl_rows_filter_args(s, r),
                                     .dy = wl_rows_at(s, r, WL_ROWS_DOUT),
                                     .dx = wl_rows_at(s, r, WL_ROWS_DIN),
                                     .dw0 = wl_rows_at(s, r, WL_ROWS_DPARAM),
                                     .db0 = wl_rows_at(s, r, WL_ROWS_DPARAM + 1),
                                     .dw2 = wl_rows_at(s, r, WL_ROWS_DPARAM + 2),
                                     .db2 = wl_rows_at(s, r, WL_ROWS_DPARAM + 3) };
}

static int filter_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_filter_grad g = wl_rows_filter_grad(s, r);
    g.of.molecules = wl_rows_count(s, r, WL_MOLECULES);
    kernels(s)->backward(&g);
    return 0;
}

static size_t filter_scratch(const void *kernels_of, const struct wl_node *n, bool backward)
{
    const struct wl_filter_kernels *k = kernels_of;
    const struct wl_filter_args shape = { .f = n->out->dims.d[1],
                                          .gaussians = n->u.filter.gaussians,
                                          .exact = n->u.filter.exact };
    return k->scratch ? k->scratch(&shape, backward) : 0;
}

static bool filters_of_pairs(const struct wl_node *n, struct wl_dims *dims)
{
    *dims = WL_DIMS(n->in[4]->dims.d[0], n->out->dims.d[1]);
    return true;
}

const struct wl_rows_uses wl_rows_uses_filter_conv = { .gradients = 1, .saved_dims = filters_of_pairs };

/* A table is made once more for the backward pass. */
static bool filters_unless_table(const struct wl_node *n, struct wl_dims *dims)
{
    return n->u.filter.exact && filters_of_pairs(n, dims);
}

static const struct wl_rows_uses uses = { .gradients = 1, .saved_dims = filters_unless_table };

/* Of a forward or a backward step: multiply-adds with the coarsest table, as wl_flops_filter_conv counts them without
 * one. Six for each interpolation, six more to add a gradient to its nodes. */
static double table_flops(const struct wl_graph *g, const struct wl_node *n, bool backward)
{
    const struct wl_filter_args shape = { .gaussians = n->u.filter.gaussians, .cutoff = n->u.filter.cutoff };
    const double f = (double)n->out->dims.d[1], pairs = g->mean_rows[WL_EDGES],
                 nodes = (double)wl_filter_table_of(&shape, WL_FILTER_COARSEST).nodes,
                 layers = nodes * ((double)shape.gaussians * f + f * f);
    return 2 *
           (backward ? 3 * layers + pairs * f * (2 * WL_FILTER_TAPS + 4) : layers + pairs * f * (WL_FILTER_TAPS + 2));
}

static void describe_filter(const struct wl_program *p, bool backward, struct wl_step *s)
{
    const struct wl_node *n = s->node;
    s->implementation = n->u.filter.exact ? "exact filters" : "table of filters";
    if (n->u.filter.exact) return;
    const double share = table_flops(p->graph, n, backward) /
                         (backward ? wl_node_backward_flops(p->graph, n) : wl_node_flops(p->graph, n));
    if (share < 1) s->flops_share = share;
}

const struct wl_rows_op wl_rows_filter_conv = { &uses, filter_run, filter_backward_run, filter_scratch,
                                                .describe = describe_filter };
