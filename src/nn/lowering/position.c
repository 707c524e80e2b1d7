#include "nn/lowering/lowering.h"

struct position_step {
    const struct wl_position_kernels *kernels;
    int64_t n, size;
};

static int position_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct position_step *context = s->context;
    context->kernels->forward(context->n, context->size, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                              wl_step_use_f32(s, r, 2));
    return 0;
}

static int position_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct position_step *context = s->context;
    context->kernels->backward(context->n, context->size, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1));
    return 0;
}

static struct position_step *position_step(struct wl_program *p, const struct wl_node *n)
{
    struct position_step *context = wl_new(p->arena, struct position_step);
    const int64_t size = wl_dims_count(&n->par[0]->dims);
    *context = (struct position_step) { .kernels = wl_rules_of(p, n)->kernels,
                                        .n = wl_dims_count(&n->out->dims) / size,
                                        .size = size };
    return context;
}

int wl_lower_position(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x, *y = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    int rc = wl_lower_plain_value(p, n, n->in[0], &x, e);
    if (rc) return rc;
    struct wl_buf *w = wl_buf_param(p, n->par[0], NULL, y->bytes / (size_t)(n->out->dims.d[0] / n->par[0]->dims.d[0]));
    p->value[n->out->id] = y;
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, position_run, WL_BUFS(x, w), WL_BUFS(y))->context =
        position_step(p, n);
    return 0;
}

/* The gradient of x is that of y. */
int wl_lower_position_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy;
    int rc = wl_lower_plain_gradient(p, n, n->out, &dy, e);
    if (rc) return rc;
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, position_backward_run, WL_BUFS(dy),
                      WL_BUFS(p->gradient[n->par[0]->id]))
        ->context = position_step(p, n);
    if (n->in[0]->gradient) rc = wl_gradient_add_plain(p, n, n->in[0], dy, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}
