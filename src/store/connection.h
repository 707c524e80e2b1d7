/* The connection to the file of a store, and what is known about that file. */
#ifndef WL_STORE_CONNECTION_H
#define WL_STORE_CONNECTION_H

#include "store/open.h"

#include <sqlite3.h>
#include <sys/types.h>

struct wl_column_map;
struct wl_spool;

/* The file of a store that this process made. */
struct wl_store_made {
    dev_t dev;
    ino_t ino;
    size_t folders; /* wl_mkdirs_made */
    bool lock;      /* there was no PATH-lock before */
};

struct wl_store {
    struct wl_arena *arena; /* the caller's; bookkeeping that lives as long as the store */
    char *path;             /* as given, for messages */
    char *file;             /* without links: files next to it are named after it */
    enum wl_store_mode mode;
    sqlite3 *db;
    int64_t version; /* found */
    bool has_wal_mode;
    bool network;            /* a network file system: no WAL */
    const char *synchronous; /* the level set last, NULL: none yet */
    dev_t dev;               /* which file was opened; ino 0: not yet */
    ino_t ino;
    struct wl_store_made *made; /* NULL: it was there */
    bool immutable;             /* opened as immutable; the file's mtime then: */
    struct timespec mtime;
    bool lacks_totals;    /* a reader of an older version, whose table `total` is still empty; */
    bool asks_totals;     /* a statement that reads it has been compiled */
    bool shows_spools;    /* has a TEMP table of readings from spools */
    bool remove_sidecars; /* at close: the files next to the store that SQLite made for this reader */

    struct wl_cached_statement {
        char *sql;
        sqlite3_stmt *stmt;
    } * cache;
    size_t n_cache, cache_cap;

    struct wl_cached_insert { /* compiled, in the cache above; the texts and the map are static */
        const char *table, *suffix;
        const struct wl_column_map *map;
        sqlite3_stmt *stmt;
    } * inserts;
    size_t n_inserts, inserts_cap;

    int lock_fd;            /* PATH-lock, -1 until the first lock */
    struct wl_spool *spool; /* of the run that is measured, NULL: none */
};

#endif
