/* Convolution, direct or by Winograd's algorithm as the plan says: oneDNN's or winograd_3x3.h for 3x3,
 * winograd_1d_conv.c for 1 x r and r x 1. The input keeps the layout it has where that is a blocked one; a plain input
 * (the images) is read in the layout that oneDNN prefers. Weights and their gradients are f32 and of one layout: in f32
 * that in which the forward pass reads the weights, in bf16, where direct kernels read a copy, that in which the
 * backward pass writes the gradients. A relu that alone reads the result is computed in the same pass.
 *
 * oneDNN's Winograd kernels compute in f32. Between bf16 values they read and write f32 copies that live as long as the
 * pass, and read the weights themselves. */
#include "nn/cpu/conv.h"

static int any_layout(struct wl_program *p, const struct wl_tensor *t, wl_md *out, struct wl_err *e)
{
    return wl_md_any(wl_cpu_of(p), out, p->precision, &t->dims, e);
}

static int bias_layout(struct wl_program *p, const struct wl_node *n, wl_md *out, struct wl_err *e)
{
    *out = NULL;
    return n->par[1] ? wl_md_plain(wl_cpu_of(p), out, WL_F32, &n->par[1]->dims, e) : 0;
}

/* A pass of a convolution: its kernel between values of these layouts, and the measurement that chose it. */
struct pass {
    struct wl_conv_kernel kernel;
    struct wl_layouts values;
    dnnl_primitive_desc_t pd;
    bool line;                           /* by winograd_1d_conv.c instead */
    const struct wl_conv_custom *custom; /* by this kernel instead; NULL: none */
    const struct wl_choice *choice;      /* NULL: there was none */
};

static int describe(struct wl_program *p, struct pass *s, const struct wl_window *v, const void *forward,
                    struct wl_err *e)
{
    return wl_cpu_conv_kernel(wl_cpu_of(p), &s->pd, &s->kernel, v, &s->values, forward, e);
}

/* The kernel of this folder, which computes between the values' layouts as direct convolution has chosen them. */
static void pick_custom(struct wl_program *p, const struct wl_window *v, struct pass *s,
                        const struct wl_layouts *values)
{
    s->custom = wl_cpu_conv_custom(p, s->choice, v, s->kernel.pass);
    if (s->custom && !wl_conv_custom_reads(wl_cpu_of(p), v, values)) s->custom = NULL;
}

/* Where oneDNN has no Winograd kernel for the shape and layouts, the direct one is used, or Winograd along lines. Its
 * descriptor names the layouts of values even where a kernel of this folder takes its place. */
static int pick_kernel(struct wl_program *p, const struct wl_node *n, struct pass *s, struct wl_err *e)
{
    struct wl_window v = wl_conv_window(n);
    const void *forward = p->saved[n->out->id].context; /* NULL in the forward pass */
    s->choice = wl_cpu_conv_choice(p, n, s->kernel.pass);
    s->kernel.algorithm = wl_cpu_conv_algorithm(p, s->choice);
    const enum wl_conv_algorithm algorithm = s->kernel.algorithm;
    s->kernel.algorithm = WL_CONV_DIRECT;
    int rc = describe(p, s, &v, forward, e);
    if (rc) return rc;
    const struct wl_layouts values = {
        .src = wl_pd_md(s->pd, s->kernel.pass == WL_PASS_DATA ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC),
        .dst = wl_pd_md(s->pd, s->kernel.pass == WL_PASS_FORWARD ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST)
    };
    pick_custom(p, &v, s, &values);
    if (s->custom || algorithm == WL_CONV_DIRECT) return 0;
    const dnnl_primitive_desc_t direct = s->pd;
    s->kernel.algorithm = algorithm;
    if (!describe(p, s, &v, forward, NULL)) return 0;
    s->kernel.algorithm = WL_CONV_DIRECT;
    s->pd = direct;
    if (s->kernel.relu) return 0;
    s->line = !n->par[1] && wl_cpu_winograd_1d_applies(wl_cpu_of(p), &v, &values, s->kernel.pass);
    return 0;
}

