/* One thread that looks at the files of all stores while there are clients, and makes events of what has changed. */
#ifndef WL_SERVE_WATCH_H
#define WL_SERVE_WATCH_H

#include "serve/events.h"
#include "serve/snapshot.h"

/* Ends with the arena. */
struct wl_watch;
int wl_watch_new(struct wl_watch **out, struct wl_served **stores, size_t n, struct wl_events *events,
                 struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* A client came (1) or went (-1): without any the thread sleeps. */
void wl_watch_clients(struct wl_watch *w, int change);

#endif
