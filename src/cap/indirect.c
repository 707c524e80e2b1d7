#include "cap/indirect.h"

int wl_indirect_open(const struct wl_setter_ops *ops, const struct wl_setter_context *p, enum wl_cap_kind kind,
                     struct wl_controls *out, const char **fix, struct wl_err *e)
{
    struct wl_controls *targets = wl_new(p->a, struct wl_controls);
    int rc = wl_setter_open_direct(p, kind, targets, fix, e);
    for (size_t i = 0; rc == 0 && i < targets->n; i++) {
        struct wl_control *k = wl_controls_add(out, p->a);
        *k = targets->v[i];
        k->ops = ops;
        k->state = (void *)p->opts;
        k->target = &targets->v[i];
    }
    return rc;
}

int wl_indirect_get(const struct wl_control *k, double *set, double *enforced, struct wl_err *e)
{
    return k->target->ops->get(k->target, set, enforced, e);
}

const char *wl_indirect_locked_by_other(const struct wl_control *k, struct wl_arena *a)
{
    return k->target->ops->locked_by_other ? k->target->ops->locked_by_other(k->target, a) : NULL;
}

int wl_indirect_set_nothing(const struct wl_control *k, double value, struct wl_err *e)
{
    (void)k, (void)value, (void)e;
    return 0;
}
