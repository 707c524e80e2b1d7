/* One call for each of many independent items, in several threads. */
#ifndef WL_BASE_PARALLEL_H
#define WL_BASE_PARALLEL_H

#include "base/arena.h"

/* Calls one(ctx, i, arena) for each i below n, in a thread for each core that the process may use (at most 64 and n),
 * and returns when all are done. Items are taken in order by whichever thread is free, so what `one` leaves for item i
 * must depend on i alone: then it is the same for any number of threads. `arena` is the thread's, a child of `a`, which
 * nobody else may use meanwhile. Where a thread cannot be started, the others do its work. */
void wl_parallel(size_t n, void (*one)(void *ctx, size_t i, struct wl_arena *arena), void *ctx, struct wl_arena *a);

#endif
