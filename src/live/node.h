/* Watches this node. */
#ifndef WL_LIVE_NODE_H
#define WL_LIVE_NODE_H

#include "live/view.h"

struct wl_live_opts {
    struct wl_power_opts power;
    bool processes; /* look for who uses the devices, too */
};

struct wl_live;

/* Opens the sensors, starts the sampler and two threads of its own: one takes the samples from it, the other asks
 * drivers for limits and processes, which may take long. Codes of wl_sensors_open. It ends with the arena. */
int wl_live_start(struct wl_live **out, const struct wl_live_opts *o, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

/* A consistent copy in `a`, from any thread; it refers to the sensors, which live until wl_live_stop. */
const struct wl_live_view *wl_live_look(struct wl_live *l, struct wl_arena *a);

/* Ends the threads; a driver that hangs is abandoned after 2 s. A second call does nothing. */
void wl_live_stop(struct wl_live *l);

#endif
