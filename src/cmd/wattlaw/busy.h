/* Runs of an analysis that were measured on a busy machine: they are listed, and left out on request. */
#ifndef WL_CMD_WATTLAW_BUSY_H
#define WL_CMD_WATTLAW_BUSY_H

#include "base/base.h"
#include "store/read.h"

struct wl_busy_runs {
    const char *of;           /* whose runs, where there are several tables ("BASE"); NULL: there is one */
    struct wl_busy_rows rows; /* those that the table has rows of */
    size_t runs;              /* all runs of the table */
    bool known;               /* a store says which they are, a CSV file does not */
    bool excluded;            /* they are no longer in it */
};

/* Finds them, and with `exclude` takes their rows out of the table. WL_EUSAGE: that was asked for a CSV file, which
 * does not say; WL_EINVAL: no run is left. */
int wl_busy_runs_find(const char *path, bool exclude, struct wl_observations *obs, struct wl_busy_runs *out,
                      struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* "3 of 12 runs of BASE, included (--exclude-busy leaves them out)"; NULL: there are none. */
const char *wl_busy_runs_text(const struct wl_busy_runs *b, struct wl_arena *a);

/* Prints that, and but for `shortened` which runs; nothing where there are none. */
void wl_busy_runs_print(const struct wl_busy_runs *b, bool shortened, struct wl_arena *a);
void wl_busy_runs_json(const struct wl_busy_runs *b,
                       struct wl_json *root); /* busy_runs, busy_excluded; nothing of a CSV file */

#endif
