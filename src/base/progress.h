/* Progress of work that takes more than two seconds: a bar on a terminal, occasional lines in a log. */
#ifndef WL_BASE_PROGRESS_H
#define WL_BASE_PROGRESS_H

#include "base/arena.h"

struct wl_progress {
    const char *what;
    int64_t started_ns, shown_ns;
    bool tty, drawn;
};

void wl_progress_start(struct wl_progress *p, const char *what); /* writes to stderr */

/* `done` of `total` units, fractions included, followed by `note` (NULL: none). Draws at most ten times per second on a
 * terminal and every 10 s in a log. Shows the remaining time from the pace so far, or from left_s if >= 0; 0: none is
 * shown. */
void wl_progress_update(struct wl_progress *p, double done, double total, double left_s, const char *note);
void wl_progress_clear(struct wl_progress *p); /* removes the bar, before other output */

#endif
