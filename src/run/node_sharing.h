/* Is the job alone on its node? */
#ifndef WL_RUN_NODE_SHARING_H
#define WL_RUN_NODE_SHARING_H

#include "base/base.h"

struct wl_node_sharing {
    struct wl_arena *a;
    int fd;          /* -1: other measurements cannot be seen */
    const char *why; /* they cannot; NULL: they can */
    bool seen;       /* there was another one */
};
void wl_node_sharing_begin(struct wl_node_sharing *s, struct wl_arena *a); /* others see us, until the arena is freed */
void wl_node_sharing_check(struct wl_node_sharing *s);
const char *wl_node_sharing_note(struct wl_node_sharing *s); /* a sentence; NULL: we are alone */

#endif
