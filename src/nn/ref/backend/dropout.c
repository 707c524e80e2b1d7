#include "nn/ref/backend/backend.h"

#include <string.h>

static int drop_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_dropout d = wl_dropout_in_run(s->context, r);
    wl_ref_dropout(&d, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1));
    return 0;
}

static int copy_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    memcpy(wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 0), (size_t)wl_step_input_count(s) * sizeof(float));
    return 0;
}

static void emit(struct wl_program *p, const struct wl_node *n, const char *what, struct wl_buf *from,
                 struct wl_buf *to)
{
    const struct wl_dims *x = &n->in[0]->dims;
    struct wl_dropout *drop = wl_new(p->arena, struct wl_dropout);
    *drop = wl_dropout_of(p, n, n->u.drop, x->d[0], wl_dims_count(x) / x->d[0]);
    wl_step_emit_uses(p, n, what, WL_TRAIN, drop_run, WL_BUFS(from), WL_BUFS(to))->context = drop;
}

static int dropout(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *x = p->value[n->in[0]->id], *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims);
    if (p->train) emit(p, n, "forward", x, y);
    wl_step_emit_uses(p, n, "forward", WL_EVAL, copy_run, WL_BUFS(x), WL_BUFS(y));
    return 0;
}

static int dropout_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy = p->gradient[n->out->id], *dx = wl_buf_like(p, dy);
    emit(p, n, "backward", dy, dx);
    int rc = wl_gradient_add(p, n, n->in[0], dx, e);
    wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_ref_op_dropout = { dropout, dropout_backward };
