/* y = x w' + b. An input with spatial dimensions is not flattened: oneDNN takes weights of the same dimensions, whose
 * plain order is that of [K,F]. Weights and their gradients are f32 and of one layout: in f32 that in which the forward
 * pass reads the weights, in bf16, where the kernels read a copy, that in which the backward pass writes the gradients.
 */
#include "nn/cpu/cpu.h"

static struct wl_dims weight_dims(const struct wl_node *n)
{
    struct wl_dims d = n->in[0]->dims;
    d.d[0] = n->par[0]->dims.d[0];
    return d;
}

/* Of values and parameters, and the same with the gradient of the weights in their place. */
struct layouts {
    struct wl_layouts values, gradient;
};

static int layouts(struct wl_program *p, const struct wl_node *n, struct layouts *l, struct wl_err *e)
{
    struct wl_dims w = weight_dims(n);
    struct wl_layouts *v = &l->values;
    int rc = wl_cpu_layout(p, p->value[n->in[0]->id], &v->src, e);
    if (!rc) rc = wl_md_any(wl_cpu_of(p), &v->weights, p->precision, &w, e);
    if (!rc) rc = wl_md_plain(wl_cpu_of(p), &v->bias, WL_F32, &n->par[1]->dims, e);
    if (!rc) rc = wl_md_plain(wl_cpu_of(p), &v->dst, p->precision, &n->out->dims, e);
    l->gradient = *v;
    return rc ? rc : wl_md_any(wl_cpu_of(p), &l->gradient.weights, WL_F32, &w, e);
}

/* The layout of the parameter itself; NULL: that of the kernel. */
static int master_layout(struct wl_program *p, const struct layouts *l, const_dnnl_primitive_desc_t forward, wl_md *out,
                         struct wl_err *e)
{
    dnnl_primitive_desc_t pd;
    *out = NULL;
    if (p->precision != WL_BF16 || !p->train) return 0;
    int rc = wl_pd_linear(wl_cpu_of(p), &pd, WL_PASS_WEIGHTS, &l->gradient, forward, e);
    if (!rc) *out = wl_pd_md(pd, DNNL_ARG_DIFF_WEIGHTS);
    return rc;
}

static int linear_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct layouts l;
    wl_md master;
    dnnl_primitive_desc_t pd;
    int rc = layouts(p, n, &l, e);
    if (!rc) rc = wl_pd_linear(wl_cpu_of(p), &pd, WL_PASS_FORWARD, &l.values, NULL, e);
    if (!rc) rc = master_layout(p, &l, pd, &master, e);
    if (rc) return rc;
    struct wl_buf *x = p->value[n->in[0]->id], *y = wl_buf_value(p, &n->out->dims), *w;
    struct wl_dims dims = weight_dims(n);
    rc = wl_cpu_weights(p, n, master, wl_pd_md(pd, DNNL_ARG_WEIGHTS), &dims, &w, e);
    if (rc) return rc;
    struct wl_buf *b = wl_buf_param(p, n->par[1], NULL, wl_md_bytes(l.values.bias));
    p->value[n->out->id] = y;
    p->saved[n->out->id] = (struct wl_saved) { .buf = { x, w }, .context = pd };
    return wl_cpu_emit(p, n, "forward", WL_TRAIN | WL_EVAL, pd,
                       (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, x, false },
                                               { DNNL_ARG_WEIGHTS, w, false },
                                               { DNNL_ARG_BIAS, b, false },
                                               { DNNL_ARG_DST, y, true },
                                               { 0 } },
                       e);
}

static int backward_weights(struct wl_program *p, const struct wl_node *n, const struct layouts *l, struct wl_err *e)
{
    dnnl_primitive_desc_t pd;
    int rc = wl_pd_linear(wl_cpu_of(p), &pd, WL_PASS_WEIGHTS, &l->gradient, p->saved[n->out->id].context, e);
    return rc ? rc : wl_cpu_backward_weights(p, n, pd, NULL, p->value[n->in[0]->id], p->gradient[n->out->id], e);
}

static int backward_data(struct wl_program *p, const struct wl_node *n, const struct layouts *l, struct wl_err *e)
{
    struct wl_buf *w, *dx;
    dnnl_primitive_desc_t pd;
    int rc = wl_pd_linear(wl_cpu_of(p), &pd, WL_PASS_DATA, &l->values, p->saved[n->out->id].context, e);
    if (!rc) rc = wl_cpu_in_layout(p, n, p->saved[n->out->id].buf[1], wl_pd_md(pd, DNNL_ARG_WEIGHTS), &w, e);
    if (rc) return rc;
    dx = wl_cpu_buf(p, wl_pd_md(pd, DNNL_ARG_DIFF_SRC), &n->in[0]->dims);
    rc = wl_cpu_emit(p, n, "backward data", WL_TRAIN, pd,
                     (struct wl_cpu_arg[]) { { DNNL_ARG_DIFF_DST, p->gradient[n->out->id], false },
                                             { DNNL_ARG_WEIGHTS, w, false },
                                             { DNNL_ARG_DIFF_SRC, dx, true },
                                             { 0 } },
                     e);
    return rc ? rc : wl_cpu_gradient_add(p, n, n->in[0], dx, e);
}

static int linear_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct layouts l;
    int rc = layouts(p, n, &l, e);
    if (!rc) rc = backward_weights(p, n, &l, e);
    if (!rc && n->in[0]->gradient) rc = backward_data(p, n, &l, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_cpu_op_linear = { linear_forward, linear_backward };
