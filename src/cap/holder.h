/* The process that holds a cap or a device. */
#ifndef WL_CAP_HOLDER_H
#define WL_CAP_HOLDER_H

#include "base/base.h"

#include <sys/types.h>

struct wl_holder {
    int64_t pid, started; /* started: clock ticks after boot, to detect a reused pid */
    const char *boot_id, *pid_ns, *host;
};

int wl_holder_self(struct wl_holder *out, struct wl_arena *a, struct wl_err *e);
void wl_holder_write(const struct wl_holder *h, struct wl_json *o);
int wl_holder_read(const struct wl_json *o, const char *path, struct wl_holder *out, struct wl_err *e);

/* The holder is dead if DEAD or REBOOTED; else `*why` says why it may live. ELSEWHERE: in another container;
 * OTHER_HOST: on another machine. A process is the holder only if its user is `owner`, who wrote the claim. */
enum wl_holder_state { WL_HOLDER_DEAD, WL_HOLDER_REBOOTED, WL_HOLDER_ALIVE, WL_HOLDER_ELSEWHERE, WL_HOLDER_OTHER_HOST };
enum wl_holder_state wl_holder_state_of(const struct wl_holder *h, uid_t owner, const char **why, struct wl_arena *a);

#endif
