/* Pooling. The maximum keeps its indices in a workspace, so backward needs no value. */
#include "nn/cpu/cpu.h"

static dnnl_alg_kind_t algorithm(const struct wl_node *n)
{
    if (n->op == WL_OP_MAX_POOL) return dnnl_pooling_max;
    return n->u.pool.exclude_pad ? dnnl_pooling_avg_exclude_padding : dnnl_pooling_avg_include_padding;
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_pooling pool = { .algorithm = algorithm(n), .window = wl_pool_window(n) };
    struct wl_buf *x = p->value[n->in[0]->id];
    dnnl_primitive_desc_t pd;
    int rc = wl_cpu_layout(p, x, &pool.src, e);
    if (!rc) rc = wl_md_any(wl_cpu_of(p), &pool.dst, p->precision, &n->out->dims, e);
    if (!rc) rc = wl_pd_pool(wl_cpu_of(p), &pd, &pool, p->train, e);
    if (rc) return rc;
    wl_md layout = wl_pd_md(pd, DNNL_ARG_WORKSPACE);
    struct wl_buf *workspace = layout ? wl_cpu_buf(p, layout, &n->out->dims) : NULL;
    struct wl_buf *y = p->value[n->out->id] = wl_cpu_buf(p, wl_pd_md(pd, DNNL_ARG_DST), &n->out->dims);
    p->saved[n->out->id] = (struct wl_saved) { .buf = { workspace }, .context = pd };
    return wl_cpu_emit(p, n, "forward", WL_TRAIN | WL_EVAL, pd,
                       (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, x, false },
                                               { DNNL_ARG_DST, y, true },
                                               { DNNL_ARG_WORKSPACE, workspace, true },
                                               { 0 } },
                       e);
}

/* The backward pass of the relu before a maximum, if no other node reads its result: a maximum is positive where the
 * number is of which it is one, so the relu's result, several times as large, need not be kept for it. */
static int relu_backward(struct wl_program *p, const struct wl_node *n, struct wl_buf **dy, struct wl_err *e)
{
    const struct wl_tensor *x = n->in[0];
    const bool alone = n->op == WL_OP_MAX_POOL && x->readers == 1 && x->producer && !p->keep_values;
    *dy = p->gradient[n->out->id];
    if (!alone || x->producer->op != WL_OP_RELU) return 0;
    p->saved[x->id].relu_passed = true;
    return wl_cpu_relu_backward(p, x->producer, n->out, dy, e);
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_saved *saved = &p->saved[n->out->id];
    struct wl_pooling pool = { .algorithm = algorithm(n), .window = wl_pool_window(n) };
    struct wl_buf *dy, *dx = wl_buf_like(p, p->value[n->in[0]->id]);
    dnnl_primitive_desc_t pd;
    int rc = relu_backward(p, n, &dy, e);
    if (!rc) rc = wl_cpu_layout(p, dx, &pool.src, e);
    if (!rc) rc = wl_cpu_layout(p, dy, &pool.dst, e);
    if (!rc) rc = wl_pd_pool_backward(wl_cpu_of(p), &pd, &pool, saved->context, e);
    if (!rc)
        rc = wl_cpu_emit(p, n, "backward", WL_TRAIN, pd,
                         (struct wl_cpu_arg[]) { { DNNL_ARG_DIFF_DST, dy, false },
                                                 { DNNL_ARG_WORKSPACE, saved->buf[0], false },
                                                 { DNNL_ARG_DIFF_SRC, dx, true },
                                                 { 0 } },
                         e);
    if (!rc) rc = wl_gradient_add(p, n, n->in[0], dx, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_cpu_op_max_pool = { forward, backward };
const struct wl_op_rules wl_cpu_op_avg_pool = { forward, backward };
