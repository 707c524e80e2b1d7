/* wattlaw compare BASE NEW: two versions of a job, for continuous integration. */
#ifndef WL_CMD_WATTLAW_GATE_H
#define WL_CMD_WATTLAW_GATE_H

#include "base/base.h"

/* Exit status of a comparison that the runs do not decide, unless --undecided says what it counts as. */
enum { WL_EXIT_UNDECIDED = 3 };

struct wl_gate_request {
    const char *base, *now; /* stores, folders of campaigns or CSV files */
    struct wl_strs fail_if; /* conditions: "energy>3%" */
    const char *work;       /* as in wl_law_per_work */
    const char *undecided;  /* pass, fail; NULL: WL_EXIT_UNDECIDED */
    struct wl_strs map, by;
    int64_t drop_epochs;
    bool json, markdown, exclude_busy;
};

/* Prints the comparison. Returns the exit status. */
int wl_gate_run(const struct wl_gate_request *q, struct wl_arena *a, struct wl_err *e);

#endif
