/* Where the batch system put the job of a run. */
#ifndef WL_STORE_PLACEMENT_H
#define WL_STORE_PLACEMENT_H

#include "store/open.h"
#include "store/records.h"

/* Once for a run, after it has begun; row->run is not read. */
int wl_store_add_placement(struct wl_store *s, int64_t run, const struct wl_placement_row *row,
                           struct wl_err *e) WL_MUST_CHECK;

#endif
