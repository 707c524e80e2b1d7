/* Calls of a setter with a timeout: drivers and the site's commands may hang. */
#ifndef WL_CAP_CONTROL_H
#define WL_CAP_CONTROL_H

#include "cap/setter.h"

/* The timeout of one call, s. */
#define WL_CAP_WAIT_MAX_S 3600
double wl_cap_wait_s(const struct wl_cap_opts *o);

/* For a setter's open(): describes the control of one device. When caps are restored, a device that hangs does not hide
 * the others: it has no range then. */
int wl_control_describe(const struct wl_setter_context *p, struct wl_control *k,
                        int (*describe)(struct wl_control *k, struct wl_arena *a, struct wl_err *e), struct wl_err *e);

/* Opens a setter (NULL: wl_setter_open) and adds its controls, for the calls below; of a client of the cap service
 * those that it asks for. It is closed with p->a. */
int wl_controls_open(const struct wl_setter_context *p, const struct wl_setter_ops *ops, enum wl_cap_kind kind,
                     struct wl_controls *out, const char **fix, struct wl_err *e);

/* The callbacks of the control's setter. WL_EHUNG: the call has not returned and may still take effect. If an optional
 * callback is missing, restore is set, and probe and locked_by_other find nothing. */
int wl_control_get(const struct wl_control *k, double *set, double *enforced, struct wl_err *e);
int wl_control_set(const struct wl_control *k, double value, struct wl_err *e);
int wl_control_restore(const struct wl_control *k, double found, struct wl_err *e);
int wl_control_probe(const struct wl_control *k, const char **fix, struct wl_err *e);
int wl_control_locked_by_other(const struct wl_control *k, const char **why, struct wl_arena *a, struct wl_err *e);

#endif
