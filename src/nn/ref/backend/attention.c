#include "nn/ref/backend/backend.h"

static struct wl_buf *attention_scratch(struct wl_program *p, const struct wl_node *n)
{
    int64_t s = wl_heads_of(n).s;
    return wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(2, s, s));
}

static struct wl_dropout *attention_dropout(struct wl_program *p, const struct wl_node *n)
{
    const struct wl_heads h = wl_heads_of(n);
    struct wl_dropout *d = wl_new(p->arena, struct wl_dropout);
    *d = wl_dropout_of(p, n, n->u.attention.drop, h.n, h.heads * h.s * h.s);
    return d;
}

static int attention_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_dropout d = wl_dropout_in_run(s->context, r);
    wl_ref_attention(wl_heads_of(s->node), &d, wl_step_use_f32(s, r, 0), s->uses[1].buf->at, wl_step_use_f32(s, r, 2),
                     wl_step_use_f32(s, r, 3));
    return 0;
}

static int attention_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_dropout d = wl_dropout_in_run(s->context, r);
    wl_ref_attention_backward(wl_heads_of(s->node), &d, wl_step_use_f32(s, r, 0), s->uses[1].buf->at,
                              wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 3), wl_step_use_f32(s, r, 4));
    return 0;
}

static int attention(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims);
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, attention_run,
                      WL_BUFS(p->value[n->in[0]->id], p->value[n->in[1]->id]), WL_BUFS(y, attention_scratch(p, n)))
        ->context = attention_dropout(p, n);
    return 0;
}

static int attention_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x = p->value[n->in[0]->id], *dx = wl_buf_like(p, x);
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, attention_backward_run,
                      WL_BUFS(x, p->value[n->in[1]->id], p->gradient[n->out->id]), WL_BUFS(dx, attention_scratch(p, n)))
        ->context = attention_dropout(p, n);
    int rc = wl_gradient_add(p, n, n->in[0], dx, e);
    wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_ref_op_attention = { attention, attention_backward };
