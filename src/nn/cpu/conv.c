/* Convolution, direct algorithm. The input keeps the layout it has where that is a blocked one; a plain input (the
 * images) is read as oneDNN likes best. Weights live in the forward pass's layout, and so do their gradients, both f32;
 * in bf16 the kernels read a copy of the weights and still write f32 gradients. */
#include "nn/cpu/cpu.h"

static int any_layout(struct wl_program *p, const struct wl_tensor *t, wl_md *out, struct wl_err *e)
{
    return wl_md_any(wl_cpu_of(p), out, p->precision, &t->dims, e);
}

static int bias_layout(struct wl_program *p, const struct wl_node *n, wl_md *out, struct wl_err *e)
{
    *out = NULL;
    return n->par[1] ? wl_md_plain(wl_cpu_of(p), out, WL_F32, &n->par[1]->dims, e) : 0;
}

int wl_cpu_conv_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_window v = wl_conv_window(n);
    struct wl_buf *x = p->value[n->in[0]->id], *w, *b = NULL, *y;
    wl_md src = x->layout, weights, bias, dst;
    dnnl_primitive_desc_t pd;
    int rc = src ? 0 : any_layout(p, n->in[0], &src, e);
    if (!rc) rc = any_layout(p, n->par[0], &weights, e);
    if (!rc) rc = any_layout(p, n->out, &dst, e);
    if (!rc) rc = bias_layout(p, n, &bias, e);
    if (!rc) rc = wl_pd_conv(wl_cpu_of(p), &pd, WL_PASS_FORWARD, &v, src, weights, bias, dst, NULL, e);
    if (!rc) rc = wl_cpu_in_layout(p, n, x, wl_pd_md(pd, DNNL_ARG_SRC), &x, e);
    if (rc) return rc;
    weights = wl_pd_md(pd, DNNL_ARG_WEIGHTS);
    rc = wl_cpu_weights(p, n, weights, &n->par[0]->dims, &w, e);
    if (rc) return rc;
    if (bias) b = wl_param_new(p, n->par[1], NULL, wl_md_bytes(bias));
    y = p->value[n->out->id] = wl_cpu_buf(p, wl_pd_md(pd, DNNL_ARG_DST), &n->out->dims);
    p->kept[n->out->id] = (struct wl_kept) { .buf = { x, w }, .own = pd };
    return wl_cpu_emit(p, n, "forward", WL_TRAIN | WL_EVAL, pd,
                       (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, x, false },
                                               { DNNL_ARG_WEIGHTS, w, false },
                                               { DNNL_ARG_BIAS, b, false },
                                               { DNNL_ARG_DST, y, true },
                                               { 0 } },
                       e);
}

/* dw straight into the gradient where oneDNN writes the weights' layout, else through a copy. */
static int backward_weights(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_kept *kept = &p->kept[n->out->id];
    struct wl_window v = wl_conv_window(n);
    struct wl_buf *x = kept->buf[0], *dy = p->gradient[n->out->id], *dw = p->gradient[n->par[0]->id], *to = dw;
    wl_md src, weights, bias, dst;
    dnnl_primitive_desc_t pd;
    int rc = wl_cpu_layout(p, x, &src, e);
    if (!rc) rc = wl_cpu_layout(p, dy, &dst, e);
    if (!rc) rc = wl_md_any(wl_cpu_of(p), &weights, WL_F32, &n->par[0]->dims, e);
    if (!rc) rc = bias_layout(p, n, &bias, e);
    if (!rc) rc = wl_pd_conv(wl_cpu_of(p), &pd, WL_PASS_WEIGHTS, &v, src, weights, bias, dst, kept->own, e);
    if (rc) return rc;
    weights = wl_pd_md(pd, DNNL_ARG_DIFF_WEIGHTS);
    if (!wl_md_equal(weights, dw->layout)) to = wl_cpu_buf(p, weights, &n->par[0]->dims);
    rc =
        wl_cpu_emit(p, n, "backward weights", WL_TRAIN, pd,
                    (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, x, false },
                                            { DNNL_ARG_DIFF_DST, dy, false },
                                            { DNNL_ARG_DIFF_WEIGHTS, to, true },
                                            { DNNL_ARG_DIFF_BIAS, n->par[1] ? p->gradient[n->par[1]->id] : NULL, true },
                                            { 0 } },
                    e);
    return rc || to == dw ? rc : wl_cpu_reorder(p, n, to, dw, e);
}

static int backward_data(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_kept *kept = &p->kept[n->out->id];
    struct wl_window v = wl_conv_window(n);
    struct wl_buf *dy = p->gradient[n->out->id], *w, *dx;
    wl_md src, weights, dst;
    dnnl_primitive_desc_t pd;
    int rc = wl_cpu_layout(p, kept->buf[0], &src, e);
    if (!rc) rc = wl_cpu_layout(p, dy, &dst, e);
    if (!rc) rc = any_layout(p, n->par[0], &weights, e);
    if (!rc) rc = wl_pd_conv(wl_cpu_of(p), &pd, WL_PASS_DATA, &v, src, weights, NULL, dst, kept->own, e);
    if (!rc) rc = wl_cpu_in_layout(p, n, kept->buf[1], wl_pd_md(pd, DNNL_ARG_WEIGHTS), &w, e);
    if (rc) return rc;
    dx = wl_cpu_buf(p, wl_pd_md(pd, DNNL_ARG_DIFF_SRC), &n->in[0]->dims);
    rc = wl_cpu_emit(p, n, "backward data", WL_TRAIN, pd,
                     (struct wl_cpu_arg[]) { { DNNL_ARG_DIFF_DST, dy, false },
                                             { DNNL_ARG_WEIGHTS, w, false },
                                             { DNNL_ARG_DIFF_SRC, dx, true },
                                             { 0 } },
                     e);
    return rc ? rc : wl_cpu_gradient_add(p, n, n->in[0], dx, e);
}

int wl_cpu_conv_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    int rc = backward_weights(p, n, e);
    if (!rc && n->in[0]->gradient) rc = backward_data(p, n, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}
