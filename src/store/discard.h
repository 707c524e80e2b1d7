/* A store that this process has made and in which nothing was stored: removed with what was made for it. */
#ifndef WL_STORE_DISCARD_H
#define WL_STORE_DISCARD_H

#include "base/base.h"

struct wl_store;

/* Makes the folders of a store that is not there yet, and its file, empty. Where another process makes the file at this
 * moment, or files that SQLite would keep next to it are there already, it isn't ours to remove: s->made stays NULL. */
int wl_store_make_file(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

#endif
