#include "nn/lowering/rows.h"

static const struct wl_dense_kernels *kernels(const struct wl_step *s) { return wl_rows_own(s)->kernels; }

static struct wl_matrix dense_matrix(const struct wl_node *n)
{
    return (struct wl_matrix) { n->out->dims.d[0], n->par[0]->dims.d[1], n->par[0]->dims.d[0] };
}

struct wl_dense_args wl_rows_dense_args(const struct wl_step *s, const struct wl_run *r)
{
    const struct wl_node *n = s->node;
    return (struct wl_dense_args) { .m = dense_matrix(n),
                                    .activation = n->u.dense.activation,
                                    .x = wl_rows_at(s, r, WL_ROWS_IN),
                                    .w = wl_rows_at(s, r, WL_ROWS_PARAM),
                                    .b = wl_rows_at(s, r, WL_ROWS_PARAM + 1),
                                    .residual = n->residual ? wl_rows_at(s, r, WL_ROWS_IN + 1) : NULL,
                                    .y = wl_rows_at(s, r, WL_ROWS_OUT),
                                    .u = wl_rows_at(s, r, WL_ROWS_SAVED),
                                    .scratch = wl_rows_at(s, r, WL_ROWS_SCRATCH) };
}

static int dense_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_dense_args a = wl_rows_dense_args(s, r);
    a.m.n = wl_rows_count(s, r, s->node->rows);
    kernels(s)->forward(&a);
    return 0;
}

struct wl_dense_grad wl_rows_dense_grad(const struct wl_step *s, const struct wl_run *r)
{
    const struct wl_node *n = s->node;
    return (struct wl_dense_grad) { .m = dense_matrix(n),
                                    .activation = n->u.dense.activation,
                                    .x = wl_rows_at(s, r, WL_ROWS_IN),
                                    .w = wl_rows_at(s, r, WL_ROWS_PARAM),
                                    .u = wl_rows_at(s, r, WL_ROWS_SAVED),
                                    .dy = wl_rows_at(s, r, WL_ROWS_DOUT),
                                    .dx = wl_rows_at(s, r, WL_ROWS_DIN),
                                    .dw = wl_rows_at(s, r, WL_ROWS_DPARAM),
                                    .db = wl_rows_at(s, r, WL_ROWS_DPARAM + 1),
                                    .scratch = wl_rows_at(s, r, WL_ROWS_SCRATCH),
                                    .add = wl_rows_own(s)->add[0] };
}

static int dense_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_dense_grad a = wl_rows_dense_grad(s, r);
    a.m.n = wl_rows_count(s, r, s->node->rows);
    kernels(s)->backward(&a);
    return 0;
}

static size_t dense_scratch(const void *kernels_of, const struct wl_node *n, bool backward)
{
    const struct wl_dense_kernels *k = kernels_of;
    return k->scratch ? k->scratch(dense_matrix(n), backward) : 0;
}

static bool dense_keeps(const struct wl_node *n, struct wl_dims *dims)
{
    *dims = n->out->dims;
    return n->u.dense.activation != WL_ACT_NONE;
}

const struct wl_rows_uses wl_rows_uses_dense = { .gradients = 1, .adds = 1, .saved_dims = dense_keeps };

const struct wl_rows_op wl_rows_dense = { &wl_rows_uses_dense, dense_run, dense_backward_run, dense_scratch };