/* The layout in which a pass reads the weights, or writes their gradient. */
static int weights_layout(struct wl_program *p, const struct wl_node *n, const struct pass *s, wl_md *out,
                          struct wl_err *e)
{
    const struct wl_window v = wl_conv_window(n);
    if (s->custom) return wl_conv_custom_weights(wl_cpu_of(p), &v, out, e);
    if (s->line) return wl_cpu_winograd_1d_weights(wl_cpu_of(p), &v, s->kernel.pass, out, e);
    *out = wl_pd_md(s->pd, s->kernel.pass == WL_PASS_WEIGHTS ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS);
    return 0;
}

static int emit(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when, const struct pass *s,
                const struct wl_cpu_arg *args, struct wl_err *e)
{
    int rc = wl_cpu_emit(p, n, pass, when, s->pd, args, e);
    if (!rc) p->steps[p->n_steps - 1]->choice = s->choice;
    return rc;
}

/* Records the choice in the steps from `first` on. */
static void chosen(struct wl_program *p, size_t first, const struct wl_choice *choice)
{
    for (; first < p->n_steps; first++) p->steps[first]->choice = choice;
}

/* The relu that may take the result's place. */
static const struct wl_node *relu_behind(const struct wl_program *p, const struct wl_node *n)
{
    const struct wl_node *reader = wl_may_overwrite(p, n->out) ? wl_only_reader(p->graph, n->out) : NULL;
    return reader && reader->op == WL_OP_RELU ? reader : NULL;
}

/* The layout of the parameter itself; NULL: that of the forward kernel. */
static int master_layout(struct wl_program *p, const struct wl_node *n, const struct wl_layouts *values, wl_md *out,
                         struct wl_err *e)
{
    struct pass s = { .kernel.pass = wl_cpu_conv_master(p), .values = *values };
    *out = NULL;
    if (s.kernel.pass == WL_PASS_FORWARD) return 0;
    int rc = pick_kernel(p, n, &s, e);
    return rc ? rc : weights_layout(p, n, &s, out, e);
}

/* The layouts in which values are held, now that the forward kernel has chosen where it could. */
static int settle_values(struct wl_program *p, struct pass *s, struct wl_err *e)
{
    int rc = wl_md_as(wl_cpu_of(p), &s->values.src, wl_pd_md(s->pd, DNNL_ARG_SRC), p->precision, e);
    return rc ? rc : wl_md_as(wl_cpu_of(p), &s->values.dst, wl_pd_md(s->pd, DNNL_ARG_DST), p->precision, e);
}

static int line_forward(struct wl_program *p, const struct wl_node *n, const struct pass *s, struct wl_buf *x,
                        struct wl_buf *w, struct wl_buf *y, struct wl_err *e)
{
    const size_t first = p->n_steps;
    int rc = wl_cpu_winograd_1d_forward(p, n, x, w, y, e);
    if (!rc) chosen(p, first, s->choice);
    return rc;
}

