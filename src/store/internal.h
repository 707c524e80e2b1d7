/* Inside the store: the connection, statements, and the maps between rows and structs. */
#ifndef WL_STORE_INTERNAL_H
#define WL_STORE_INTERNAL_H

#include "store/store.h"

#include <sqlite3.h>
#include <sys/types.h>

struct field;
struct spool;

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
    bool immutable; /* opened as immutable; the file's mtime then: */
    struct timespec changed;
    bool tidy; /* remove the files next to the store that a reader made */

    struct cached {
        char *sql;
        sqlite3_stmt *stmt;
    } * cache;
    size_t n_cache, cache_cap;

    struct insert { /* a map's INSERT, in the cache; table, suffix and map are static */
        const char *table, *suffix;
        const struct field *map;
        sqlite3_stmt *stmt;
    } * inserts;
    size_t n_inserts, inserts_cap;

    int lock_fd;         /* PATH-lock, -1 until the first lock */
    struct spool *spool; /* of the run that is measured, NULL: none */
};

/* ---- sql.c: statements ---- */

/* A value to bind: NAN, WL_NO_NS and the NULL text become NULL. */
struct sql_value {
    enum { SQL_INT, SQL_REAL, SQL_TEXT } type;
    int64_t i;
    double r;
    const char *s;
};
static inline struct sql_value sql_int(int64_t i) { return (struct sql_value) { .type = SQL_INT, .i = i }; }
static inline struct sql_value sql_real(double r) { return (struct sql_value) { .type = SQL_REAL, .r = r }; }
static inline struct sql_value sql_text(const char *s) { return (struct sql_value) { .type = SQL_TEXT, .s = s }; }

/* The values of ?1, ?2 ... as the two arguments `values, n` of the calls below. */
#define SQL(...)                                \
    (const struct sql_value[]) { __VA_ARGS__ }, \
        sizeof((const struct sql_value[]) { __VA_ARGS__ }) / sizeof(struct sql_value)
#define SQL_NONE NULL, 0

/* The compiled statement, from the cache, reset and without values. */
int wl_sql_get(struct wl_store *s, const char *sql, sqlite3_stmt **out, struct wl_err *e) WL_MUST_CHECK;
int wl_sql_bind(struct wl_store *s, sqlite3_stmt *stmt, const struct sql_value *v, size_t n,
                struct wl_err *e) WL_MUST_CHECK;

/* One step: 1 a row, 0 the end, negative an error; resets at the end and on error. */
int wl_sql_step(struct wl_store *s, sqlite3_stmt *stmt, struct wl_err *e) WL_MUST_CHECK;

/* Runs a statement that returns no rows. */
int wl_sql_do(struct wl_store *s, const char *sql, const struct sql_value *v, size_t n, struct wl_err *e) WL_MUST_CHECK;

/* The first column of the first row: 1 found, 0 no row or NULL (*out as it was), negative an error. */
int wl_sql_find(struct wl_store *s, const char *sql, const struct sql_value *v, size_t n, int64_t *out,
                struct wl_err *e) WL_MUST_CHECK;

/* Several statements in one text, without values. */
int wl_sql_script(struct wl_store *s, const char *script, struct wl_err *e) WL_MUST_CHECK;

/* Turns SQLite's last error into ours, with the SQL quoted. */
int wl_sql_fail(struct wl_store *s, int rc, const char *sql, struct wl_err *e);

/* Finalizes all statements. */
void wl_sql_finalize_all(struct wl_store *s);

/* Whether a call opened the transaction itself. */
struct sql_tx {
    bool ours;
};
int wl_sql_begin(struct wl_store *s, bool durable, struct sql_tx *tx, struct wl_err *e) WL_MUST_CHECK;
/* Commits when rc is 0 and rolls back otherwise, if this call opened it; returns rc or the commit's error. */
int wl_sql_end(struct wl_store *s, const struct sql_tx *tx, int rc, struct wl_err *e) WL_MUST_CHECK;

/* ---- rows.c: structs and rows ---- */

