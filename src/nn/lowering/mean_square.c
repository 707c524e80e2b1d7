#include "nn/lowering/lowering.h"

static const struct wl_distance_kernels *kernels(const struct wl_step *s) { return s->context; }

/* A target counts one sample per row. */
static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const int64_t n = s->node->in[0]->dims.d[0];
    struct wl_counts seen = { 0 };
    const double loss = kernels(s)->forward(n, wl_step_input_count(s) / n, wl_step_use_f32(s, r, 0),
                                            wl_step_use_f32(s, r, 1), &seen.samples);
    *wl_step_use_f32(s, r, 2) = (float)loss;
    wl_lower_count_loss(s->node, loss * (double)seen.samples, &seen, r->counts);
    return 0;
}

static int backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const int64_t n = s->node->in[0]->dims.d[0];
    kernels(s)->backward(n, wl_step_input_count(s) / n, s->node->u.loss.weight * (double)r->loss_scale,
                         wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 2));
    return 0;
}

const struct wl_loss_steps wl_loss_mean_square = { forward_run, backward_run };
