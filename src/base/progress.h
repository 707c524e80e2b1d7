/* Progress of something that takes more than two seconds: a bar on a terminal, a line now and then in a log. */
#ifndef WL_BASE_PROGRESS_H
#define WL_BASE_PROGRESS_H

#include "base/arena.h"

struct wl_progress {
    const char *what;
    int64_t started_ns, shown_ns;
    bool tty, drawn;
};

void wl_progress_start(struct wl_progress *p, const char *what); /* writes to stderr */

/* done of total units (a fraction may be reached inside one unit); `note` stands behind, NULL: nothing. Draws at most
 * ten times a second on a terminal and every 10 s in a log; shows the time left from the pace so far, unless
 * left_s >= 0 gives a better estimate; 0: it is used up, and nothing is said of it. */
void wl_progress_update(struct wl_progress *p, double done, double total, double left_s, const char *note);
void wl_progress_clear(struct wl_progress *p); /* removes the bar, before other output */

#endif
