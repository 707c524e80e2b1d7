/* wattlaw status: the state of campaigns, printed as text, JSON, or again and again. */
#ifndef WL_CMD_WATTLAW_STATUS_H
#define WL_CMD_WATTLAW_STATUS_H

#include "cmd/wattlaw/campaign_status.h"

struct wl_status_opts {
    const char *campaign;
    bool json, follow;
};

/* Prints the state again and again until nothing is left, or a signal comes. Returns the exit status. */
int wl_status_follow(const struct wl_status_opts *o, const struct wl_opts_args *rest, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

#endif
