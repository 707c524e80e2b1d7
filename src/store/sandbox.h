/* What a file may make SQLite do. */
#ifndef WL_STORE_SANDBOX_H
#define WL_STORE_SANDBOX_H

#include "base/base.h"

struct wl_store;

/* Before anything is read: views and triggers of the file are off, and so is every module, function and pragma that no
 * statement of ours needs; a reader changes nothing but its temporary tables. */
void wl_sandbox_connection(struct wl_store *s);

/* The system's files, except those that a journal says to be of a transaction over several databases: SQLite would
 * remove them. To be called once, before a connection names it. */
#define WL_SANDBOX_VFS "wattlaw"
void wl_sandbox_register_vfs(void);

/* The views and triggers of the file are ours: they may run. */
void wl_sandbox_trust_schema(struct wl_store *s);

#endif
