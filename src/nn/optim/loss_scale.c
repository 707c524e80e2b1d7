#include "nn/optim/loss_scale.h"

void wl_loss_scale_good(struct wl_loss_scale *s)
{
    if (++s->good < WL_LOSS_SCALE_GOOD) return;
    s->good = 0;
    if (s->scale < WL_LOSS_SCALE_MOST) s->scale *= 2;
}

int wl_loss_scale_skip(struct wl_loss_scale *s, struct wl_err *e)
{
    s->good = 0;
    s->skipped++;
    if (s->scale <= WL_LOSS_SCALE_LEAST)
        return wl_fail(e, WL_EJOB,
                       "loss or gradients are not finite in f16, with the smallest loss scale (%d) too; the learning "
                       "rate may be too large, or values exceed 65504 (bf16 and f32 have no such limit)",
                       (int)WL_LOSS_SCALE_LEAST);
    s->scale /= 2;
    return 0;
}
