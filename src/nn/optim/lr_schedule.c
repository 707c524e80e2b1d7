#include "nn/optim/lr_schedule.h"

#include <math.h>

static int find_kind(const char *name, enum wl_lr_schedule_kind *out, struct wl_err *e)
{
    static const char *const names[] = { [WL_LR_CONSTANT] = "constant",
                                         [WL_LR_STEP] = "step",
                                         [WL_LR_COSINE] = "cosine",
                                         [WL_LR_LINEAR] = "linear",
                                         [WL_LR_PLATEAU] = "plateau" };
    for (size_t i = 0; i < WL_COUNT(names); i++)
        if (wl_str_eq(name ? name : "constant", names[i])) {
            *out = (enum wl_lr_schedule_kind)i;
            return 0;
        }
    const char *near = wl_str_closest(name, names, WL_COUNT(names));
    return wl_fail(e, WL_EINVAL, "schedule '%s' is not known%s%s%s", name, near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}

int wl_lr_schedule_init(struct wl_lr_schedule *s, const struct wl_lr_schedule_opts *opts, struct wl_err *e)
{
    enum wl_lr_schedule_kind kind = WL_LR_CONSTANT;
    int rc = find_kind(opts->kind, &kind, e);
    if (rc) return rc;
    struct wl_lr_schedule_opts o = *opts;
    if (o.factor == 0) o.factor = 0.1;
    if (o.threshold == 0) o.threshold = 1e-4;
    if (!(o.lr >= 0)) return wl_fail(e, WL_EINVAL, "lr is %g, expected at least 0", o.lr);
    if (!(o.min_lr >= 0)) return wl_fail(e, WL_EINVAL, "min_lr is %g, expected at least 0", o.min_lr);
    if (o.scale && o.global_batch < 1)
        return wl_fail(e, WL_EINVAL, "global_batch is %lld, lr scaling needs at least 1", (long long)o.global_batch);
    if (!(o.warmup_epochs >= 0))
        return wl_fail(e, WL_EINVAL, "warmup_epochs is %g, expected at least 0", o.warmup_epochs);
    if (!(o.factor > 0 && o.factor < 1))
        return wl_fail(e, WL_EINVAL, "factor is %g, expected 0 < factor < 1", o.factor);
    if (kind == WL_LR_STEP && !(o.step_epochs > 0))
        return wl_fail(e, WL_EINVAL, "step_epochs is %g, expected more than 0", o.step_epochs);
    if ((kind == WL_LR_COSINE || kind == WL_LR_LINEAR) && !(o.epochs > o.warmup_epochs))
        return wl_fail(e, WL_EINVAL, "epochs is %g, %s expects more than warmup_epochs (%g)", o.epochs, o.kind,
                       o.warmup_epochs);
    if (o.patience < 0) return wl_fail(e, WL_EINVAL, "patience is %d, expected at least 0", o.patience);
    *s = (struct wl_lr_schedule) { .opts = o, .kind = kind, .cut = 1, .best = INFINITY };
    return 0;
}

static double peak(const struct wl_lr_schedule_opts *o)
{
    return o->scale ? o->lr * (double)o->global_batch / 256 : o->lr;
}

/* The part of the way from the end of the warm-up to `epochs`. */
static double part_done(const struct wl_lr_schedule_opts *o, double epoch)
{
    return fmin((epoch - o->warmup_epochs) / (o->epochs - o->warmup_epochs), 1);
}

/* Between the peak, left = 1, and min_lr, left = 0. */
static double fall(const struct wl_lr_schedule_opts *o, double left)
{
    return o->min_lr + (peak(o) - o->min_lr) * left;
}

double wl_lr_schedule_at(const struct wl_lr_schedule *s, double epoch)
{
    const struct wl_lr_schedule_opts *o = &s->opts;
    if (epoch < o->warmup_epochs) {
        double from = o->scale ? o->lr : 0;
        return from + (peak(o) - from) * epoch / o->warmup_epochs;
    }
    switch (s->kind) {
    case WL_LR_CONSTANT: return peak(o);
    case WL_LR_STEP: return fmax(peak(o) * pow(o->factor, floor(epoch / o->step_epochs)), o->min_lr);
    /* Half a wave: Loshchilov and Hutter 2017, arXiv:1608.03983. */
    case WL_LR_COSINE: return fall(o, (1 + cos(M_PI * part_done(o, epoch))) / 2);
    case WL_LR_LINEAR: return fall(o, 1 - part_done(o, epoch));
    case WL_LR_PLATEAU: return fmax(peak(o) * s->cut, o->min_lr);
    }
    return NAN;
}

void wl_lr_schedule_epoch_end(struct wl_lr_schedule *s, double loss)
{
    if (s->kind != WL_LR_PLATEAU) return;
    if (isinf(s->best) ? loss < s->best : loss < s->best * (1 - s->opts.threshold)) {
        s->best = loss;
        s->bad = 0;
        return;
    }
    if (++s->bad <= s->opts.patience) return;
    s->cut *= s->opts.factor;
    s->bad = 0;
}
