#include "store/sql.h"

#include "store/connection.h"
#include "store/files.h"
#include "store/overlay.h"
#include "store/records.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* The SQL on one line, at most `max` bytes. */
static void squeeze(char *to, size_t max, const char *sql)
{
    size_t n = 0;
    bool blank = true;
    for (; *sql && n + 4 < max; sql++) {
        if (isspace((unsigned char)*sql)) {
            if (!blank) to[n++] = ' ';
            blank = true;
        } else {
            to[n++] = *sql;
            blank = false;
        }
    }
    if (*sql) n += (size_t)snprintf(to + n, max - n, "...");
    to[n] = '\0';
}

/* What the user can do about it, or SQLite's own words. */
static int explain(struct wl_store *s, int rc, const char **text)
{
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: *text = "another process has been writing to it for 10 s"; return WL_EIO;
    case SQLITE_FULL: *text = "no space is left on the disk, or a quota is used up"; return WL_EIO;
    case SQLITE_READONLY: *text = "the file or its folder is read-only"; return WL_EPERM;
    case SQLITE_AUTH: *text = "the file asks for what no store needs, and is not trusted"; return WL_EINVAL;
    case SQLITE_TOOBIG: *text = "a cell or a text of the schema is larger than a store needs"; return WL_EINVAL;
    case SQLITE_PERM:
    case SQLITE_CANTOPEN: *text = "cannot open the file, or make files next to it"; return WL_EPERM;
    case SQLITE_NOTADB: *text = "not a wattlaw store (not an SQLite database)"; return WL_EINVAL;
    case SQLITE_CORRUPT: *text = "the file is damaged"; return WL_EINVAL;
    case SQLITE_NOMEM: *text = "out of memory"; return WL_ENOMEM;
    case SQLITE_CONSTRAINT: *text = s->db ? sqlite3_errmsg(s->db) : "constraint failed"; return WL_EINVAL;
    case SQLITE_IOERR:
        *text = rc == SQLITE_IOERR_WRITE ? "writing failed (a quota or a limit on file sizes, if not the disk)"
                                         : "reading or writing failed";
        return WL_EIO;
    default: *text = s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc); return WL_ELIB;
    }
}

int wl_sql_fail(struct wl_store *s, int rc, const char *sql, struct wl_err *e)
{
    const char *text;
    int code = explain(s, rc, &text);
    int system = s->db && (rc & 0xff) != SQLITE_CONSTRAINT ? sqlite3_system_errno(s->db) : 0;
    bool io = (rc & 0xff) == SQLITE_IOERR || (rc & 0xff) == SQLITE_CANTOPEN;
    char quoted[240] = "";
    /* A constraint's message has the table and the column; on a full disk it does not matter which rows came last. */
    bool named = (rc & 0xff) == SQLITE_CONSTRAINT || (rc & 0xff) == SQLITE_FULL;
    if (sql && !named) squeeze(quoted, sizeof quoted, sql);
    return wl_fail(e, code, "%s: %s%s%s%s%s%s", s->path, text, io && system ? ": " : "",
                   io && system ? strerror(system) : "", *quoted ? " [" : "", quoted, *quoted ? "]" : "");
}

int wl_sql_get(struct wl_store *s, const char *sql, sqlite3_stmt **out, struct wl_err *e)
{
    for (size_t i = 0; i < s->n_cache; i++)
        if (strcmp(s->cache[i].sql, sql) == 0) {
            *out = s->cache[i].stmt;
            sqlite3_clear_bindings(*out);
            return 0;
        }
    int rc = sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
    if (rc) return wl_sql_fail(s, rc, sql, e);
    rc = s->lacks_totals && s->asks_totals ? wl_overlay_fill_totals(s, e) : 0;
    if (rc) {
        sqlite3_finalize(*out);
        return rc;
    }
    WL_GROW(s->arena, s->cache, s->n_cache, s->cache_cap);
    s->cache[s->n_cache++] = (struct wl_cached_statement) { wl_strdup(s->arena, sql), *out };
    return 0;
}

void wl_sql_finalize_all(struct wl_store *s)
{
    for (size_t i = 0; i < s->n_cache; i++) sqlite3_finalize(s->cache[i].stmt);
    s->n_cache = s->n_inserts = 0;
}

/* Texts are UTF-8 in the file, as other programs expect; what is not is escaped (wl_utf8_sanitize). */
static int bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *utf8 = wl_utf8_sanitize(a, text);
    int rc = sqlite3_bind_text(stmt, at, utf8, -1, utf8 == text ? SQLITE_STATIC : SQLITE_TRANSIENT);
    wl_arena_free(a);
    return rc;
}

static int bind_one(sqlite3_stmt *stmt, int at, const struct wl_sql_value *v)
{
    switch (v->type) {
    case WL_SQL_INT: return v->i == WL_NO_NS ? sqlite3_bind_null(stmt, at) : sqlite3_bind_int64(stmt, at, v->i);
    case WL_SQL_REAL: return isnan(v->r) ? sqlite3_bind_null(stmt, at) : sqlite3_bind_double(stmt, at, v->r);
    case WL_SQL_TEXT: break;
    }
    return v->s ? bind_text(stmt, at, v->s) : sqlite3_bind_null(stmt, at);
}

