/* Limits that another program sets when the job starts: they can only be seen while it runs. */
#ifndef WL_CAP_WATCH_H
#define WL_CAP_WATCH_H

#include "cap/setter.h"

/* Reads the watched ones, at most once in half a second. setting [controls->n]: `enforced` becomes the highest clock
 * that a GPU was seen at since it first was as asked; of a limit that can be read, the value next to the requested one.
 */
struct wl_cap_watch {
    int64_t next_ns; /* 0: at once */
    bool hangs;      /* a driver did not answer: not asked again */
};
void wl_cap_watch_poll(struct wl_cap_watch *w, const struct wl_controls *controls, struct wl_cap_setting *setting);

/* Why a request had no effect, or is not known to have had one; NULL: it had, or nothing is watched. */
const char *wl_cap_watch_failure(const struct wl_controls *controls, const struct wl_cap_setting *setting,
                                 struct wl_arena *a);

#endif
