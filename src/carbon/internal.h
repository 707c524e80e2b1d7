/* Shared by the files of this folder. */
#ifndef WL_CARBON_INTERNAL_H
#define WL_CARBON_INTERNAL_H

#include "carbon/steps.h"

/* In lower case, without blanks at its ends. */
char *wl_grid_lower(const char *text, struct wl_arena *a);

/* The column of a name in lower case, or -1. */
int wl_grid_column_named(const struct wl_csv *csv, const char *name, struct wl_arena *a);

#endif
