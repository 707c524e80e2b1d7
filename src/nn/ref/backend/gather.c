#include "nn/ref/backend/backend.h"

static struct wl_gather_size gather(const struct wl_node *n)
{
    const int64_t *x = n->in[0]->dims.d;
    return (struct wl_gather_size) { .n = x[0], .s = x[1], .p = n->in[1]->dims.d[1], .f = x[2] };
}

static int gather_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_gather_size g = gather(s->node);
    const int32_t *positions = s->uses[1].buf->at;
    wl_ref_gather(g, positions, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 2));
    return 0;
}

static int gather_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_gather_backward(gather(s->node), s->uses[1].buf->at, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 2));
    return 0;
}

static int gather_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims);
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, gather_run,
                      WL_BUFS(p->value[n->in[0]->id], p->value[n->in[1]->id]), WL_BUFS(y));
    return 0;
}

static int gather_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dx = wl_buf_like(p, p->value[n->in[0]->id]);
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, gather_backward_run,
                      WL_BUFS(p->gradient[n->out->id], p->value[n->in[1]->id]), WL_BUFS(dx));
    int rc = wl_gradient_add(p, n, n->in[0], dx, e);
    wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_ref_op_gather = { gather_forward, gather_backward };
