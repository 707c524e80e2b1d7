#include "store/open.h"

#include "base/trust.h"
#include "store/connection.h"
#include "store/files.h"
#include "store/migrate.h"
#include "store/overlay.h"
#include "store/recover.h"
#include "store/run.h"
#include "store/sandbox.h"
#include "store/schema.h"
#include "store/spool.h"
#include "store/sql.h"

#include <pthread.h>
#include <unistd.h>

enum { BUSY_MS = 10000 };

/* ---- the connection ---- */

/* SQLite's account of its memory takes a lock at each allocation. Refused, and no matter, where SQLite is in use. */
static void set_up_once(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    wl_sandbox_register_vfs();
}

static int open_db(struct wl_store *s, const char *name, int flags, struct wl_err *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up_once);
    int rc = sqlite3_open_v2(name, &s->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, WL_SANDBOX_VFS);
    s->synchronous = NULL;
    if (rc) {
        rc = wl_sql_fail(s, rc, NULL, e);
        sqlite3_close(s->db);
        s->db = NULL;
        return rc;
    }
    sqlite3_busy_timeout(s->db, BUSY_MS);
    wl_sandbox_connection(s);
    return 0;
}

static void close_db(struct wl_store *s)
{
    wl_sql_finalize_all(s);
    sqlite3_close_v2(s->db);
    s->db = NULL;
}

/* Opens the file as immutable: SQLite makes no file next to it and does not lock it (wl_store_check_unchanged). */
static int open_immutable(struct wl_store *s, struct wl_err *e)
{
    if (wl_files_wal_size(s) > 0)
        return wl_fail(e, WL_EPERM,
                       "%s: was not closed properly and its folder is read-only: copy it together with %s-wal", s->path,
                       wl_path_base(s->file));
    s->immutable = true;
    return open_db(s, wl_files_immutable_uri(s), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, e);
}

/* To read a store in WAL mode SQLite makes files next to it. In a folder of ours they are removed; in that of another
 * user they would be ours and lock the owner out. */
static int open_to_read(struct wl_store *s, struct wl_err *e)
{
    bool ours = wl_files_writable(s);
    s->remove_sidecars = s->has_wal_mode && ours && wl_files_wal_size(s) < 0;
    if (s->has_wal_mode && !ours && wl_files_wal_size(s) < 0) return open_immutable(s, e);
    return open_db(s, s->path, SQLITE_OPEN_READONLY, e);
}

/* The first look into the file, which finds out whether it can be read at all: on read-only media SQLite cannot make
 * its shared memory, but without a log the file is complete. */
static int first_read(struct wl_store *s, struct wl_err *e)
{
    int64_t n;
    int rc = wl_sql_find(s, "SELECT count(*) FROM main.sqlite_schema", SQL_NONE, &n, e);
    if (rc >= 0) return 0;
    if (e->code != WL_EPERM || s->mode != WL_STORE_READ || s->immutable) return rc;
    if (sqlite3_extended_errcode(s->db) == SQLITE_READONLY_ROLLBACK)
        return wl_fail(
            e, WL_EPERM,
            "%s: its writer was killed in the middle of a change, which the next writer undoes: wattlaw rebuild %s",
            s->path, s->path);
    close_db(s);
    rc = open_immutable(s, e);
    if (rc) return rc;
    rc = wl_sql_find(s, "SELECT count(*) FROM main.sqlite_schema", SQL_NONE, &n, e);
    return rc < 0 ? rc : 0;
}

/* SQLite removes the files that it made next to the store when the last connection that may write closes it. */
static void remove_sidecars(struct wl_store *s)
{
    if (!s->remove_sidecars || wl_files_wal_size(s) != 0) return;
    s->remove_sidecars = false;
    if (open_db(s, s->file, SQLITE_OPEN_READWRITE, NULL)) return;
    sqlite3_busy_timeout(s->db, 0);
    sqlite3_exec(s->db, "PRAGMA application_id", NULL, NULL, NULL);
    close_db(s);
}

/* WAL lets readers and a writer work side by side and a process be killed at any time; across machines it does not
 * work, there the rollback journal and a sync at each commit do. SQLite does not wait for others when the mode of a
 * file changes, so that several processes that open a new store at once have to try again. */
static int set_journal(struct wl_store *s, struct wl_err *e)
{
    const char *sql = s->network ? "PRAGMA journal_mode = TRUNCATE" : "PRAGMA journal_mode = WAL";
    int64_t ignored, end_ns = wl_now_ns() + BUSY_MS * (WL_NS_PER_S / 1000);
    int rc;
    while ((rc = wl_sql_find(s, sql, SQL_NONE, &ignored, e)) < 0) {
        if ((sqlite3_errcode(s->db) & 0xff) != SQLITE_BUSY || wl_now_ns() > end_ns) return rc;
        wl_sleep_until(wl_now_ns() + 5 * WL_NS_PER_S / 1000);
    }
    return 0;
}

