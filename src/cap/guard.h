/* The guard process, which restores caps when its parent dies. docs/adr/090 */
#ifndef WL_CAP_GUARD_H
#define WL_CAP_GUARD_H

#include "base/base.h"

#include <sys/types.h>

struct wl_guard {
    pid_t pid; /* 0: none */
    int pipe;  /* closed by our death */
};

/* Returns when the guard is ready: from then on it notices our death. */
int wl_guard_start(struct wl_guard *g, const char *program, const char *journal, struct wl_arena *a, struct wl_err *e);
bool wl_guard_is_alive(struct wl_guard *g);
void wl_guard_dismiss(struct wl_guard *g); /* nothing is left to guard */
void wl_guard_detach(struct wl_guard *g);  /* it acts when this process ends */

#endif
