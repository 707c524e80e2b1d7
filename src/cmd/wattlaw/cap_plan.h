/* What caps would be set: told, and nothing done. */
#ifndef WL_CMD_WATTLAW_CAP_PLAN_H
#define WL_CMD_WATTLAW_CAP_PLAN_H

#include "cap/cap.h"

/* A line a device on stdout: asked, found, what it takes; and where the journal would lie. `node` stands in front ("n1:
 * "). Codes of wl_caps_plan. */
int wl_cmd_cap_plan_print(const struct wl_cap_request *request, const struct wl_cap_opts *opts,
                          const struct wl_power_opts *power, const char *node, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

#endif
