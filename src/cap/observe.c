/* The site has set the caps before wattlaw starts: they are verified only. */
#include "cap/indirect.h"

static int observe_open(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out,
                        const char **fix, struct wl_err *e)
{
    return wl_indirect_open(&wl_setter_observe, p, kind, out, fix, e);
}

const struct wl_setter_ops wl_setter_observe = {
    .name = "observe",
    .help = "the site has set the cap; it is verified and stored",
    .kinds = {
#define SETTING_CAP(member, option, unit, kind, ...) [kind] = true,
#include "settings/settings.def"
    },
    .open = observe_open,
    .get = wl_indirect_get,
    .set = wl_indirect_set_nothing,
    .observes = true,
};
