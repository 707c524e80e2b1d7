#include "nn/optim/optim.h"

static const struct wl_optim_ops optimizers[] = {
    { .name = "sgd", .slots = 1, .slot_name = { "momentum" }, .kind = WL_OPTIM_SGD },
    { .name = "adam", .slots = 2, .slot_name = { "exp_avg", "exp_avg_sq" }, .kind = WL_OPTIM_ADAM },
    { .name = "adamw", .slots = 2, .slot_name = { "exp_avg", "exp_avg_sq" }, .kind = WL_OPTIM_ADAMW },
};

static const struct wl_optim_ops *find(const char *kind, struct wl_err *e)
{
    const char *names[WL_COUNT(optimizers)];
    for (size_t i = 0; i < WL_COUNT(optimizers); i++) {
        if (!kind || wl_str_eq(kind, optimizers[i].name)) return &optimizers[i];
        names[i] = optimizers[i].name;
    }
    const char *near = wl_str_closest(kind, names, WL_COUNT(names));
    wl_fail(e, WL_EINVAL, "optimizer '%s' is not known%s%s%s", kind, near ? "; did you mean '" : "", near ? near : "",
            near ? "'?" : "");
    return NULL;
}

static int check_share(const char *name, double x, struct wl_err *e)
{
    return x >= 0 && x < 1 ? 0 : wl_fail(e, WL_EINVAL, "%s is %g, expected 0 <= %s < 1", name, x, name);
}

int wl_optim_init(struct wl_optim *o, const struct wl_optim_ops **ops, struct wl_err *e)
{
    if (!(*ops = find(o->kind, e))) return WL_EINVAL;
    if (o->beta1 == 0) o->beta1 = 0.9;
    if (o->beta2 == 0) o->beta2 = 0.999;
    if (o->eps == 0) o->eps = 1e-8;
    int rc = check_share("momentum", o->momentum, e);
    if (!rc) rc = check_share("beta1", o->beta1, e);
    if (!rc) rc = check_share("beta2", o->beta2, e);
    if (!rc && !(o->eps > 0)) rc = wl_fail(e, WL_EINVAL, "eps is %g, expected more than 0", o->eps);
    if (!rc && !(o->weight_decay >= 0))
        rc = wl_fail(e, WL_EINVAL, "weight decay is %g, expected at least 0", o->weight_decay);
    return rc;
}
