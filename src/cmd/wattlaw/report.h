/* The report of a store, for the commands that show it. */
#ifndef WL_CMD_WATTLAW_REPORT_H
#define WL_CMD_WATTLAW_REPORT_H

#include "cmd/wattlaw/footprint.h"
#include "report/report.h"

/* Completes carbon and cost of `f` from the store's experiments, and sets what->footprint. The store stays open as long
 * as `what` is used. */
int wl_cmd_report_of_store(struct wl_footprint *f, struct wl_report_options *what, struct wl_store *store,
                           struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
