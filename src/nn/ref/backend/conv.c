#include "nn/ref/backend/backend.h"

static int conv_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_window v = wl_conv_window(s->node);
    bool bias = s->node->par[1];
    wl_ref_conv(&v, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1), bias ? wl_step_use_f32(s, r, 2) : NULL,
                wl_step_use_f32(s, r, bias ? 3 : 2));
    return 0;
}

static int conv_data_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_window v = wl_conv_window(s->node);
    wl_ref_conv_backward_data(&v, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 2));
    return 0;
}

static int conv_weights_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_window v = wl_conv_window(s->node);
    wl_ref_conv_backward_weights(&v, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 2));
    if (s->node->par[1])
        wl_ref_channel_sum(wl_channels_of(s->node->out), wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 3));
    return 0;
}

static int conv(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *w, *b = n->par[1] ? wl_lower_plain_param(p, n->par[1]) : NULL, *x = wl_ref_input(p, n, 0);
    int rc = wl_ref_weights(p, n, n->par[0], &w, e);
    p->saved[n->out->id].buf[1] = w;
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, conv_run, b ? WL_BUFS(x, w, b) : WL_BUFS(x, w),
                      WL_BUFS(wl_ref_output(p, n)));
    return rc;
}

static int conv_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy = wl_ref_out_gradient(p, n), *x = wl_ref_input(p, n, 0), *dw = p->gradient[n->par[0]->id];
    struct wl_buf *db = n->par[1] ? p->gradient[n->par[1]->id] : NULL;
    wl_step_emit_uses(p, n, "backward weights", WL_TRAIN, conv_weights_run, WL_BUFS(x, dy), WL_BUFS(dw, db));
    int rc = 0;
    if (n->in[0]->gradient) {
        struct wl_buf *dx = wl_buf_like(p, x);
        wl_step_emit_uses(p, n, "backward data", WL_TRAIN, conv_data_run, WL_BUFS(dy, wl_ref_saved(p, n, 1)),
                          WL_BUFS(dx));
        rc = wl_gradient_add(p, n, n->in[0], dx, e);
    }
    wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_ref_op_conv2d = { conv, conv_backward };
