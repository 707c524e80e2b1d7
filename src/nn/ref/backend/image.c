/* How a program runs the operations of image networks: convolution, batch norm, relu, add, pools, linear. */
#include "nn/lowering/step.h"

static struct wl_buf *output(struct wl_program *p, const struct wl_node *n)
{
    return p->value[n->out->id] = wl_buf_result(p, n);
}

static struct wl_buf *input(const struct wl_program *p, const struct wl_node *n, int i)
{
    return p->value[n->in[i]->id];
}

static struct wl_buf *out_gradient(const struct wl_program *p, const struct wl_node *n)
{
    return p->gradient[n->out->id];
}

static struct wl_buf *kept(const struct wl_program *p, const struct wl_node *n, int i)
{
    return p->kept[n->out->id].buf[i];
}

/* The weights of a convolution or matrix product, kept for the backward rule. */
static int weights(struct wl_program *p, const struct wl_node *n, struct wl_buf **out, struct wl_err *e)
{
    int rc = wl_ref_weights(p, n, n->par[0], out, e);
    p->kept[n->out->id].buf[1] = *out;
    return rc;
}

/* ---- conv2d ---- */

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

int wl_ref_lower_conv(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *w, *b = n->par[1] ? wl_ref_param(p, n->par[1]) : NULL, *x = input(p, n, 0);
    int rc = weights(p, n, &w, e);
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, conv_run, b ? WL_BUFS(x, w, b) : WL_BUFS(x, w),
                      WL_BUFS(output(p, n)));
    return rc;
}

int wl_ref_lower_conv_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy = out_gradient(p, n), *x = input(p, n, 0), *dw = p->gradient[n->par[0]->id];
    struct wl_buf *db = n->par[1] ? p->gradient[n->par[1]->id] : NULL;
    wl_step_emit_uses(p, n, "backward weights", WL_TRAIN, conv_weights_run, WL_BUFS(x, dy), WL_BUFS(dw, db));
    int rc = 0;
    if (n->in[0]->gradient) {
        struct wl_buf *dx = wl_buf_like(p, x);
        wl_step_emit_uses(p, n, "backward data", WL_TRAIN, conv_data_run, WL_BUFS(dy, kept(p, n, 1)), WL_BUFS(dx));
        rc = wl_gradient_add(p, n, n->in[0], dx, e);
    }
    wl_gradient_done(p, n->out);
    return rc;
}

/* ---- batch_norm ---- */

static int norm_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_channels ch = wl_channels_of(s->node->in[0]);
    wl_ref_mean_var(ch, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 3), wl_step_use_f32(s, r, 4));
    wl_ref_batch_norm(ch, s->node->u.norm.eps, s->node->relu, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 3),
                      wl_step_use_f32(s, r, 4), wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 2),
                      wl_step_use_f32(s, r, 5));
    return 0;
}

static int norm_eval_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_batch_norm(wl_channels_of(s->node->in[0]), s->node->u.norm.eps, s->node->relu, wl_step_use_f32(s, r, 0),
                      wl_step_use_f32(s, r, 3), wl_step_use_f32(s, r, 4), wl_step_use_f32(s, r, 1),
                      wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 5));
    return 0;
}

static int norm_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_batch_norm_backward(wl_channels_of(s->node->in[0]), s->node->u.norm.eps, s->node->relu,
                               wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 2),
                               wl_step_use_f32(s, r, 3), wl_step_use_f32(s, r, 4), wl_step_use_f32(s, r, 5),
                               wl_step_use_f32(s, r, 6), wl_step_use_f32(s, r, 7), wl_step_use_f32(s, r, 8));
    return 0;
}

/* The forward step writes the batch's mean and variance, which the backward step finds among its uses. */
int wl_ref_lower_batch_norm(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *x = input(p, n, 0), *gamma = wl_ref_param(p, n->par[0]), *beta = wl_ref_param(p, n->par[1]),
                  *y = output(p, n);
    wl_lower_statistics(p, n);
    if (p->train) {
        struct wl_buf *mean = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->stat[0]->dims);
        struct wl_buf *var = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->stat[1]->dims);
        wl_step_emit_uses(p, n, "forward", WL_TRAIN, norm_run, WL_BUFS(x, gamma, beta), WL_BUFS(mean, var, y));
        p->kept[n->out->id].buf[0] = mean;
        p->kept[n->out->id].buf[1] = var;
        wl_lower_statistic_sums(p, n, mean, var);
    }
    wl_step_emit_uses(p, n, "forward", WL_EVAL, norm_eval_run,
                      WL_BUFS(x, gamma, beta, p->value[n->stat[0]->id], p->value[n->stat[1]->id]), WL_BUFS(y));
    return 0;
}