static int conv_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_node *relu = relu_behind(p, n);
    struct pass s = { .kernel = { .pass = WL_PASS_FORWARD, .relu = relu != NULL } };
    struct wl_buf *x = p->value[n->in[0]->id], *read, *w, *b = NULL, *y, *to;
    struct wl_saved *saved = &p->saved[n->out->id];
    wl_md master, weights;
    s.values.src = x->layout;
    int rc = s.values.src ? 0 : any_layout(p, n->in[0], &s.values.src, e);
    if (!rc) rc = any_layout(p, n->out, &s.values.dst, e);
    if (!rc) rc = bias_layout(p, n, &s.values.bias, e);
    if (!rc) rc = pick_kernel(p, n, &s, e);
    if (!rc) rc = settle_values(p, &s, e);
    if (!rc) rc = wl_cpu_in_layout(p, n, x, s.values.src, &x, e);
    if (!rc) rc = wl_cpu_in_layout(p, n, x, wl_pd_md(s.pd, DNNL_ARG_SRC), &read, e);
    if (rc) return rc;
    saved->context = s.pd;
    rc = master_layout(p, n, &s.values, &master, e);
    if (!rc) rc = weights_layout(p, n, &s, &weights, e);
    if (!rc) rc = wl_cpu_weights(p, n, master, weights, &n->par[0]->dims, &w, e);
    if (rc) return rc;
    saved->buf[0] = x;
    saved->buf[1] = w;
    if (s.values.bias) b = wl_buf_param(p, n->par[1], NULL, wl_md_bytes(s.values.bias));
    y = p->value[n->out->id] = wl_cpu_buf(p, s.values.dst, &n->out->dims);
    if (relu) p->value[relu->out->id] = y;
    if (s.custom) {
        const struct wl_conv_bufs bufs = { .x = x, .w = w, .bias = b, .y = y, .relu = relu != NULL };
        wl_conv_custom_emit(p, n, s.custom, WL_PASS_FORWARD, s.choice, &bufs);
        return 0;
    }
    if (s.line) return line_forward(p, n, &s, x, w, y, e);
    to = wl_cpu_written(p, y, wl_pd_md(s.pd, DNNL_ARG_DST));
    rc = emit(p, n, relu ? "forward, relu" : "forward", WL_TRAIN | WL_EVAL, &s,
              (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, read, false },
                                      { DNNL_ARG_WEIGHTS, w, false },
                                      { DNNL_ARG_BIAS, b, false },
                                      { DNNL_ARG_DST, to, true },
                                      { 0 } },
              e);
    return rc ? rc : wl_cpu_copy_back(p, n, to, y, e);
}

/* What both backward passes read: the input in its layout, and the gradient of the result. */
static int backward_pass(struct wl_program *p, const struct wl_node *n, struct pass *s, struct wl_err *e)
{
    int rc = wl_cpu_layout(p, p->saved[n->out->id].buf[0], &s->values.src, e);
    if (!rc) rc = wl_cpu_layout(p, p->gradient[n->out->id], &s->values.dst, e);
    if (!rc && s->kernel.pass == WL_PASS_WEIGHTS) rc = bias_layout(p, n, &s->values.bias, e);
    return rc ? rc : pick_kernel(p, n, s, e);
}

/* The gradient of the result as the kernel reads it; a copy made for the pass before is reused. */
static int read_gradient(struct wl_program *p, const struct wl_node *n, const struct pass *s, struct wl_buf **dy,
                         struct wl_err *e)
{
    wl_md want = wl_pd_md(s->pd, DNNL_ARG_DIFF_DST), has;
    int rc = *dy ? wl_cpu_layout(p, *dy, &has, e) : 0;
    if (rc || (*dy && wl_md_equal(has, want))) return rc;
    return wl_cpu_in_layout(p, n, p->gradient[n->out->id], want, dy, e);
}

static int line_backward_weights(struct wl_program *p, const struct wl_node *n, const struct pass *s, struct wl_buf *x,
                                 struct wl_err *e)
{
    struct wl_buf *dw = p->gradient[n->par[0]->id], *to;
    wl_md weights;
    int rc = weights_layout(p, n, s, &weights, e);
    if (rc) return rc;
    const size_t first = p->n_steps;
    to = wl_cpu_written(p, dw, weights);
    rc = wl_cpu_winograd_1d_backward_weights(p, n, x, to, e);
    if (!rc) chosen(p, first, s->choice);
    return rc ? rc : wl_cpu_copy_back(p, n, to, dw, e);
}

