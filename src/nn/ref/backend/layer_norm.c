#include "nn/ref/backend/backend.h"

#include <string.h>

/* z = x + dropout(branch) is kept. */

static int layer_norm_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const int64_t n = wl_step_input_count(s);
    const float *x = wl_step_use_f32(s, r, 0);
    float *z = wl_step_use_f32(s, r, s->n_uses - 2), *y = wl_step_use_f32(s, r, s->n_uses - 1);
    if (s->node->in[1]) {
        const struct wl_dropout d = wl_dropout_in_run(s->context, r);
        wl_ref_dropout(&d, wl_step_use_f32(s, r, 3), z);
        wl_ref_add(n, x, z, z);
    } else {
        memcpy(z, x, (size_t)n * sizeof *z);
    }
    wl_ref_layer_norm(wl_vectors_of(s->node->out), s->node->u.layer_norm.eps, z, wl_step_use_f32(s, r, 1),
                      wl_step_use_f32(s, r, 2), y);
    return 0;
}

static struct wl_dropout *norm_dropout(struct wl_program *p, const struct wl_node *n)
{
    const struct wl_dims *x = &n->in[0]->dims;
    struct wl_dropout *d = wl_new(p->arena, struct wl_dropout);
    *d = wl_dropout_of(p, n, n->u.layer_norm.drop, x->d[0], wl_dims_count(x) / x->d[0]);
    return d;
}

static int layer_norm(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *x = p->value[n->in[0]->id], *branch = n->in[1] ? p->value[n->in[1]->id] : NULL;
    struct wl_buf *gamma = wl_lower_plain_param(p, n->par[0]), *beta = wl_lower_plain_param(p, n->par[1]);
    struct wl_buf *z = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims), *y = wl_buf_value(p, &n->out->dims);
    p->value[n->out->id] = y;
    p->saved[n->out->id].buf[0] = z;
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, layer_norm_run, WL_BUFS(x, gamma, beta, branch),
                      WL_BUFS(z, y))
        ->context = norm_dropout(p, n);
    return 0;
}

static int layer_norm_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_layer_norm_backward(&(struct wl_ref_layer_norm_grad) { .rows = wl_vectors_of(s->node->out),
                                                                  .eps = s->node->u.layer_norm.eps,
                                                                  .z = wl_step_use_f32(s, r, 0),
                                                                  .dy = wl_step_use_f32(s, r, 1),
                                                                  .gamma = wl_step_use_f32(s, r, 2),
                                                                  .dz = wl_step_use_f32(s, r, 3),
                                                                  .dgamma = wl_step_use_f32(s, r, 4),
                                                                  .dbeta = wl_step_use_f32(s, r, 5) });
    const struct wl_dropout d = wl_dropout_in_run(s->context, r);
    if (s->node->in[1]) wl_ref_dropout(&d, wl_step_use_f32(s, r, 3), wl_step_use_f32(s, r, 6));
    return 0;
}

static int layer_norm_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy = p->gradient[n->out->id], *dz = wl_buf_like(p, dy),
                  *branch = n->in[1] ? wl_buf_like(p, dy) : NULL;
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, layer_norm_backward_run,
                      WL_BUFS(p->saved[n->out->id].buf[0], dy, p->value[n->par[0]->id]),
                      WL_BUFS(dz, p->gradient[n->par[0]->id], p->gradient[n->par[1]->id], branch))
        ->context = norm_dropout(p, n);
    int rc = n->in[0]->gradient ? wl_gradient_add(p, n, n->in[0], dz, e) : 0;
    if (!rc && branch && n->in[1]->gradient) rc = wl_gradient_add(p, n, n->in[1], branch, e);
    wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_ref_op_layer_norm = { layer_norm, layer_norm_backward };
