/* Where analysis commands read from: a store, the folder of a campaign, or a CSV file. */
#ifndef WL_CMD_SOURCE_H
#define WL_CMD_SOURCE_H

#include "base/base.h"

/* Reads the observation table behind a path. `map` renames columns of a CSV ("canonical=column"); with a store it is
 * WL_EUSAGE. WL_EINVAL where the table is empty. */
int wl_source_read(const char *path, const struct wl_strs *map, struct wl_observations *out, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

#endif
