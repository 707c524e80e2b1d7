/* Dynamic loss scaling, for gradients of values in f16: below 2^-24 they would be 0, so they are computed `scale` times
 * as large, and the update divides by it. Where a sum of gradients is not finite (an overflow) the update is skipped
 * and the scale halved; after WL_LOSS_SCALE_GOOD updates in a row without one it is doubled. Micikevicius et al. 2018,
 * arXiv:1710.03740; first value, factors and interval are PyTorch's (torch.amp.GradScaler). docs/adr/129. */
#ifndef WL_NN_OPTIM_LOSS_SCALE_H
#define WL_NN_OPTIM_LOSS_SCALE_H

#include "base/base.h"

enum {
    WL_LOSS_SCALE_FIRST = 1 << 16,
    WL_LOSS_SCALE_LEAST = 1,
    WL_LOSS_SCALE_MOST = 1 << 24,
    WL_LOSS_SCALE_GOOD = 2000
};

/* What a checkpoint keeps. */
struct wl_loss_scale {
    double scale;    /* a power of two: it changes no other bit of a gradient */
    int64_t good;    /* updates since the scale changed or one was skipped */
    int64_t skipped; /* updates of the training so far */
};
#define WL_LOSS_SCALE_START ((struct wl_loss_scale) { .scale = WL_LOSS_SCALE_FIRST })

/* After an update that was made, and after one that was skipped. WL_EJOB: the scale was the least one already. */
void wl_loss_scale_good(struct wl_loss_scale *s);
int wl_loss_scale_skip(struct wl_loss_scale *s, struct wl_err *e) WL_MUST_CHECK;

#endif
