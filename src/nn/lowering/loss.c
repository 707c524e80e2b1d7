#include "nn/lowering/lowering.h"

void wl_lower_count_loss(const struct wl_node *n, double loss, const struct wl_counts *seen, struct wl_counts *counts)
{
    counts->loss_sum += n->u.loss.weight * loss;
    if (!n->counts) return;
    counts->samples += seen->samples;
    counts->top1 += seen->top1;
    counts->top5 += seen->top5;
}

int wl_lower_loss(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_loss_steps *steps = wl_rules_of(p, n)->lowering;
    struct wl_buf *x, *with;
    int rc = wl_lower_plain_value(p, n, n->in[0], &x, e);
    if (!rc) rc = wl_lower_plain_value(p, n, n->in[1], &with, e);
    if (rc) return rc;
    struct wl_buf *loss = p->value[n->out->id] = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, steps->forward, WL_BUFS(x, with), WL_BUFS(loss))->context =
        (void *)wl_rules_of(p, n)->kernels;
    p->saved[n->out->id] = (struct wl_saved) { .buf = { x, with } };
    return 0;
}

int wl_lower_loss_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_loss_steps *steps = wl_rules_of(p, n)->lowering;
    const struct wl_saved *saved = &p->saved[n->out->id];
    struct wl_buf *dx = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->in[0]->dims);
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, steps->backward, WL_BUFS(saved->buf[0], saved->buf[1]), WL_BUFS(dx))
        ->context = (void *)wl_rules_of(p, n)->kernels;
    return wl_gradient_add_plain(p, n, n->in[0], dx, e);
}
