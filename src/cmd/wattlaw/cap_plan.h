/* Prints the caps that would be set, without setting them (--cap-dry-run). */
#ifndef WL_CMD_WATTLAW_CAP_PLAN_H
#define WL_CMD_WATTLAW_CAP_PLAN_H

#include "cap/cap.h"

/* Prints one line per device on stdout (requested value, present value, range), and the folder of the journal. `node`
 * is the prefix of each line ("n1: "). Codes of wl_caps_plan. */
int wl_cmd_cap_plan_print(const struct wl_cap_request *request, const struct wl_cap_opts *opts,
                          const struct wl_power_opts *power, const char *node, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

#endif
