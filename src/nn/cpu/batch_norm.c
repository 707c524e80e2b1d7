/* Batch norm, with the relu behind it in the same pass. oneDNN keeps the relu's mask in a workspace, so backward does
 * not need the output. */
#include "nn/cpu/cpu.h"

static struct wl_buf *vector(struct wl_program *p, const struct wl_tensor *t)
{
    return wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &t->dims);
}

static struct wl_buf *param(struct wl_program *p, const struct wl_tensor *t)
{
    return wl_param_new(p, t, NULL, (size_t)wl_dims_count(&t->dims) * sizeof(float));
}

struct norm {
    struct wl_buf *x, *y, *gamma, *beta, *mean, *var, *mask;
};

static int train_step(struct wl_program *p, const struct wl_node *n, wl_md x, struct norm *b, struct wl_err *e)
{
    dnnl_primitive_desc_t pd;
    int rc = wl_pd_norm(wl_cpu_of(p), &pd, true, n->relu, n->u.norm.eps, x, e);
    if (rc) return rc;
    wl_md mask = n->relu ? wl_pd_md(pd, DNNL_ARG_WORKSPACE) : NULL;
    b->mean = vector(p, n->stat[0]);
    b->var = vector(p, n->stat[1]);
    if (mask) b->mask = wl_cpu_buf(p, mask, &n->out->dims);
    rc = wl_cpu_emit(p, n, "forward", WL_TRAIN, pd,
                     (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, b->x, false },
                                             { DNNL_ARG_SCALE, b->gamma, false },
                                             { DNNL_ARG_SHIFT, b->beta, false },
                                             { DNNL_ARG_MEAN, b->mean, true },
                                             { DNNL_ARG_VARIANCE, b->var, true },
                                             { DNNL_ARG_WORKSPACE, b->mask, true },
                                             { DNNL_ARG_DST, b->y, true },
                                             { 0 } },
                     e);
    p->kept[n->out->id] = (struct wl_kept) { .buf = { b->mean, b->var, b->mask }, .own = pd };
    if (!rc) wl_emit_moments(p, n, b->mean, b->var);
    return rc;
}

static int eval_step(struct wl_program *p, const struct wl_node *n, wl_md x, const struct norm *b, struct wl_err *e)
{
    dnnl_primitive_desc_t pd;
    int rc = wl_pd_norm(wl_cpu_of(p), &pd, false, n->relu, n->u.norm.eps, x, e);
    return rc ? rc
              : wl_cpu_emit(p, n, "forward", WL_EVAL, pd,
                            (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, b->x, false },
                                                    { DNNL_ARG_SCALE, b->gamma, false },
                                                    { DNNL_ARG_SHIFT, b->beta, false },
                                                    { DNNL_ARG_MEAN, p->value[n->stat[0]->id], false },
                                                    { DNNL_ARG_VARIANCE, p->value[n->stat[1]->id], false },
                                                    { DNNL_ARG_DST, b->y, true },
                                                    { 0 } },
                            e);
}

int wl_cpu_norm_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct norm b = { .x = p->value[n->in[0]->id], .gamma = param(p, n->par[0]), .beta = param(p, n->par[1]) };
    wl_md x;
    int rc = wl_cpu_layout(p, b.x, &x, e);
    if (rc) return rc;
    wl_statistics_new(p, n);
    b.y = p->value[n->out->id] = wl_buf_like(p, b.x);
    if (p->train) rc = train_step(p, n, x, &b, e);
    return rc ? rc : eval_step(p, n, x, &b, e);
}

int wl_cpu_norm_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_kept *kept = &p->kept[n->out->id];
    struct wl_buf *x = p->value[n->in[0]->id], *dy = p->gradient[n->out->id];
    struct wl_buf *dx = wl_gradient_last_holder(p, n->out) ? dy : wl_buf_like(p, dy);
    wl_md md;
    dnnl_primitive_desc_t pd;
    int rc = wl_cpu_layout(p, x, &md, e);
    if (!rc) rc = wl_pd_norm_backward(wl_cpu_of(p), &pd, n->relu, n->u.norm.eps, md, kept->own, e);
    if (rc) return rc;
    struct wl_buf *shift = wl_norm_backward_takes_shift ? p->value[n->par[1]->id] : NULL;
    rc = wl_cpu_emit(p, n, "backward", WL_TRAIN, pd,
                     (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, x, false },
                                             { DNNL_ARG_DIFF_DST, dy, false },
                                             { DNNL_ARG_MEAN, kept->buf[0], false },
                                             { DNNL_ARG_VARIANCE, kept->buf[1], false },
                                             { DNNL_ARG_WORKSPACE, kept->buf[2], false },
                                             { DNNL_ARG_SCALE, p->value[n->par[0]->id], false },
                                             { DNNL_ARG_SHIFT, shift, false },
                                             { DNNL_ARG_DIFF_SRC, dx, true },
                                             { DNNL_ARG_DIFF_SCALE, p->gradient[n->par[0]->id], true },
                                             { DNNL_ARG_DIFF_SHIFT, p->gradient[n->par[1]->id], true },
                                             { 0 } },
                     e);
    if (!rc && n->in[0]->gradient) rc = wl_gradient_add(p, n, n->in[0], dx, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}