int wl_sql_bind(struct wl_store *s, sqlite3_stmt *stmt, const struct wl_sql_value *v, size_t n, struct wl_err *e)
{
    for (size_t i = 0; i < n; i++) {
        int rc = bind_one(stmt, (int)i + 1, &v[i]);
        if (rc) return wl_sql_fail(s, rc, sqlite3_sql(stmt), e);
    }
    return 0;
}

int wl_sql_step(struct wl_store *s, sqlite3_stmt *stmt, struct wl_err *e)
{
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) return 1;
    int failed = rc == SQLITE_DONE ? 0 : wl_sql_fail(s, rc, sqlite3_sql(stmt), e);
    sqlite3_reset(stmt);
    return failed;
}

int wl_sql_do(struct wl_store *s, const char *sql, const struct wl_sql_value *v, size_t n, struct wl_err *e)
{
    sqlite3_stmt *stmt;
    int rc = wl_sql_get(s, sql, &stmt, e);
    if (rc == 0) rc = wl_sql_bind(s, stmt, v, n, e);
    if (rc == 0) rc = wl_sql_step(s, stmt, e);
    if (rc > 0) {
        sqlite3_reset(stmt);
        rc = 0;
    }
    return rc;
}

int wl_sql_find(struct wl_store *s, const char *sql, const struct wl_sql_value *v, size_t n, int64_t *out,
                struct wl_err *e)
{
    sqlite3_stmt *stmt;
    int rc = wl_sql_get(s, sql, &stmt, e);
    if (rc == 0) rc = wl_sql_bind(s, stmt, v, n, e);
    if (rc == 0) rc = wl_sql_step(s, stmt, e);
    if (rc <= 0) return rc;
    bool found = sqlite3_column_type(stmt, 0) != SQLITE_NULL;
    if (found) *out = sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    return found;
}

int wl_sql_script(struct wl_store *s, const char *script, struct wl_err *e)
{
    while (*script) {
        sqlite3_stmt *stmt;
        const char *rest;
        int rc = sqlite3_prepare_v2(s->db, script, -1, &stmt, &rest);
        if (rc) return wl_sql_fail(s, rc, script, e);
        if (stmt) {
            do rc = sqlite3_step(stmt);
            while (rc == SQLITE_ROW);
            if (rc != SQLITE_DONE) {
                wl_sql_fail(s, rc, sqlite3_sql(stmt), e);
                sqlite3_finalize(stmt);
                return e ? e->code : WL_ELIB;
            }
            sqlite3_finalize(stmt);
        }
        script = rest;
    }
    return 0;
}

/* ---- transactions ---- */

/* FULL syncs the log at each commit; with NORMAL a power loss may undo the last commits, never tear one. SQLite
 * compiles a PRAGMA anew each time. */
static int set_synchronous(struct wl_store *s, const char *sql, struct wl_err *e)
{
    if (s->synchronous && strcmp(s->synchronous, sql) == 0) return 0;
    int rc = wl_sql_do(s, sql, SQL_NONE, e);
    if (rc == 0) s->synchronous = sql;
    return rc;
}

int wl_sql_begin(struct wl_store *s, bool durable, struct wl_sql_tx *tx, struct wl_err *e)
{
    *tx = (struct wl_sql_tx) { .ours = sqlite3_get_autocommit(s->db) != 0 };
    if (!tx->ours) return 0;
    int rc = wl_store_check_exists(s, e);
    if (rc < 0) return rc;
    rc = set_synchronous(s, durable || s->network ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", e);
    return rc ? rc : wl_sql_do(s, "BEGIN IMMEDIATE", SQL_NONE, e);
}

int wl_sql_end(struct wl_store *s, const struct wl_sql_tx *tx, int rc, struct wl_err *e)
{
    if (!tx->ours) return rc;
    if (rc == 0) rc = wl_sql_do(s, "COMMIT", SQL_NONE, e);
    if (rc) wl_store_rollback(s);
    return rc;
}

int wl_store_begin(struct wl_store *s, struct wl_err *e)
{
    struct wl_sql_tx tx;
    WL_CHECK(sqlite3_get_autocommit(s->db));
    return wl_sql_begin(s, false, &tx, e);
}

int wl_store_begin_read(struct wl_store *s, struct wl_err *e) { return wl_sql_do(s, "BEGIN", SQL_NONE, e); }

int wl_store_commit(struct wl_store *s, struct wl_err *e) { return wl_sql_do(s, "COMMIT", SQL_NONE, e); }

/* Some errors (disk full) roll back by themselves; then there is nothing left to do. */
void wl_store_rollback(struct wl_store *s)
{
    if (!sqlite3_get_autocommit(s->db)) sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}
