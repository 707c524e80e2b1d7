#include "nn/lowering/rows.h"

static const struct wl_gate_kernels *kernels(const struct wl_step *s) { return wl_rows_own(s)->kernels; }

struct wl_gate_args wl_rows_gate_args(const struct wl_step *s, const struct wl_run *r)
{
    const struct wl_node *n = s->node;
    return (struct wl_gate_args) { .rows = n->out->dims.d[0],
                                   .f = n->par[0]->dims.d[0],
                                   .k = n->par[0]->dims.d[1],
                                   .x = wl_rows_at(s, r, WL_ROWS_IN),
                                   .basis = wl_rows_at(s, r, WL_ROWS_IN + 1),
                                   .w = wl_rows_at(s, r, WL_ROWS_PARAM),
                                   .y = wl_rows_at(s, r, WL_ROWS_OUT),
                                   .scratch = wl_rows_at(s, r, WL_ROWS_SCRATCH) };
}

static int gate_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_gate_args a = wl_rows_gate_args(s, r);
    a.rows = wl_rows_count(s, r, s->node->rows);
    kernels(s)->forward(&a);
    return 0;
}

struct wl_gate_grad wl_rows_gate_grad(const struct wl_step *s, const struct wl_run *r)
{
    return (struct wl_gate_grad) { .of = wl_rows_gate_args(s, r),
                                   .dy = wl_rows_at(s, r, WL_ROWS_DOUT),
                                   .dx = wl_rows_at(s, r, WL_ROWS_DIN),
                                   .d_basis = wl_rows_at(s, r, WL_ROWS_DIN + 1),
                                   .dw = wl_rows_at(s, r, WL_ROWS_DPARAM),
                                   .add = wl_rows_own(s)->add[1] };
}

static int gate_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_gate_grad g = wl_rows_gate_grad(s, r);
    g.of.rows = wl_rows_count(s, r, s->node->rows);
    kernels(s)->backward(&g);
    return 0;
}

static size_t gate_scratch(const void *kernels_of, const struct wl_node *n, bool backward)
{
    const struct wl_gate_kernels *k = kernels_of;
    const int64_t *w = n->par[0]->dims.d;
    return k->scratch ? k->scratch(w[0], w[1], backward) : 0;
}

const struct wl_rows_uses wl_rows_uses_gate = { .gradients = 2, .adds = 2 };

const struct wl_rows_op wl_rows_gate = { &wl_rows_uses_gate, gate_run, gate_backward_run, gate_scratch };
