/* What drivers are asked besides readings: power limits and the processes on GPUs. They may take long or never answer,
 * so a thread of its own asks them, each with a timeout, and others look at what it has found. */
#ifndef WL_LIVE_DRIVERS_H
#define WL_LIVE_DRIVERS_H

#include "cap/cap.h"

struct wl_live_drivers;

struct wl_live_gpu_user {
    const char *gpu; /* uuid */
    struct wl_gpu_user user;
};

/* What was found last. Texts live in the arena of wl_live_drivers_look. */
struct wl_live_drivers_view {
    struct wl_cap_present *caps;
    size_t n_caps;
    const char *caps_why; /* why there are none; NULL: there are, or the first answer is still to come */
    struct wl_live_gpu_user *users;
    size_t n_users;
    const char *users_why;
};

/* Starts the thread; NULL: there can be none. */
struct wl_live_drivers *wl_live_drivers_start(const struct wl_power_opts *power, bool users);
void wl_live_drivers_look(struct wl_live_drivers *d, struct wl_live_drivers_view *out, struct wl_arena *a);

/* Ends the thread and frees all; where a driver does not answer within 2 s, both are abandoned. */
void wl_live_drivers_stop(struct wl_live_drivers *d);

#endif