enum field_type {
    F_INT,    /* int64_t, NOT NULL */
    F_TIME,   /* int64_t, WL_NO_NS is NULL */
    F_BOOL,   /* bool, 0/1; NULL is false */
    F_REAL,   /* double, NAN is NULL */
    F_COUNT,  /* double that holds a whole number, at least 0, NAN is NULL */
    F_WHOLE,  /* the same, negative ones too */
    F_TEXT,   /* const char *, NULL is NULL */
    F_NAME,   /* const char *, NOT NULL */
    F_OBJECT, /* F_TEXT that is a JSON object */
    F_STATUS, /* enum wl_run_status as its name */
};

/* One column: its name in the table (when read: any SQL expression) and its field. A map ends with name NULL. */
struct field {
    const char *name;
    enum field_type type;
    size_t offset;
};

/* SELECT of the map's columns `from` (the query after the select list) into an array of structs of `size`. A cell may
 * hold anything: WL_EINVAL names one whose type or range is not the field's. Integers are within +-2^62, so that the
 * difference of two of them does not overflow. */
int wl_rows_select(struct wl_store *s, const struct field *map, const char *from, const struct sql_value *v, size_t nv,
                   size_t size, void *rows, size_t *n, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The two columns t_ns and value of a row of `sample`. */
int wl_rows_reading(struct wl_store *s, sqlite3_stmt *stmt, int64_t *t_ns, double *value,
                    struct wl_err *e) WL_MUST_CHECK;

/* INSERTs n structs. `key` names a first column that has the same value `id` in all rows of the table; NULL: none.
 * `suffix` follows the values ("ON CONFLICT DO NOTHING"), "": none. The texts and the map are static. */
int wl_rows_insert(struct wl_store *s, const char *table, const char *key, int64_t id, const struct field *map,
                   const void *rows, size_t n, size_t size, const char *suffix, struct wl_err *e) WL_MUST_CHECK;

enum { MAX_FIELDS = 64 }; /* of a map that is inserted */

/* Maps that are both written and read (read.c). */
extern const struct field wl_epoch_map[], wl_energy_map[], wl_phase_map[], wl_metric_map[], wl_metric_def_map[],
    wl_stat_map[], wl_variation_map[];
extern const struct field wl_device_map[], wl_channel_map[]; /* the first column is the id */
extern const struct field wl_mark_map[];

/* ---- migrate.c ---- */

enum { STORE_APPLICATION_ID = 0x774c4157 }; /* "wLAW" at byte 68 of the file */

extern const unsigned char wl_schema_sql[], wl_views_sql[]; /* the .sql files, as texts */
extern const unsigned char wl_migrate_1_sql[], wl_migrate_2_sql[], wl_migrate_3_sql[], wl_migrate_4_sql[],
    wl_migrate_5_sql[], wl_migrate_6_sql[], wl_migrate_7_sql[], wl_migrate_8_sql[], wl_migrate_9_sql[],
    wl_migrate_10_sql[], wl_migrate_11_sql[], wl_migrate_12_sql[], wl_migrate_13_sql[], wl_migrate_14_sql[],
    wl_fill_5_sql[];

/* Inside a transaction: makes everything in an empty file. */
int wl_store_create(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

/* Inside a transaction: brings the tables from version `from` to the newest and makes views and triggers anew.
 * steps[i] leads from version i + 1 to i + 2: `sql` changes tables, `fill` (NULL: nothing) makes the rows that follow
 * from what was there, in tables that `sql` has made. sql NULL ends the list. */
struct store_step {
    const unsigned char *sql, *fill;
};
int wl_store_migrate(struct wl_store *s, int64_t from, struct wl_err *e) WL_MUST_CHECK;
int wl_store_migrate_by(struct wl_store *s, const struct store_step *steps, int64_t from,
                        struct wl_err *e) WL_MUST_CHECK;

/* Inside a transaction: drops all views and triggers and makes ours. */
int wl_store_remake_views(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

/* For a reader: the rows that migrations from version `from` on make, without changing tables. */
int wl_store_fill(struct wl_store *s, int64_t from, struct wl_err *e) WL_MUST_CHECK;

/* ---- sandbox.c: what a file may make SQLite do ---- */

/* Before anything is read: views and triggers of the file are off, and so is every module, function and pragma that no
 * statement of ours needs; a reader changes nothing but its temporary tables. */
void wl_sandbox_connection(struct wl_store *s);

/* The system's files, except those that a journal says to be of a transaction over several databases: SQLite would
 * remove them. To be called once, before a connection names it. */
#define WL_SANDBOX_VFS "wattlaw"
void wl_sandbox_register_vfs(void);

/* The views and triggers of the file are ours: they may run. */
void wl_sandbox_trust_schema(struct wl_store *s);

/* ---- schema.c: tables, columns, views and triggers ---- */

struct wl_schema_object {
    enum { WL_SCHEMA_TABLE, WL_SCHEMA_VIEW, WL_SCHEMA_TRIGGER } kind;
    const char *name, *sql;
    struct wl_schema_column {
        const char *name, *fallback; /* fallback: the default, as SQL; NULL: none */
        bool there;
    } * columns; /* of a table */
    size_t n_columns;
    bool there, lacks_columns; /* in the file */
};
struct wl_schema {
    struct wl_schema_object *v;
    size_t n;
};

/* Those of the newest version. */
int wl_schema_expected(struct wl_schema *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Which tables and columns the file has. Only real tables count. WL_EINVAL: a column is computed. */
int wl_schema_inspect(struct wl_store *s, struct wl_schema *shapes, struct wl_err *e) WL_MUST_CHECK;

/* After that: WL_EINVAL names a table or column that is missing. */
int wl_schema_check_complete(const struct wl_store *s, const struct wl_schema *shapes, struct wl_err *e) WL_MUST_CHECK;

/* Are the views and triggers ours? *remake: one of ours is missing or differs. WL_EINVAL: there is a foreign trigger.
 */
int wl_schema_check_code(struct wl_store *s, struct wl_schema *shapes, bool *remake, struct wl_err *e) WL_MUST_CHECK;

/* ---- overlay.c ---- */

/* Lays over a file of this or an older version what it lacks. */
int wl_overlay_prepare(struct wl_store *s, int64_t version, struct wl_err *e) WL_MUST_CHECK;

/* ---- spool.c: readings left by killed runs ---- */

/* Stores what lies in files of runs that nobody looks after, and removes them. */
int wl_spool_recover(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

/* For a reader, inside a transaction: makes them part of what it sees as `sample`. */
int wl_spool_overlay(struct wl_store *s, struct wl_err *e) WL_MUST_CHECK;

/* The same of one run, whose lock is ours. */
int wl_spool_recover_run(struct wl_store *s, int64_t run, struct wl_err *e) WL_MUST_CHECK;

/* Closes our own file, which stays. */
void wl_spool_detach(struct wl_store *s);

/* ---- netfs.c ---- */

/* Is the path on a file system that several machines share, where WAL does not work? */
bool wl_store_on_netfs(const char *path);

/* ---- files.c: the file of the store and what is beside it ---- */

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

/* ---- run.c ---- */

/* Makes a running run of a dead wattlaw ours. */
int wl_store_run_take_over(struct wl_store *s, int64_t run, struct wl_err *e) WL_MUST_CHECK;

/* ---- nodes.c ---- */

/* The nodes and caps of a run that ends; its row is closed. */
int wl_store_add_nodes_caps(struct wl_store *s, int64_t run, const struct wl_run_end *end,
                            struct wl_err *e) WL_MUST_CHECK;

/* ---- lock.c ---- */

int64_t wl_lock_of_run(int64_t run);
int64_t wl_lock_of_campaign(int64_t campaign);

/* Holds a lock until it is released, the store is closed or the process dies: 1 taken, 0 someone else has it,
 * negative: locks do not work here. */
int wl_store_lock(struct wl_store *s, int64_t number, struct wl_err *e) WL_MUST_CHECK;
void wl_store_unlock(struct wl_store *s, int64_t number);

/* 1 someone holds it, 0 it is free, negative: cannot tell. */
int wl_store_locked(struct wl_store *s, int64_t number);

#endif
