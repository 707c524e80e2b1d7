/* Taking over a run whose wattlaw is dead. */
#ifndef WL_STORE_RECOVER_H
#define WL_STORE_RECOVER_H

#include "base/base.h"

struct wl_store;

/* Makes a running run of a dead wattlaw ours. WL_EPERM: its wattlaw is alive; WL_EINVAL: it is not running. */
int wl_store_run_take_over(struct wl_store *s, int64_t run, struct wl_err *e) WL_MUST_CHECK;

#endif
