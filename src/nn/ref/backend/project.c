/* project and decoder: rows times a matrix, which is the operation's own or another's. */
#include "nn/ref/backend/backend.h"

static struct wl_matrix matrix(const struct wl_node *n)
{
    const struct wl_project_shape v = wl_project_shape(n);
    return (struct wl_matrix) { .n = v.m, .f = v.f, .k = v.k };
}

static int product_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const bool bias = wl_project_bias(s->node);
    wl_ref_linear(matrix(s->node), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                  bias ? wl_step_use_f32(s, r, 2) : NULL, wl_step_use_f32(s, r, bias ? 3 : 2));
    return 0;
}

static int data_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_linear_backward_data(matrix(s->node), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                                wl_step_use_f32(s, r, 2));
    return 0;
}

static int weights_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_linear_backward_weights(matrix(s->node), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                                   wl_step_use_f32(s, r, 2),
                                   wl_project_bias(s->node) ? wl_step_use_f32(s, r, 3) : NULL);
    return 0;
}

static int gelu_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_gelu(wl_dims_count(&s->node->out->dims), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1));
    return 0;
}

static int gelu_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_gelu_backward(wl_dims_count(&s->node->out->dims), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                         wl_step_use_f32(s, r, 2));
    return 0;
}

static int project(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x = p->value[n->in[0]->id], *w, *y = wl_buf_value(p, &n->out->dims), *u = y;
    int rc = wl_ref_weights(p, n, wl_project_weight(n), &w, e);
    if (rc) return rc;
    struct wl_buf *b = wl_project_bias(n) ? wl_lower_plain_param(p, wl_project_bias(n)) : NULL;
    if (wl_project_gelu(n)) u = wl_buf_value(p, &n->out->dims);
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, product_run, WL_BUFS(x, w, b), WL_BUFS(u));
    if (wl_project_gelu(n)) wl_step_emit_uses(p, n, "gelu", WL_TRAIN | WL_EVAL, gelu_run, WL_BUFS(u), WL_BUFS(y));
    p->value[n->out->id] = y;
    p->saved[n->out->id] = (struct wl_saved) { .buf = { x, w, u } };
    return 0;
}

static int project_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_saved *saved = &p->saved[n->out->id];
    struct wl_buf *dy = p->gradient[n->out->id], *du = dy;
    if (wl_project_gelu(n)) {
        du = wl_buf_like(p, dy);
        wl_step_emit_uses(p, n, "gelu, backward", WL_TRAIN, gelu_backward_run, WL_BUFS(saved->buf[2], dy), WL_BUFS(du));
    }
    wl_step_emit_uses(p, n, "backward weights", WL_TRAIN, weights_run, WL_BUFS(saved->buf[0], du),
                      WL_BUFS(p->gradient[wl_project_weight(n)->id],
                              wl_project_bias(n) ? p->gradient[wl_project_bias(n)->id] : NULL));
    int rc = 0;
    if (n->in[0]->gradient) {
        struct wl_buf *dx = wl_buf_like(p, saved->buf[0]);
        wl_step_emit_uses(p, n, "backward data", WL_TRAIN, data_run, WL_BUFS(du, saved->buf[1]), WL_BUFS(dx));
        rc = wl_gradient_add(p, n, n->in[0], dx, e);
    }
    wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_ref_op_project = { project, project_backward };
const struct wl_op_rules wl_ref_op_decoder = { project, project_backward };
