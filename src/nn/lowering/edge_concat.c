#include "nn/lowering/edges.h"

static const struct wl_edge_concat_kernels *kernels(const struct wl_step *s) { return wl_rows_own(s)->kernels; }

struct wl_edge_concat_args wl_rows_edge_concat_args(const struct wl_step *s, const struct wl_run *r)
{
    struct wl_edge_rows g;
    wl_edges_read(s, r, 2, &g);
    return (struct wl_edge_concat_args) { .f = s->node->in[0]->dims.d[1],
                                          .g = s->node->in[1]->dims.d[1],
                                          .edge_start = g.edge_start,
                                          .source = g.source,
                                          .reverse = g.reverse,
                                          .x = wl_rows_at(s, r, WL_ROWS_IN),
                                          .z = wl_rows_at(s, r, WL_ROWS_IN + 1),
                                          .y = wl_rows_at(s, r, WL_ROWS_OUT) };
}

static int concat_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_edge_concat_args a = wl_rows_edge_concat_args(s, r);
    kernels(s)->forward(&a, wl_rows_count(s, r, WL_ATOMS));
    return 0;
}

struct wl_edge_concat_grad wl_rows_edge_concat_grad(const struct wl_step *s, const struct wl_run *r)
{
    return (struct wl_edge_concat_grad) { .of = wl_rows_edge_concat_args(s, r),
                                          .dy = wl_rows_at(s, r, WL_ROWS_DOUT),
                                          .dx = wl_rows_at(s, r, WL_ROWS_DIN),
                                          .dz = wl_rows_at(s, r, WL_ROWS_DIN + 1) };
}

static int concat_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_edge_concat_grad b = wl_rows_edge_concat_grad(s, r);
    kernels(s)->backward(&b, wl_rows_count(s, r, WL_ATOMS));
    return 0;
}

const struct wl_rows_uses wl_rows_uses_edge_concat = { .gradients = 2, .not_read = 3 };

const struct wl_rows_op wl_rows_edge_concat = { &wl_rows_uses_edge_concat, concat_run, concat_backward_run };
