/* Setters that leave the setting to the site and read through the setter of the machine. */
#ifndef WL_CAP_INDIRECT_H
#define WL_CAP_INDIRECT_H

#include "cap/setter.h"

/* Opens controls of `ops` over those of the machine's own setter; their state is the options. */
int wl_indirect_open(const struct wl_setter_ops *ops, const struct wl_setter_context *p, enum wl_cap_kind kind,
                     struct wl_controls *out, const char **fix, struct wl_err *e);

/* For struct wl_setter_ops: as the machine's own setter has it. */
int wl_indirect_get(const struct wl_control *k, double *set, double *enforced, struct wl_err *e);
const char *wl_indirect_locked_by_other(const struct wl_control *k, struct wl_arena *a);

/* For struct wl_setter_ops: does nothing. */
int wl_indirect_set_nothing(const struct wl_control *k, double value, struct wl_err *e);

#endif
