/* The file of a store, the files next to it and the file system that it is on. */
#ifndef WL_STORE_FILES_H
#define WL_STORE_FILES_H

#include "base/base.h"

#include <sys/types.h>

struct wl_store;

int wl_store_refused(const struct wl_store *s, const char *what, struct wl_err *e); /* "not a wattlaw store (what)" */

/* Sets s->file and whether it is in WAL mode; for WL_STORE_CREATE makes the folder. */
int wl_files_check(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

off_t wl_files_wal_size(const struct wl_store *s); /* of PATH-wal; -1: there is none */
bool wl_files_writable(const struct wl_store *s);  /* the file is, and both it and its folder can be written to */
char *wl_files_immutable_uri(const struct wl_store *s);
void wl_files_record_identity(struct wl_store *s); /* which file is open, for the two calls below */

/* WL_ENOENT: the file was removed or replaced since it was opened, so that what is written now would be lost. */
int wl_store_check_exists(const struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

/* For a reader that opened the file as immutable: WL_EIO if somebody has begun to write to it. */
int wl_store_check_unchanged(const struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

/* Is the path on a file system that several machines share, where WAL does not work? */
bool wl_store_on_netfs(const char *path);

#endif