/* ---- whose file, which version ---- */

enum state { EMPTY, OURS };

static int identify(struct wl_store *s, enum state *state, int64_t *version, struct wl_err *e)
{
    int64_t id = 0, tables = 0;
    *version = 0;
    int rc = wl_sql_find(s, "PRAGMA application_id", SQL_NONE, &id, e);
    if (rc >= 0) rc = wl_sql_find(s, "PRAGMA user_version", SQL_NONE, version, e);
    if (rc >= 0) rc = wl_sql_find(s, "SELECT count(*) FROM main.sqlite_schema", SQL_NONE, &tables, e);
    if (rc < 0) return rc;
    *state = tables == 0 && id == 0 ? EMPTY : OURS;
    if (*state == EMPTY) return s->mode == WL_STORE_CREATE ? 0 : wl_store_refused(s, "an empty database", e);
    if (id != WL_STORE_APPLICATION_ID) return wl_store_refused(s, "an SQLite database of another program", e);
    if (*version > WL_STORE_VERSION)
        return wl_fail(e, WL_EINVAL,
                       "%s: was written by a newer wattlaw (store version %lld, this one knows %d): please update",
                       s->path, (long long)*version, WL_STORE_VERSION);
    return *version < 1 ? wl_store_refused(s, "it has no version", e) : 0;
}

/* All questions see one state of the file: another process may create the store at this moment. */
static int identify_at_once(struct wl_store *s, enum state *state, int64_t *version, struct wl_err *e)
{
    int rc = wl_sql_script(s, "BEGIN", e);
    if (rc) return rc;
    rc = identify(s, state, version, e);
    int ended = wl_sql_script(s, "COMMIT", rc ? NULL : e);
    return rc ? rc : ended;
}

/* For a writer: *remake where views or triggers are not ours any more. */
static int check_schema(struct wl_store *s, bool *remake, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_schema shapes;
    int rc = wl_schema_expected(&shapes, a, e);
    if (rc == 0) rc = wl_schema_inspect(s, &shapes, e);
    if (rc == 0) rc = wl_schema_check_complete(s, &shapes, e);
    if (rc == 0) rc = wl_schema_check_code(s, &shapes, remake, e);
    wl_arena_free(a);
    return rc;
}

static int make_or_migrate(struct wl_store *s, struct wl_err *e)
{
    enum state state;
    int64_t version;
    bool remake = false;
    int rc = identify(s, &state, &version, e);
    if (rc) return rc;
    if (state == EMPTY) return wl_store_create(s, e);
    rc = version < WL_STORE_VERSION ? wl_store_migrate(s, version, e) : wl_store_remake_views(s, e);
    if (rc == 0) rc = check_schema(s, &remake, e);
    return rc || !remake ? rc : wl_fail(e, WL_EINVAL, "%s: the file is damaged: its views cannot be made", s->path);
}

/* Another process may do the same at this moment: what is to be done is found out inside the transaction. */
static int bring_up_to_date(struct wl_store *s, struct wl_err *e)
{
    struct wl_sql_tx tx;
    int rc = wl_sql_begin(s, false, &tx, e);
    return rc ? rc : wl_sql_end(s, &tx, make_or_migrate(s, e), e);
}

static int prepare_to_write(struct wl_store *s, bool older, struct wl_err *e)
{
    bool remake = false;
    int rc = set_journal(s, e);
    if (rc == 0 && !older) rc = check_schema(s, &remake, e);
    if (rc == 0 && (older || remake)) rc = bring_up_to_date(s, e);
    if (rc == 0) wl_sandbox_trust_schema(s);
    return rc;
}

/* A log of 16 MB instead of 4 before its pages go into the file: readings of many devices touch a page each. */
static const char set_up[] = "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384; PRAGMA mmap_size = 0; "
                             "PRAGMA cell_size_check = ON; PRAGMA wal_autocheckpoint = 4000";

static int open_to_write(struct wl_store *s, struct wl_err *e)
{
    int create = s->mode == WL_STORE_CREATE ? SQLITE_OPEN_CREATE : 0;
    return open_db(s, s->path, SQLITE_OPEN_READWRITE | create, e);
}

