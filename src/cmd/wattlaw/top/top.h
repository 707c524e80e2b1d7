/* wattlaw top: this node and the running campaign, live. rows.c says what is on the screen; screen.h is the screen as
 * rows of text; terminal.c draws it. */
#ifndef WL_CMD_WATTLAW_TOP_TOP_H
#define WL_CMD_WATTLAW_TOP_TOP_H

#include "cmd/wattlaw/top/screen.h"
#include "live/live.h"

/* ---- what is shown ---- */

struct wl_top_campaign {
    const char *name;
    size_t all, done, failed, running, waiting;
    const char *left, *used; /* texts of status */
};

/* A run that is under way; -1 and NAN: not known. */
struct wl_top_run {
    int64_t id;
    const char *settings;
    int64_t epoch, step, steps; /* that began last; of `steps` in all */
    double elapsed_s;
    struct wl_amount energy; /* so far, up to age_s ago */
    double age_s;
};

struct wl_top_campaigns {
    const char *why; /* why the store cannot be read; NULL: it can */
    struct wl_top_campaign *v;
    size_t n;
    struct wl_top_run *runs;
    size_t n_runs;
};

/* Order of the processes. */
enum wl_top_sort { WL_TOP_BY_CPU, WL_TOP_BY_GPU, WL_TOP_BY_GPU_MEMORY, WL_TOP_BY_MEMORY, WL_TOP_BY_PID, WL_TOP_SORTS };
extern const char *const wl_top_sort_names[]; /* "cpu", "gpu" ..., by enum, then NULL */

struct wl_top_state {
    double period_s; /* between two screens */
    enum wl_top_sort sort;
    size_t first;    /* process that is shown first */
    bool help, keys; /* keys: there is somebody who can press them */
};

/* The whole screen. height 0: as many rows as it takes, with `most` processes. */
struct wl_top_screen wl_top_rows(const struct wl_live_view *v, const struct wl_top_campaigns *c,
                                 const struct wl_top_state *state, size_t width, size_t height, struct wl_arena *a);
enum { WL_TOP_PROCESSES = 10 }; /* that a screen without a height shows */

struct wl_json *wl_top_json(const struct wl_live_view *v, struct wl_arena *a);

#endif
