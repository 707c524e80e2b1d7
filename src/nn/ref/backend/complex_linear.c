#include "nn/ref/backend/backend.h"

static int complex_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_complex_size v = wl_complex_size(s->node);
    wl_ref_complex_linear(&v, s->node->u.complex.shrink, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                          wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 3));
    return 0;
}

static int complex_data_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_complex_size v = wl_complex_size(s->node);
    wl_ref_complex_linear_backward_data(&v, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                                        wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 3));
    return 0;
}

static int complex_weights_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_complex_size v = wl_complex_size(s->node);
    wl_ref_complex_linear_backward_weights(&v, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                                           wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 3),
                                           wl_step_use_f32(s, r, 4));
    return 0;
}

static int complex_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x, *w = wl_lower_plain_param(p, n->par[0]), *b = wl_lower_plain_param(p, n->par[1]);
    int rc = wl_lower_plain_value(p, n, n->in[0], &x, e);
    if (rc) return rc;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    p->saved[n->out->id].buf[0] = x;
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, complex_run, WL_BUFS(x, w, b), WL_BUFS(y));
    return 0;
}

static int complex_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x = p->saved[n->out->id].buf[0], *y = p->value[n->out->id], *dy = p->gradient[n->out->id];
    wl_step_emit_uses(p, n, "backward weights", WL_TRAIN, complex_weights_run, WL_BUFS(x, y, dy),
                      WL_BUFS(p->gradient[n->par[0]->id], p->gradient[n->par[1]->id]));
    int rc = 0;
    if (n->in[0]->gradient) {
        struct wl_buf *dx = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->in[0]->dims);
        wl_step_emit_uses(p, n, "backward data", WL_TRAIN, complex_data_run, WL_BUFS(y, dy, p->value[n->par[0]->id]),
                          WL_BUFS(dx));
        rc = wl_gradient_add_plain(p, n, n->in[0], dx, e);
    }
    wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_ref_op_complex_linear = { complex_forward, complex_backward };
