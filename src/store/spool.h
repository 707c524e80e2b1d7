/* Readings that a killed run left in its spool. */
#ifndef WL_STORE_SPOOL_H
#define WL_STORE_SPOOL_H

#include "base/base.h"

struct wl_store;

/* Stores the readings in the spools of runs whose wattlaw is dead, and removes these files. */
int wl_spool_recover(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

/* The same of one run, whose lock is ours. */
int wl_spool_recover_run(struct wl_store *s, int64_t run, struct wl_err *e) WL_MUST_CHECK;

/* For a reader, inside a transaction: makes them part of what it sees as `sample`. */
int wl_spool_overlay(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

/* Closes our own file, which stays. */
void wl_spool_detach(struct wl_store *s);

#endif
