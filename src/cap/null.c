/* Sets and reads nothing, for tests. */
#include "cap/indirect.h"

#include <math.h>

static int null_open(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out,
                     const char **fix, struct wl_err *e)
{
    (void)fix, (void)e;
    struct wl_control *k = wl_controls_add(out, p->a);
    k->ops = &wl_setter_null;
    k->kind = kind;
    k->device = "null:0";
    k->name = "nothing";
    k->write_only = true;
    k->simulated = true;
    return 0;
}

static int null_get(const struct wl_control *k, double *set, double *enforced, struct wl_err *e)
{
    (void)k, (void)e;
    *set = *enforced = NAN;
    return 0;
}

const struct wl_setter_ops wl_setter_null = {
    .name = "null",
    .help = "sets nothing, for tests",
    .kinds = {
#define SETTING_CAP(member, option, unit, kind, ...) [kind] = true,
#include "settings/settings.def"
    },
    .open = null_open,
    .get = null_get,
    .set = wl_indirect_set_nothing,
    .observes = true,
};
