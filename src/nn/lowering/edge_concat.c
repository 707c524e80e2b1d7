#include "nn/lowering/edges.h"

static const struct wl_edge_concat_kernels *kernels(const struct wl_step *s) { return wl_rows_own(s)->kernels; }

static struct wl_edge_concat_args concat_args(const struct wl_step *s, const struct wl_run *r,
                                              const struct wl_edge_rows *g)
{
    return (struct wl_edge_concat_args) { .f = s->node->in[0]->dims.d[1],
                                          .g = s->node->in[1]->dims.d[1],
                                          .edge_start = g->edge_start,
                                          .source = g->source,
                                          .reverse = g->reverse,
                                          .x = wl_rows_at(s, r, WL_ROWS_IN),
                                          .z = wl_rows_at(s, r, WL_ROWS_IN + 1),
                                          .y = wl_rows_at(s, r, WL_ROWS_OUT) };
}

static int concat_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_edge_rows g;
    wl_edges_read(s, r, 2, &g);
    const struct wl_edge_concat_args a = concat_args(s, r, &g);
    kernels(s)->forward(&a, g.atoms);
    return 0;
}

static int concat_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_edge_rows g;
    wl_edges_read(s, r, 2, &g);
    const struct wl_edge_concat_grad b = { .of = concat_args(s, r, &g),
                                           .dy = wl_rows_at(s, r, WL_ROWS_DOUT),
                                           .dx = wl_rows_at(s, r, WL_ROWS_DIN),
                                           .dz = wl_rows_at(s, r, WL_ROWS_DIN + 1) };
    kernels(s)->backward(&b, g.atoms);
    return 0;
}

const struct wl_rows_op wl_rows_edge_concat = { concat_run, concat_backward_run, .gradients = 2, .not_read = 3 };
