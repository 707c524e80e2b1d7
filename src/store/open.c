#include "store/internal.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUSY_MS = 10000 };

static int not_a_store(struct wl_store *s, const char *what, struct wl_err *e)
{
    return wl_fail(e, WL_EINVAL, "%s: is not a wattlaw store (%s)", s->path, what);
}

/* ---- the file, before SQLite sees it ---- */

static int check_header(struct wl_store *s, const struct stat *st, struct wl_err *e)
{
    static const char magic[16] = "SQLite format 3";
    char head[sizeof magic];
    if (st->st_size == 0 && s->mode == WL_STORE_CREATE) return 0; /* left by a wattlaw that was killed at its start */
    FILE *f = fopen(s->path, "rb");
    if (!f) return wl_fail_errno(e, "%s: cannot open the store", s->path);
    size_t n = fread(head, 1, sizeof head, f);
    fclose(f);
    if (n == 0) return not_a_store(s, "the file is empty", e);
    return n == sizeof head && memcmp(head, magic, sizeof magic) == 0 ? 0 : not_a_store(s, "not an SQLite database", e);
}

static int check_file(struct wl_store *s, struct wl_err *e)
{
    struct stat st;
    if (stat(s->path, &st)) {
        if (errno != ENOENT || s->mode != WL_STORE_CREATE) return wl_fail_errno(e, "%s: no store here", s->path);
        const char *folder = wl_path_dir(s->arena, s->path);
        int rc = wl_mkdirs(folder, e);
        if (rc == 0 && access(folder, W_OK)) rc = wl_fail_errno(e, "%s: its folder cannot be written to", s->path);
        return rc;
    }
    if (S_ISDIR(st.st_mode)) return wl_fail(e, WL_EINVAL, "%s: is a folder, a store is a file", s->path);
    if (!S_ISREG(st.st_mode)) return not_a_store(s, "not a regular file", e);
    int rc = check_header(s, &st, e);
    if (rc) return rc;
    if (s->mode != WL_STORE_READ && access(s->path, W_OK))
        return wl_fail_errno(e, "%s: cannot write to the store", s->path);
    return 0;
}

/* ---- the connection ---- */

