/* Convolution, direct or by Winograd's algorithm as the plan says. The input keeps the layout it has where that is a
 * blocked one; a plain input (the images) is read as oneDNN likes best. Weights and their gradients are f32 and of one
 * layout: in f32 that in which the forward pass reads the weights, in bf16, where the kernels read a copy, that in
 * which the backward pass writes the gradients. A relu that alone reads the result is computed in the same pass. */
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

/* A pass of a convolution: its kernel, and the measurement that chose it. */
struct pass {
    struct wl_conv_kernel kernel;
    struct wl_layouts l;
    dnnl_primitive_desc_t pd;
    const struct wl_choice *choice; /* NULL: there was none */
};

/* Where oneDNN has no Winograd kernel for the shape and layouts, the direct one serves. */
static int pick_kernel(struct wl_program *p, const struct wl_node *n, struct pass *s, struct wl_err *e)
{
    struct wl_window v = wl_conv_window(n);
    const void *forward = p->kept[n->out->id].own; /* NULL in the forward pass */
    s->choice = wl_cpu_conv_choice(p, n, s->kernel.pass);
    s->kernel.algorithm = wl_cpu_conv_algorithm(p, s->choice);
    if (s->kernel.algorithm != WL_CONV_DIRECT &&
        !wl_pd_conv(wl_cpu_of(p), &s->pd, &s->kernel, &v, &s->l, forward, NULL))
        return 0;
    s->kernel.algorithm = WL_CONV_DIRECT;
    return wl_pd_conv(wl_cpu_of(p), &s->pd, &s->kernel, &v, &s->l, forward, e);
}

static int emit(struct wl_program *p, const struct wl_node *n, const char *what, unsigned when, const struct pass *s,
                const struct wl_cpu_arg *args, struct wl_err *e)
{
    int rc = wl_cpu_emit(p, n, what, when, s->pd, args, e);
    if (!rc) p->steps[p->n_steps - 1]->choice = s->choice;
    return rc;
}

/* The relu that may take the result's place. */
static const struct wl_node *relu_behind(const struct wl_program *p, const struct wl_node *n)
{
    const struct wl_node *reader = wl_may_overwrite(p, n->out) ? wl_only_reader(p->graph, n->out) : NULL;
    return reader && reader->op == WL_OP_RELU ? reader : NULL;
}

/* The layout of the parameter itself; NULL: that of the kernel. */
static int master_layout(struct wl_program *p, const struct wl_node *n, const struct pass *forward, wl_md *out,
                         struct wl_err *e)
{
    struct pass s = { .kernel.pass = WL_PASS_WEIGHTS, .l = forward->l };
    *out = NULL;
    if (p->precision != WL_BF16 || !p->train) return 0;
    s.l.src = wl_pd_md(forward->pd, DNNL_ARG_SRC);
    s.l.dst = wl_pd_md(forward->pd, DNNL_ARG_DST);
    int rc = wl_md_any(wl_cpu_of(p), &s.l.weights, WL_F32, &n->par[0]->dims, e);
    if (!rc) rc = pick_kernel(p, n, &s, e);
    if (!rc) *out = wl_pd_md(s.pd, DNNL_ARG_DIFF_WEIGHTS);
    return rc;
}

int wl_cpu_conv_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_node *relu = relu_behind(p, n);
    struct pass s = { .kernel = { .pass = WL_PASS_FORWARD, .relu = relu != NULL } };
    struct wl_buf *x = p->value[n->in[0]->id], *w, *b = NULL, *y;
    struct wl_kept *kept = &p->kept[n->out->id];
    wl_md master;
    s.l.src = x->layout;
    int rc = s.l.src ? 0 : any_layout(p, n->in[0], &s.l.src, e);
    if (!rc) rc = any_layout(p, n->par[0], &s.l.weights, e);
    if (!rc) rc = any_layout(p, n->out, &s.l.dst, e);
    if (!rc) rc = bias_layout(p, n, &s.l.bias, e);
    if (!rc) rc = pick_kernel(p, n, &s, e);
    if (!rc) rc = wl_cpu_in_layout(p, n, x, wl_pd_md(s.pd, DNNL_ARG_SRC), &x, e);
    if (rc) return rc;
    kept->own = s.pd;
    rc = master_layout(p, n, &s, &master, e);
    if (!rc) rc = wl_cpu_weights(p, n, master, wl_pd_md(s.pd, DNNL_ARG_WEIGHTS), &n->par[0]->dims, &w, e);
    if (rc) return rc;
    kept->buf[0] = x;
    kept->buf[1] = w;
    if (s.l.bias) b = wl_param_new(p, n->par[1], NULL, wl_md_bytes(s.l.bias));
    y = p->value[n->out->id] = wl_cpu_buf(p, wl_pd_md(s.pd, DNNL_ARG_DST), &n->out->dims);
    if (relu) p->value[relu->out->id] = y;
    return emit(p, n, relu ? "forward, relu" : "forward", WL_TRAIN | WL_EVAL, &s,
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
    struct pass s = { .kernel.pass = WL_PASS_WEIGHTS };
    struct wl_buf *x = p->kept[n->out->id].buf[0], *dy = p->gradient[n->out->id], *dw = p->gradient[n->par[0]->id];
    struct wl_buf *db = n->par[1] ? p->gradient[n->par[1]->id] : NULL, *to = dw;
    int rc = wl_cpu_layout(p, x, &s.l.src, e);
    if (!rc) rc = wl_cpu_layout(p, dy, &s.l.dst, e);
    if (!rc) rc = wl_md_any(wl_cpu_of(p), &s.l.weights, WL_F32, &n->par[0]->dims, e);
    if (!rc) rc = bias_layout(p, n, &s.l.bias, e);
    if (!rc) rc = pick_kernel(p, n, &s, e);
    if (rc) return rc;
    wl_md weights = wl_pd_md(s.pd, DNNL_ARG_DIFF_WEIGHTS);
    if (!wl_md_equal(weights, dw->layout)) to = wl_cpu_buf(p, weights, &n->par[0]->dims);
    rc = emit(p, n, "backward weights", WL_TRAIN, &s,
              (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, x, false },
                                      { DNNL_ARG_DIFF_DST, dy, false },
                                      { DNNL_ARG_DIFF_WEIGHTS, to, true },
                                      { DNNL_ARG_DIFF_BIAS, db, true },
                                      { 0 } },
              e);
    return rc || to == dw ? rc : wl_cpu_reorder(p, n, to, dw, e);
}

static int backward_data(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_kept *kept = &p->kept[n->out->id];
    struct pass s = { .kernel.pass = WL_PASS_DATA };
    struct wl_buf *dy = p->gradient[n->out->id], *w, *dx;
    int rc = wl_cpu_layout(p, kept->buf[0], &s.l.src, e);
    if (!rc) rc = wl_cpu_layout(p, dy, &s.l.dst, e);
    if (!rc) rc = any_layout(p, n->par[0], &s.l.weights, e);
    if (!rc) rc = pick_kernel(p, n, &s, e);
    if (!rc) rc = wl_cpu_in_layout(p, n, kept->buf[1], wl_pd_md(s.pd, DNNL_ARG_WEIGHTS), &w, e);
    if (rc) return rc;
    dx = wl_cpu_buf(p, wl_pd_md(s.pd, DNNL_ARG_DIFF_SRC), &n->in[0]->dims);
    rc = emit(p, n, "backward data", WL_TRAIN, &s,
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
