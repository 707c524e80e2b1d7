/* Runs of an analysis that count as repeats and have different commands: they are named, and stay in. */
#ifndef WL_CMD_WATTLAW_REPEATS_H
#define WL_CMD_WATTLAW_REPEATS_H

#include "base/base.h"
#include "store/read.h"

struct wl_unlike_repeats {
    struct wl_unlike_rows rows; /* those that the table has both runs of */
    bool known;                 /* a store says what they ran, a CSV file does not */
};

int wl_unlike_repeats_find(const char *path, const struct wl_observations *obs, struct wl_unlike_repeats *out,
                           struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Prints a line for each, but for `shortened` of the first alone; nothing where there are none. */
void wl_unlike_repeats_print(const struct wl_unlike_repeats *r, bool shortened, struct wl_arena *a);
void wl_unlike_repeats_json(const struct wl_unlike_repeats *r,
                            struct wl_json *root); /* unlike_repeats; nothing of a CSV file */

#endif
