#ifndef WL_NN_OPTIM_LR_SCHEDULE_H
#define WL_NN_OPTIM_LR_SCHEDULE_H

#include "base/base.h"

/* Learning rate over training. The peak is lr, or lr * global_batch/256 with `scale` (linear scaling rule, Goyal et
 * al. 2017, arXiv:1706.02677). Warm-up goes linearly from lr (from 0 without `scale`) to the peak. */
struct wl_lr_schedule_opts {
    const char *kind; /* constant | step | cosine | linear | plateau; NULL counts as constant */
    double lr;
    bool scale;
    int64_t global_batch;
    double warmup_epochs; /* 0: none */
    double epochs;        /* cosine and linear: falls to min_lr at this epoch */
    double step_epochs;   /* step: multiplied by factor every so many epochs */
    double factor;        /* step and plateau; 0 counts as 0.1 */
    int patience;         /* plateau: epochs without improvement that are forgiven (PyTorch's ReduceLROnPlateau) */
    double threshold;     /* plateau: relative improvement that counts; 0 counts as 1e-4 */
    double min_lr;
};
struct wl_lr_schedule {
    struct wl_lr_schedule_opts opts;
    enum wl_lr_schedule_kind { WL_LR_CONSTANT, WL_LR_STEP, WL_LR_COSINE, WL_LR_LINEAR, WL_LR_PLATEAU } kind;
    /* The state of plateau; a checkpoint keeps these three. */
    double cut;  /* product of the factors so far */
    double best; /* lowest loss seen; infinite before the first */
    int bad;     /* epochs since */
};

/* Checks the options: WL_EINVAL names the field. */
int wl_lr_schedule_init(struct wl_lr_schedule *s, const struct wl_lr_schedule_opts *opts,
                        struct wl_err *e) WL_MUST_CHECK;
double wl_lr_schedule_at(const struct wl_lr_schedule *s, double epoch); /* epochs done, with fraction; >= 0 */
void wl_lr_schedule_epoch_end(struct wl_lr_schedule *s, double loss);   /* for plateau; NAN counts as no improvement */

#endif
