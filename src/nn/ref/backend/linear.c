#include "nn/ref/backend/backend.h"

static struct wl_matrix matrix(const struct wl_node *n)
{
    const int64_t *w = n->par[0]->dims.d;
    return (struct wl_matrix) { .n = n->out->dims.d[0], .f = w[1], .k = w[0] };
}

static int linear_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_linear(matrix(s->node), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 2),
                  wl_step_use_f32(s, r, 3));
    return 0;
}

static int linear_data_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_linear_backward_data(matrix(s->node), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                                wl_step_use_f32(s, r, 2));
    return 0;
}

static int linear_weights_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_linear_backward_weights(matrix(s->node), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                                   wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 3));
    return 0;
}

static int linear(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *w, *b = wl_lower_plain_param(p, n->par[1]);
    int rc = wl_ref_weights(p, n, n->par[0], &w, e);
    p->saved[n->out->id].buf[1] = w;
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, linear_run, WL_BUFS(wl_ref_input(p, n, 0), w, b),
                      WL_BUFS(wl_ref_output(p, n)));
    return rc;
}

static int linear_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy = wl_ref_out_gradient(p, n), *x = wl_ref_input(p, n, 0);
    wl_step_emit_uses(p, n, "backward weights", WL_TRAIN, linear_weights_run, WL_BUFS(x, dy),
                      WL_BUFS(p->gradient[n->par[0]->id], p->gradient[n->par[1]->id]));
    int rc = 0;
    if (n->in[0]->gradient) {
        struct wl_buf *dx = wl_buf_like(p, x);
        wl_step_emit_uses(p, n, "backward data", WL_TRAIN, linear_data_run, WL_BUFS(dy, wl_ref_saved(p, n, 1)),
                          WL_BUFS(dx));
        rc = wl_gradient_add(p, n, n->in[0], dx, e);
    }
    wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_ref_op_linear = { linear, linear_backward };
