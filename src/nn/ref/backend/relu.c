#include "nn/ref/backend/backend.h"

static int relu_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_relu(wl_step_input_count(s), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1));
    return 0;
}

static int relu_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_relu_backward(wl_step_input_count(s), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                         wl_step_use_f32(s, r, 2));
    return 0;
}

static int relu(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, relu_run, WL_BUFS(wl_ref_input(p, n, 0)),
                      WL_BUFS(wl_ref_output(p, n)));
    return 0;
}

/* The gradient, that of the relu if there is one, goes to each term as it is. */
int wl_ref_relu_backward_rule(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *d = wl_ref_out_gradient(p, n);
    if (n->relu) {
        struct wl_buf *dy = d;
        d = wl_buf_like(p, dy);
        wl_step_emit_uses(p, n, "backward", WL_TRAIN, relu_backward_run, WL_BUFS(p->value[n->out->id], dy), WL_BUFS(d));
    }
    int rc = 0;
    for (int i = 0; i < 2 && n->in[i] && !rc; i++)
        if (n->in[i]->gradient) rc = wl_gradient_add(p, n, n->in[i], d, e);
    wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_ref_op_relu = { relu, wl_ref_relu_backward_rule };
