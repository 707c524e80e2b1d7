#include "nn/lowering/lowering.h"

#include <math.h>

static const struct wl_distance_kernels *kernels(const struct wl_step *s) { return s->context; }

static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const int64_t n = s->node->in[0]->dims.d[0];
    int64_t samples;
    const double sum = kernels(s)->forward(n, wl_step_input_count(s) / n, wl_step_use_f32(s, r, 0),
                                           wl_step_use_f32(s, r, 1), &samples);
    if (isinf(sum)) return wl_fail(e, WL_EINVAL, "a target is 0 everywhere");
    *wl_step_use_f32(s, r, 2) = (float)(samples ? sum / (double)samples : 0);
    wl_lower_count_loss(s->node, sum, &(struct wl_counts) { .samples = samples }, r->counts);
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

const struct wl_loss_steps wl_loss_relative_l2 = { forward_run, backward_run };
