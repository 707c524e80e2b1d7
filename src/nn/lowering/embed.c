#include "nn/lowering/rows.h"

static const struct wl_embed_kernels *kernels(const struct wl_step *s) { return wl_rows_own(s)->kernels; }

static int embed_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_node *n = s->node;
    const struct wl_dims *w = &n->par[0]->dims;
    const int32_t *index = wl_rows_at(s, r, WL_ROWS_IN);
    const int64_t rows = wl_rows_count(s, r, n->rows);
    kernels(s)->forward(rows, w->d[1], index, wl_rows_at(s, r, WL_ROWS_PARAM), wl_rows_at(s, r, WL_ROWS_OUT));
    return 0;
}

static int embed_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_dims *w = &s->node->par[0]->dims;
    const int64_t rows = wl_rows_count(s, r, s->node->rows);
    kernels(s)->backward(rows, w->d[0], w->d[1], wl_rows_at(s, r, WL_ROWS_IN), wl_rows_at(s, r, WL_ROWS_DOUT),
                         wl_rows_at(s, r, WL_ROWS_DPARAM));
    return 0;
}

const struct wl_rows_op wl_rows_embed = { &wl_rows_uses_parameters, embed_run, embed_backward_run };
