/* Locks of running runs and campaigns. */
#ifndef WL_STORE_LOCK_H
#define WL_STORE_LOCK_H

#include "base/base.h"

struct wl_store;

int64_t wl_lock_of_run(int64_t run);
int64_t wl_lock_of_campaign(int64_t campaign);

/* Holds a lock until it is released, the store is closed or the process dies: 1 taken, 0 someone else has it,
 * negative: locks do not work here. */
int wl_store_lock(struct wl_store *s, int64_t number, struct wl_err *e) WL_MUST_CHECK;
void wl_store_unlock(struct wl_store *s, int64_t number);

/* 1 someone holds it, 0 it is free, negative: cannot tell. */
int wl_store_locked(struct wl_store *s, int64_t number);

#endif