static int custom_backward_weights(struct wl_program *p, const struct wl_node *n, const struct pass *s,
                                   struct wl_err *e)
{
    struct wl_buf *dw = p->gradient[n->par[0]->id];
    wl_md weights;
    int rc = weights_layout(p, n, s, &weights, e);
    if (rc) return rc;
    struct wl_buf *to = wl_cpu_written(p, dw, weights);
    const struct wl_conv_bufs bufs = { .x = p->saved[n->out->id].buf[0],
                                       .dy = p->gradient[n->out->id],
                                       .dw = to,
                                       .db = n->par[1] ? p->gradient[n->par[1]->id] : NULL };
    wl_conv_custom_emit(p, n, s->custom, WL_PASS_WEIGHTS, s->choice, &bufs);
    return wl_cpu_copy_back(p, n, to, dw, e);
}

static int backward_weights(struct wl_program *p, const struct wl_node *n, struct wl_buf **dy, struct wl_err *e)
{
    struct pass s = { .kernel.pass = WL_PASS_WEIGHTS };
    struct wl_buf *x;
    int rc = backward_pass(p, n, &s, e);
    if (!rc && s.custom) return custom_backward_weights(p, n, &s, e);
    if (!rc) rc = wl_cpu_in_layout(p, n, p->saved[n->out->id].buf[0], wl_pd_md(s.pd, DNNL_ARG_SRC), &x, e);
    if (!rc && s.line) return line_backward_weights(p, n, &s, x, e);
    if (!rc) rc = read_gradient(p, n, &s, dy, e);
    return rc ? rc : wl_cpu_backward_weights(p, n, s.pd, s.choice, x, *dy, e);
}

/* The weights as the forward pass read them, or, where that was in another type, the parameter. */
static struct wl_buf *weights_of_type(const struct wl_program *p, const struct wl_node *n, enum wl_dtype type)
{
    struct wl_buf *read = p->saved[n->out->id].buf[1];
    return read->dtype == type ? read : p->value[n->par[0]->id];
}

static int backward_data(struct wl_program *p, const struct wl_node *n, struct wl_buf **dy, struct wl_err *e)
{
    struct pass s = { .kernel.pass = WL_PASS_DATA };
    struct wl_buf *w, *dx;
    wl_md weights;
    int rc = backward_pass(p, n, &s, e);
    if (!rc && !s.line && !s.custom) rc = read_gradient(p, n, &s, dy, e);
    if (!rc) rc = weights_layout(p, n, &s, &weights, e);
    if (!rc) rc = wl_cpu_in_layout(p, n, weights_of_type(p, n, wl_md_type(weights)), weights, &w, e);
    if (rc) return rc;
    dx = wl_cpu_buf(p, wl_pd_md(s.pd, DNNL_ARG_DIFF_SRC), &n->in[0]->dims);
    if (s.custom) {
        const struct wl_conv_bufs bufs = { .dy = p->gradient[n->out->id], .w = w, .dx = dx };
        wl_conv_custom_emit(p, n, s.custom, WL_PASS_DATA, s.choice, &bufs);
        return wl_cpu_gradient_add(p, n, n->in[0], dx, e);
    }
    const size_t first = p->n_steps;
    rc = s.line ? wl_cpu_winograd_1d_backward_data(p, n, w, dx, e)
                : emit(p, n, "backward data", WL_TRAIN, &s,
                       (struct wl_cpu_arg[]) { { DNNL_ARG_DIFF_DST, *dy, false },
                                               { DNNL_ARG_WEIGHTS, w, false },
                                               { DNNL_ARG_DIFF_SRC, dx, true },
                                               { 0 } },
                       e);
    if (rc) return rc;
    if (s.line) chosen(p, first, s.choice);
    return wl_cpu_gradient_add(p, n, n->in[0], dx, e);
}

static int conv_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy = NULL;
    int rc = backward_weights(p, n, &dy, e);
    if (!rc && n->in[0]->gradient) rc = backward_data(p, n, &dy, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_cpu_op_conv2d = { conv_forward, conv_backward };
