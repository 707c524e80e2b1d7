/* Worker counts as an option: --at workers=64,128. */
#ifndef WL_CMD_WATTLAW_POINTS_H
#define WL_CMD_WATTLAW_POINTS_H

#include "base/base.h"

struct wl_points {
    double *workers;
    size_t n, cap;
};

/* Each worker count once, in the order of the items. WL_EUSAGE if an item is not workers=N[,N...] with numbers above 0
 * and up to WL_LAW_WORKERS_MAX. */
int wl_points_read(const struct wl_strs *at, struct wl_points *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
