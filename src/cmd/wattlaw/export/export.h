/* Parts of `wattlaw export`. */
#ifndef WL_CMD_WATTLAW_EXPORT_EXPORT_H
#define WL_CMD_WATTLAW_EXPORT_EXPORT_H

#include "store/read.h"

#include <stdio.h>

/* Observations as a table for papers: format "md" or "tex". */
void wl_cmd_export_table(const struct wl_observations *obs, const char *format, FILE *to);

/* The whole store as a bundle. `fields`: name=, description=, license=, author=, datePublished=. */
int wl_cmd_export_bundle(struct wl_store *s, const struct wl_strs *fields, FILE *to, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

#endif
