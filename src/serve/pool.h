/* Threads for requests that read stores, and one for what takes seconds, which gives way to everything else on the
 * machine. */
#ifndef WL_SERVE_POOL_H
#define WL_SERVE_POOL_H

#include "base/base.h"

enum wl_pool_queue { WL_POOL_QUICK, WL_POOL_SLOW, WL_POOL_QUEUES };

/* Ends with the arena: calls that wait are made before. */
struct wl_pool;
int wl_pool_new(struct wl_pool **out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Calls call(what) in a thread of the queue; false: too many wait there. */
bool wl_pool_add(struct wl_pool *p, enum wl_pool_queue queue, void (*call)(void *what), void *what);

/* Waits until all calls have been made; later ones are refused. */
void wl_pool_drain(struct wl_pool *p);

#endif