static int open_file(struct wl_store *s, struct wl_err *e)
{
    enum state state;
    int rc = s->mode == WL_STORE_READ ? open_to_read(s, e) : open_to_write(s, e);
    if (rc == 0) rc = first_read(s, e);
    if (rc == 0) wl_files_record_identity(s);
    if (rc == 0) rc = wl_sql_script(s, set_up, e);
    if (rc == 0) rc = identify_at_once(s, &state, &s->version, e);
    if (rc) return rc;
    if (s->mode == WL_STORE_READ) return wl_overlay_prepare(s, s->version, e);
    rc = prepare_to_write(s, state == EMPTY || s->version < WL_STORE_VERSION, e);
    if (state == EMPTY) s->version = WL_STORE_VERSION;
    return rc ? rc : wl_sql_script(s, "PRAGMA foreign_keys = ON", e);
}

static void close_store(void *store) { wl_store_close(store); }

/* `run` > 0: to be taken over, before it is seen to be nobody's and closed. */
static int open_store(struct wl_store **out, const char *path, enum wl_store_mode mode, int64_t run, struct wl_arena *a,
                      struct wl_err *e)
{
    struct wl_err local;
    if (!e) e = &local;
    struct wl_store *s = wl_new(a, struct wl_store);
    *s = (struct wl_store) { .arena = a, .path = wl_strdup(a, path), .mode = mode, .lock_fd = -1 };
    if (mode != WL_STORE_READ && wl_is_planted_link(path))
        return wl_fail(e, WL_EPERM, "%s: a symbolic link of another user, in a folder where anybody may write", path);
    int rc = wl_files_check(s, e);
    if (rc) return rc;
    wl_defer(a, close_store, s);
    s->network = wl_store_on_netfs(wl_path_dir(a, s->file));
    rc = open_file(s, e);
    if (rc == 0 && run) rc = wl_store_run_take_over(s, run, e);
    if (rc == 0 && mode != WL_STORE_READ) rc = wl_spool_recover(s, e);
    if (rc == 0 && mode != WL_STORE_READ) rc = wl_store_recover(s, NULL, e);
    if (rc)
        wl_store_discard(s, NULL);
    else
        *out = s;
    return rc;
}

int wl_store_open(struct wl_store **out, const char *path, enum wl_store_mode mode, struct wl_arena *a,
                  struct wl_err *e)
{
    return open_store(out, path, mode, 0, a, e);
}

int wl_store_open_run(struct wl_store **out, const char *path, int64_t run, struct wl_arena *a, struct wl_err *e)
{
    return open_store(out, path, WL_STORE_WRITE, run, a, e);
}

int wl_store_seal(struct wl_store *s, struct wl_err *e)
{
    int64_t ignored;
    int rc = wl_sql_find(s, "PRAGMA journal_mode = DELETE", SQL_NONE, &ignored, e);
    return rc < 0 ? rc : 0;
}

void wl_store_close(struct wl_store *s)
{
    if (!s) return;
    wl_spool_detach(s);
    if (s->db) {
        wl_store_rollback(s);
        close_db(s);
        remove_sidecars(s);
    }
    if (s->lock_fd >= 0) close(s->lock_fd);
    s->lock_fd = -1;
}

const char *wl_store_path(const struct wl_store *s) { return s->path; }
int64_t wl_store_version_found(const struct wl_store *s) { return s->version; }

int wl_store_find(const char *given, char **path, struct wl_arena *a, struct wl_err *e)
{
    *path = wl_is_dir(given) ? wl_path_join(a, given, WL_STORE_FILE) : wl_strdup(a, given);
    if (access(*path, F_OK) == 0) return 0;
    if (wl_is_dir(given)) return wl_fail(e, WL_ENOENT, "%s: no store in this folder (%s)", given, WL_STORE_FILE);
    return wl_fail_errno(e, "%s: no store here", given);
}

/* The first finding of a PRAGMA that looks for damage; NULL: it says "ok", or nothing. */
static int find_damage(struct wl_store *s, const char *pragma, int column, const char **found, struct wl_arena *a,
                       struct wl_err *e)
{
    sqlite3_stmt *stmt;
    int rc = wl_sql_get(s, pragma, &stmt, e);
    if (rc == 0) rc = wl_sql_step(s, stmt, e);
    if (rc <= 0) return rc;
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    *found = wl_str_eq(text, "ok") ? NULL : wl_strdup(a, text ? text : "");
    sqlite3_reset(stmt);
    return 0;
}

int wl_store_check(struct wl_store *s, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *damage = NULL, *table = NULL;
    int rc = find_damage(s, "PRAGMA main.integrity_check(1)", 0, &damage, a, e);
    if (rc == 0 && damage) rc = wl_fail(e, WL_EINVAL, "%s: the file is damaged: %s", s->path, damage);
    if (rc == 0) rc = find_damage(s, "PRAGMA main.foreign_key_check", 0, &table, a, e);
    if (rc == 0 && table)
        rc = wl_fail(e, WL_EINVAL, "%s: the file is damaged: a row of table %s points nowhere", s->path, table);
    wl_arena_free(a);
    return rc;
}
