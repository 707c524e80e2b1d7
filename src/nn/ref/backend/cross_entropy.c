#include "nn/ref/backend/backend.h"

static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_dims *x = &s->node->in[0]->dims;
    const int32_t *labels = s->uses[1].buf->at;
    struct wl_counts seen = { 0 };
    double loss = wl_ref_cross_entropy(x->d[0], x->d[1], wl_step_use_f32(s, r, 0), labels, &seen);
    *wl_step_use_f32(s, r, 2) = (float)loss;
    wl_lower_count_loss(s->node, loss * (double)seen.samples, &seen, r->counts);
    return 0;
}

static int backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_dims *x = &s->node->in[0]->dims;
    wl_ref_cross_entropy_backward(x->d[0], x->d[1], s->node->u.loss.weight * (double)r->loss_scale,
                                  wl_step_use_f32(s, r, 0), s->uses[1].buf->at, wl_step_use_f32(s, r, 2));
    return 0;
}

static const struct wl_loss_steps steps = { forward_run, backward_run };

const struct wl_op_rules wl_ref_op_cross_entropy = { wl_lower_loss, wl_lower_loss_backward, .lowering = &steps };
