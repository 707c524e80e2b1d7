#include "nn/ref/backend/backend.h"

static struct wl_ref_batch_norm settings_of(const struct wl_node *n)
{
    return (struct wl_ref_batch_norm) { wl_channels_of(n->in[0]), n->u.norm.eps, n->relu };
}

static int norm_eval_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_ref_batch_norm b = settings_of(s->node);
    b.x = wl_step_use_f32(s, r, 0);
    b.gamma = wl_step_use_f32(s, r, 1);
    b.beta = wl_step_use_f32(s, r, 2);
    b.mean = wl_step_use_f32(s, r, 3);
    b.var = wl_step_use_f32(s, r, 4);
    b.y = wl_step_use_f32(s, r, 5);
    wl_ref_batch_norm(&b);
    return 0;
}

static int norm_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    wl_ref_mean_var(wl_channels_of(s->node->in[0]), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 3),
                    wl_step_use_f32(s, r, 4));
    return norm_eval_run(s, r, e);
}

static int norm_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_ref_batch_norm_grad g = { .of = settings_of(s->node) };
    g.of.x = wl_step_use_f32(s, r, 0);
    g.of.y = wl_step_use_f32(s, r, 1);
    g.dy = wl_step_use_f32(s, r, 2);
    g.of.mean = wl_step_use_f32(s, r, 3);
    g.of.var = wl_step_use_f32(s, r, 4);
    g.of.gamma = wl_step_use_f32(s, r, 5);
    g.dx = wl_step_use_f32(s, r, 6);
    g.dgamma = wl_step_use_f32(s, r, 7);
    g.dbeta = wl_step_use_f32(s, r, 8);
    wl_ref_batch_norm_backward(&g);
    return 0;
}

/* The forward step writes the batch's mean and variance, which the backward step finds among its uses. */
static int batch_norm(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *x = wl_ref_input(p, n, 0), *gamma = wl_lower_plain_param(p, n->par[0]),
                  *beta = wl_lower_plain_param(p, n->par[1]), *y = wl_ref_output(p, n);
    wl_lower_statistics(p, n);
    if (p->train) {
        struct wl_buf *mean = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->stat[0]->dims);
        struct wl_buf *var = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->stat[1]->dims);
        wl_step_emit_uses(p, n, "forward", WL_TRAIN, norm_run, WL_BUFS(x, gamma, beta), WL_BUFS(mean, var, y));
        p->saved[n->out->id].buf[0] = mean;
        p->saved[n->out->id].buf[1] = var;
        wl_lower_statistic_sums(p, n, mean, var);
    }
    wl_step_emit_uses(p, n, "forward", WL_EVAL, norm_eval_run,
                      WL_BUFS(x, gamma, beta, p->value[n->stat[0]->id], p->value[n->stat[1]->id]), WL_BUFS(y));
    return 0;
}

static int batch_norm_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x = wl_ref_input(p, n, 0), *dx = wl_buf_like(p, x);
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, norm_backward_run,
                      WL_BUFS(x, p->value[n->out->id], wl_ref_out_gradient(p, n), wl_ref_saved(p, n, 0),
                              wl_ref_saved(p, n, 1), p->value[n->par[0]->id]),
                      WL_BUFS(dx, p->gradient[n->par[0]->id], p->gradient[n->par[1]->id]));
    int rc = n->in[0]->gradient ? wl_gradient_add(p, n, n->in[0], dx, e) : 0;
    wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_ref_op_batch_norm = { batch_norm, batch_norm_backward };