int wl_ref_lower_batch_norm_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x = input(p, n, 0), *dx = wl_buf_like(p, x);
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, norm_backward_run,
                      WL_BUFS(x, p->value[n->out->id], out_gradient(p, n), kept(p, n, 0), kept(p, n, 1),
                              p->value[n->par[0]->id]),
                      WL_BUFS(dx, p->gradient[n->par[0]->id], p->gradient[n->par[1]->id]));
    int rc = n->in[0]->gradient ? wl_gradient_add(p, n, n->in[0], dx, e) : 0;
    wl_gradient_done(p, n->out);
    return rc;
}

/* ---- relu, add ---- */

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

static int add_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_add(wl_step_input_count(s), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 2));
    if (s->node->relu) wl_ref_relu(wl_step_input_count(s), wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 2));
    return 0;
}

int wl_ref_lower_relu(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, relu_run, WL_BUFS(input(p, n, 0)), WL_BUFS(output(p, n)));
    return 0;
}

int wl_ref_lower_add(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, add_run, WL_BUFS(input(p, n, 0), input(p, n, 1)),
                      WL_BUFS(output(p, n)));
    return 0;
}

/* The gradient behind the relu, where there is one, goes to each term as it is. */
int wl_ref_lower_eltwise_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *d = out_gradient(p, n);
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

/* ---- pools ---- */

static int max_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_window v = wl_pool_window(s->node);
    wl_ref_max_pool(&v, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1));
    return 0;
}

static int max_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_window v = wl_pool_window(s->node);
    wl_ref_max_pool_backward(&v, wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 2));
    return 0;
}

static int avg_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_window v = wl_pool_window(s->node);
    wl_ref_avg_pool(&v, s->node->u.pool.exclude_pad, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1));
    return 0;
}

static int avg_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_window v = wl_pool_window(s->node);
    wl_ref_avg_pool_backward(&v, s->node->u.pool.exclude_pad, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1));
    return 0;
}

int wl_ref_lower_pool(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, n->op == WL_OP_MAX_POOL ? max_run : avg_run,
                      WL_BUFS(input(p, n, 0)), WL_BUFS(output(p, n)));
    return 0;
}

int wl_ref_lower_pool_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy = out_gradient(p, n), *x = input(p, n, 0), *dx = wl_buf_like(p, x);
    if (n->op == WL_OP_MAX_POOL)
        wl_step_emit_uses(p, n, "backward", WL_TRAIN, max_backward_run, WL_BUFS(dy, x), WL_BUFS(dx));
    else
        wl_step_emit_uses(p, n, "backward", WL_TRAIN, avg_backward_run, WL_BUFS(dy), WL_BUFS(dx));
    int rc = wl_gradient_add(p, n, n->in[0], dx, e);
    wl_gradient_done(p, n->out);
    return rc;
}

/* ---- linear ---- */

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

int wl_ref_lower_linear(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *w, *b = wl_ref_param(p, n->par[1]);
    int rc = weights(p, n, &w, e);
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, linear_run, WL_BUFS(input(p, n, 0), w, b),
                      WL_BUFS(output(p, n)));
    return rc;
}

int wl_ref_lower_linear_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy = out_gradient(p, n), *x = input(p, n, 0);
    wl_step_emit_uses(p, n, "backward weights", WL_TRAIN, linear_weights_run, WL_BUFS(x, dy),
                      WL_BUFS(p->gradient[n->par[0]->id], p->gradient[n->par[1]->id]));
    int rc = 0;
    if (n->in[0]->gradient) {
        struct wl_buf *dx = wl_buf_like(p, x);
        wl_step_emit_uses(p, n, "backward data", WL_TRAIN, linear_data_run, WL_BUFS(dy, kept(p, n, 1)), WL_BUFS(dx));
        rc = wl_gradient_add(p, n, n->in[0], dx, e);
    }
    wl_gradient_done(p, n->out);
    return rc;
}
