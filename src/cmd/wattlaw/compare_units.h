/* wattlaw compare --factor node, gpu or switch: is one of them different from the others? */
#ifndef WL_CMD_WATTLAW_COMPARE_UNITS_H
#define WL_CMD_WATTLAW_COMPARE_UNITS_H

#include "cmd/wattlaw/busy.h"
#include "law/law.h"

struct wl_units_request {
    const char *path; /* of the store or CSV file */
    const struct wl_observations *obs;
    const struct wl_busy_runs *busy;
    enum wl_units_kind kind;
    struct wl_strs by;
    int64_t drop_epochs;
    bool json, all;
};

/* Returns the exit status. */
int wl_compare_units(const struct wl_units_request *r, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
