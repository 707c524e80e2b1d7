#include "nn/lowering/rows.h"

static const struct wl_filter_kernels *kernels(const struct wl_step *s) { return wl_rows_own(s)->kernels; }

struct wl_filter_args wl_rows_filter_args(const struct wl_step *s, const struct wl_run *r)
{
    const struct wl_node *n = s->node;
    return (struct wl_filter_args) { .molecules = n->in[1]->dims.d[0] - 1,
                                     .f = n->out->dims.d[1],
                                     .gaussians = n->u.filter.gaussians,
                                     .cutoff = n->u.filter.cutoff,
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
    return k->scratch ? k->scratch(n->out->dims.d[1], n->u.filter.gaussians, backward) : 0;
}

static bool filter_keeps(const struct wl_node *n, struct wl_dims *dims)
{
    *dims = WL_DIMS(n->in[4]->dims.d[0], n->out->dims.d[1]);
    return true;
}

const struct wl_rows_uses wl_rows_uses_filter_conv = { .gradients = 1, .saved_dims = filter_keeps };

const struct wl_rows_op wl_rows_filter_conv = { &wl_rows_uses_filter_conv, filter_run, filter_backward_run,
                                                filter_scratch };
