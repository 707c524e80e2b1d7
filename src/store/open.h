/* Opening a store, its transactions and its soundness. */
#ifndef WL_STORE_OPEN_H
#define WL_STORE_OPEN_H

#include "base/base.h"

#define WL_STORE_VERSION 22
#define WL_STORE_FILE    "wattlaw.db" /* the store inside a campaign's folder */

struct wl_store;

enum wl_store_mode {
    WL_STORE_READ,   /* must exist; also from read-only media, and of any version */
    WL_STORE_WRITE,  /* must exist; brings an older version up to date */
    WL_STORE_CREATE, /* as WRITE; makes the file and its folder where they are missing */
};

/* Opens a store; it is closed with the arena, or earlier by wl_store_close. Opening for writing stores the last
 * readings of runs whose wattlaw was killed and closes these runs (wl_store_recover); opening for reading shows these
 * readings with the stored ones.
 *
 * Reading changes nothing: the file stays as it is, byte by byte, in whatever version; where it lacks what the newest
 * one has, the connection adds it in memory. Files that SQLite needs next to it while it is open (-wal, -shm) are
 * removed at the end where the folder is ours, and not made where it is not (docs/adr/056).
 *
 * The file may come from anybody. Nothing that it holds is executed: its own views and triggers, virtual tables,
 * computed columns are refused or not used, and a cell of another type than schema.sql has is an error that names it.
 */
int wl_store_open(struct wl_store **out, const char *path, enum wl_store_mode mode, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

/* Opens it for writing to go on with a run whose wattlaw on this host is dead, instead of closing it. WL_EINVAL: the
 * run is not running any more; WL_EPERM: its wattlaw lives. */
int wl_store_open_run(struct wl_store **out, const char *path, int64_t run, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* A complete store that no other process has open becomes a single file, to be copied to another machine: SQLite makes
 * no files next to it when it is read. */
int wl_store_seal(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

void wl_store_close(struct wl_store *s); /* NULL and twice are fine */

/* After a failure: closes the store, and where this wl_store_open made it, no run has begun in it and nobody else has
 * it open, removes it with the files next to it and the folders that were made for it. `folder` (may be NULL) goes with
 * it where it is empty. Any other store is closed and nothing else. A wl_store_open that fails does this itself. */
void wl_store_discard(struct wl_store *s, const char *folder);
const char *wl_store_path(const struct wl_store *s);

/* The version that the file had when it was opened; WL_STORE_VERSION for a new one. */
int64_t wl_store_version_found(const struct wl_store *s);

/* The store a user means: a file, or the folder of a campaign. WL_ENOENT when there is none. */
int wl_store_find(const char *given, char **path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Is another one after each commit, as times and sizes of the files tell, which may be in steps of seconds: a stamp
 * that is younger than that may stay the same. Nothing is opened or locked. */
struct wl_store_stamp {
    int64_t changed_wall_ns; /* by the clock of the file system; 0: no file */
    int64_t size, inode;
};
struct wl_store_stamp wl_store_stamp(const char *path);

/* Several writes as one. A transaction that is not committed is rolled back by wl_store_rollback or at close;
 * rollback after a failed write is needed before the next begin. Not nested. */
int wl_store_begin(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;
/* Reads from here to the commit, the rollback or close see one state of the file, which SQLite locks once, not at each.
 */
int wl_store_begin_read(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;
int wl_store_commit(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;
void wl_store_rollback(struct wl_store *s);

/* Reads every page: WL_EINVAL with the first finding. */
int wl_store_check(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

#endif