/* SQLite's account of its memory takes a lock at each allocation. Refused, and no matter, where SQLite is in use. */
static void without_account(void) { (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

static int open_db(struct wl_store *s, const char *name, int flags, struct wl_err *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, without_account);
    int rc = sqlite3_open_v2(name, &s->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    s->synchronous = NULL;
    if (rc) {
        rc = wl_sql_fail(s, rc, NULL, e);
        sqlite3_close(s->db);
        s->db = NULL;
        return rc;
    }
    sqlite3_busy_timeout(s->db, BUSY_MS);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL); /* a store that was sent by others may be hostile */
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return 0;
}

static void close_db(struct wl_store *s)
{
    wl_sql_forget(s);
    sqlite3_close_v2(s->db);
    s->db = NULL;
}

/* A store in WAL mode on read-only media: SQLite cannot make its shared memory, but when no log was left behind the
 * file is complete and nobody changes it. */
static int open_immutable(struct wl_store *s, struct wl_err *e)
{
    struct stat st;
    if (stat(wl_strf(s->arena, "%s-wal", s->path), &st) == 0 && st.st_size > 0)
        return wl_fail(e, WL_EPERM,
                       "%s: was not closed properly and its folder is read-only: copy it together with %s-wal", s->path,
                       wl_path_base(s->path));
    struct wl_text uri = WL_TEXT(s->arena);
    wl_text_add(&uri, "file:");
    for (const char *p = s->path; *p; p++) {
        if (strchr("?#%", *p))
            wl_text_addf(&uri, "%%%02x", (unsigned char)*p);
        else
            wl_text_addn(&uri, p, 1);
    }
    wl_text_add(&uri, "?immutable=1");
    return open_db(s, uri.s, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, e);
}

/* The first look into the file, which finds out whether it can be read at all. */
static int first_read(struct wl_store *s, struct wl_err *e)
{
    int64_t n;
    int rc = wl_sql_find(s, "SELECT count(*) FROM sqlite_schema", SQL_NONE, &n, e);
    if (rc >= 0) return 0;
    if (e->code != WL_EPERM || s->mode != WL_STORE_READ) return rc;
    close_db(s);
    rc = open_immutable(s, e);
    if (rc) return rc;
    rc = wl_sql_find(s, "SELECT count(*) FROM sqlite_schema", SQL_NONE, &n, e);
    return rc < 0 ? rc : 0;
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
    if (rc >= 0) rc = wl_sql_find(s, "SELECT count(*) FROM sqlite_schema", SQL_NONE, &tables, e);
    if (rc < 0) return rc;
    *state = tables == 0 && id == 0 ? EMPTY : OURS;
    if (*state == EMPTY) return s->mode == WL_STORE_CREATE ? 0 : not_a_store(s, "an empty database", e);
    if (id != STORE_APPLICATION_ID) return not_a_store(s, "an SQLite database of another program", e);
    if (*version > WL_STORE_VERSION)
        return wl_fail(e, WL_EINVAL,
                       "%s: was written by a newer wattlaw (store version %lld, this one knows %d): please update",
                       s->path, (long long)*version, WL_STORE_VERSION);
    return *version < 1 ? not_a_store(s, "it has no version", e) : 0;
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

/* Another process may do the same at this moment: what is to be done is found out inside the transaction. */
static int bring_up_to_date(struct wl_store *s, struct wl_err *e)
{
    enum state state;
    int64_t version;
    struct sql_tx tx;
    int rc = wl_sql_begin(s, false, &tx, e);
    if (rc) return rc;
    rc = identify(s, &state, &version, e);
    if (rc == 0 && state == EMPTY)
        rc = wl_store_create(s, e);
    else if (rc == 0 && version < WL_STORE_VERSION)
        rc = wl_store_migrate(s, version, e);
    return wl_sql_end(s, &tx, rc, e);
}

/* A log of 16 MB instead of 4 before its pages go into the file: readings of many devices touch a page each. */
static const char set_up[] = "PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384; "
                             "PRAGMA wal_autocheckpoint = 4000";

static int open_as(struct wl_store *s, enum wl_store_mode mode, bool *older, struct wl_err *e)
{
    static const int flags[] = {
        [WL_STORE_READ] = SQLITE_OPEN_READONLY,
        [WL_STORE_WRITE] = SQLITE_OPEN_READWRITE,
        [WL_STORE_CREATE] = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
    };
    enum state state;
    int64_t version;
    s->mode = mode;
    int rc = open_db(s, s->path, flags[mode], e);
    if (rc == 0) rc = first_read(s, e);
    if (rc == 0) rc = identify_at_once(s, &state, &version, e);
    if (rc) return rc;
    *older = state == EMPTY || version < WL_STORE_VERSION;
    if (mode != WL_STORE_READ) rc = set_journal(s, e);
    if (rc == 0 && mode != WL_STORE_READ && *older) rc = bring_up_to_date(s, e);
    return rc ? rc : wl_sql_script(s, set_up, e);
}

/* For a reader: what cannot be stored now is left for others. */
static void take_in_spools(struct wl_store *s)
{
    struct wl_err ignored;
    bool older;
    if (!wl_spool_waits(s) || access(s->path, W_OK) != 0) return;
    if (open_as(s, WL_STORE_WRITE, &older, &ignored) == 0 && wl_spool_recover(s, &ignored) < 0) wl_store_rollback(s);
    close_db(s);
}

/* An older store that is only to be read is brought up to date first. */
static int open_db_file(struct wl_store *s, enum wl_store_mode mode, struct wl_err *e)
{
    bool older;
    if (mode == WL_STORE_READ) take_in_spools(s);
    int rc = open_as(s, mode, &older, e);
    if (rc || mode != WL_STORE_READ || !older) return rc;
    close_db(s);
    rc = open_as(s, WL_STORE_WRITE, &older, e);
    close_db(s);
    if (rc) return wl_prefix(e, "a store of an older version has to be brought up to date");
    return open_as(s, mode, &older, e);
}

static void close_store(void *store) { wl_store_close(store); }

int wl_store_there(const struct wl_store *s, struct wl_err *e)
{
    struct stat st;
    if (!s->ino || (stat(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)) return 0;
    return wl_fail(e, WL_ENOENT, "%s: the store was removed or replaced while it was in use", s->path);
}

/* `run` > 0: to be taken over, before it is seen to be nobody's and closed. */
static int open_store(struct wl_store **out, const char *path, enum wl_store_mode mode, int64_t run, struct wl_arena *a,
                      struct wl_err *e)
{
    struct wl_err local;
    if (!e) e = &local;
    struct wl_store *s = wl_new(a, struct wl_store);
    *s = (struct wl_store) { .arena = a, .path = wl_strdup(a, path), .mode = mode, .lock_fd = -1 };
    int rc = check_file(s, e);
    if (rc) return rc;
    wl_defer(a, close_store, s);
    s->network = wl_store_on_network(wl_path_dir(a, path));
    rc = open_db_file(s, mode, e);
    struct stat st;
    if (rc == 0 && stat(s->path, &st) == 0) s->dev = st.st_dev, s->ino = st.st_ino;
    if (rc == 0 && run) rc = wl_store_run_inherit(s, run, e);
    if (rc == 0 && mode != WL_STORE_READ) rc = wl_spool_recover(s, e);
    if (rc == 0 && mode != WL_STORE_READ) rc = wl_store_recover(s, NULL, e);
    if (rc)
        wl_store_close(s);
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

void wl_store_close(struct wl_store *s)
{
    if (!s) return;
    wl_spool_leave(s);
    if (s->db) {
        wl_store_rollback(s);
        close_db(s);
    }
    if (s->lock_fd >= 0) close(s->lock_fd);
    s->lock_fd = -1;
}

const char *wl_store_path(const struct wl_store *s) { return s->path; }

int wl_store_find(const char *given, char **path, struct wl_arena *a, struct wl_err *e)
{
    *path = wl_is_dir(given) ? wl_path_join(a, given, WL_STORE_FILE) : wl_strdup(a, given);
    if (access(*path, F_OK) == 0) return 0;
    if (wl_is_dir(given)) return wl_fail(e, WL_ENOENT, "%s: no store in this folder (%s)", given, WL_STORE_FILE);
    return wl_fail_errno(e, "%s: no store here", given);
}

int wl_store_check(struct wl_store *s, struct wl_err *e)
{
    sqlite3_stmt *stmt;
    int rc = wl_sql_get(s, "PRAGMA integrity_check(1)", &stmt, e);
    if (rc == 0) rc = wl_sql_step(s, stmt, e);
    if (rc <= 0) return rc;
    const char *found = (const char *)sqlite3_column_text(stmt, 0);
    rc = wl_streq(found, "ok") ? 0 : wl_fail(e, WL_EINVAL, "%s: the file is damaged: %s", s->path, found);
    sqlite3_reset(stmt);
    if (rc) return rc;
    int64_t rows = 0;
    rc = wl_sql_find(s, "SELECT count(*) FROM pragma_foreign_key_check", SQL_NONE, &rows, e);
    if (rc < 0) return rc;
    return rows == 0
               ? 0
               : wl_fail(e, WL_EINVAL, "%s: the file is damaged: %lld rows point nowhere", s->path, (long long)rows);
}
