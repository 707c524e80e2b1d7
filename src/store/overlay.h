/* What readers lay over a file that they do not change. */
#ifndef WL_STORE_OVERLAY_H
#define WL_STORE_OVERLAY_H

#include "base/base.h"

struct wl_store;

/* Lays over a file of this or an older version what it lacks. */
int wl_overlay_prepare(struct wl_store *s, int64_t version, struct wl_err *e) WL_MUST_CHECK;

/* Fills in the totals of a file of an older version, when a statement first asks for them. */
int wl_overlay_fill_totals(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

#endif
