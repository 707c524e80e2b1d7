/* The tables that this wattlaw knows, and whether a file has them.
 *
 * schema.sql and views.sql are run in a scratch database in memory, from which their tables, columns and views are
 * read, so that additions of a version need no second list here.
 */
#include "store/schema.h"

#include "store/connection.h"
#include "store/sql.h"

#include <pthread.h>
#include <string.h>

/* ---- what should be there ---- */

static int scratch_fail(sqlite3 *db, struct wl_err *e)
{
    return wl_fail(e, WL_ELIB, "the schema of stores cannot be read: %s", db ? sqlite3_errmsg(db) : "out of memory");
}

static const char *text_at(sqlite3_stmt *stmt, int column, struct wl_arena *a)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return text ? wl_strdup(a, text) : NULL;
}

static int read_columns(sqlite3 *db, struct wl_schema_object *shape, struct wl_arena *a, struct wl_err *e)
{
    sqlite3_stmt *stmt;
    size_t cap = 0;
    int rc;
    if (sqlite3_prepare_v2(db, "SELECT name, dflt_value FROM pragma_table_xinfo(?1)", -1, &stmt, NULL))
        return scratch_fail(db, e);
    sqlite3_bind_text(stmt, 1, shape->name, -1, SQLITE_STATIC);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        WL_GROW(a, shape->columns, shape->n_columns, cap);
        shape->columns[shape->n_columns++] = (struct wl_schema_column) { text_at(stmt, 0, a), text_at(stmt, 1, a) };
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? 0 : scratch_fail(db, e);
}

static int read_shapes(sqlite3 *db, struct wl_schema *out, struct wl_arena *a, struct wl_err *e)
{
    static const char sql[] = "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('table', 'view', 'trigger')";
    sqlite3_stmt *stmt;
    size_t cap = 0;
    int rc;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL)) return scratch_fail(db, e);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *type = (const char *)sqlite3_column_text(stmt, 0);
        WL_GROW(a, out->v, out->n, cap);
        out->v[out->n++] = (struct wl_schema_object) {
            .kind = *type == 'v'                 ? WL_SCHEMA_VIEW
                    : strcmp(type, "table") == 0 ? WL_SCHEMA_TABLE
                                                 : WL_SCHEMA_TRIGGER,
            .name = text_at(stmt, 1, a),
            .sql = text_at(stmt, 2, a),
        };
    }
    sqlite3_finalize(stmt);
    if (rc != SQLITE_DONE) return scratch_fail(db, e);
    for (size_t i = 0; i < out->n; i++) {
        rc = out->v[i].kind == WL_SCHEMA_TABLE ? read_columns(db, &out->v[i], a, e) : 0;
        if (rc) return rc;
    }
    return 0;
}

static int build(struct wl_schema *out, struct wl_arena *a, struct wl_err *e)
{
    sqlite3 *db;
    int rc;
    *out = (struct wl_schema) { 0 };
    if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ||
        sqlite3_exec(db, (const char *)wl_schema_sql, NULL, NULL, NULL) ||
        sqlite3_exec(db, (const char *)wl_views_sql, NULL, NULL, NULL))
        rc = scratch_fail(db, e);
    else
        rc = read_shapes(db, out, a, e);
    sqlite3_close(db);
    return rc;
}

/* Built once: of what opening a store takes it was more than half, and a campaign's collector opens thousands. */
static int built(const struct wl_schema **out, struct wl_err *e)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct wl_arena *arena;
    static struct wl_schema schema;
    int rc = 0;
    pthread_mutex_lock(&lock);
    if (!arena) {
        struct wl_arena *a = wl_arena_new(NULL);
        rc = build(&schema, a, e);
        if (rc == 0)
            arena = a;
        else
            wl_arena_free(a);
    }
    pthread_mutex_unlock(&lock);
    *out = &schema;
    return rc;
}

/* What is there is noted in the caller's own copy. */
int wl_schema_expected(struct wl_schema *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_schema *from;
    int rc = built(&from, e);
    if (rc < 0) return rc;
    *out = (struct wl_schema) { .v = wl_new_array(a, struct wl_schema_object, from->n), .n = from->n };
    for (size_t i = 0; i < from->n; i++) {
        const struct wl_schema_object *shape = &from->v[i];
        out->v[i] = *shape;
        if (!shape->n_columns) continue;
        out->v[i].columns = wl_new_array(a, struct wl_schema_column, shape->n_columns);
        memcpy(out->v[i].columns, shape->columns, shape->n_columns * sizeof *shape->columns);
    }
    return 0;
}

/* ---- what is there ---- */

/* A view, which SQLite takes for a table in most places, is none here. */
static bool has_table(struct wl_store *s, const char *name)
{
    return sqlite3_table_column_metadata(s->db, "main", name, NULL, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

static struct wl_schema_column *column_named(const struct wl_schema_object *shape, const char *name)
{
    for (size_t i = 0; i < shape->n_columns; i++)
        if (sqlite3_stricmp(shape->columns[i].name, name) == 0) return &shape->columns[i];
    return NULL;
}

static int take_column(struct wl_store *s, const struct wl_schema_object *shape, sqlite3_stmt *stmt, struct wl_err *e)
{
    enum { NAME = 1, HIDDEN = 6 }; /* of table_xinfo */
    const char *name = (const char *)sqlite3_column_text(stmt, NAME);
    struct wl_schema_column *column = name ? column_named(shape, name) : NULL;
    if (!column) return 0; /* the owner's own */
    if (sqlite3_column_int(stmt, HIDDEN))
        return wl_fail(e, WL_EINVAL, "%s: not a store that wattlaw wrote: column %s.%s is computed by the file",
                       s->path, shape->name, column->name);
    column->there = true;
    return 0;
}

static int find_columns(struct wl_store *s, struct wl_schema_object *shape, struct wl_err *e)
{
    char sql[128];
    sqlite3_stmt *stmt;
    snprintf(sql, sizeof sql, "PRAGMA main.table_xinfo(%s)", shape->name);
    int rc = wl_sql_get(s, sql, &stmt, e);
    if (rc) return rc;
    while ((rc = wl_sql_step(s, stmt, e)) > 0) {
        rc = take_column(s, shape, stmt, e);
        if (rc == 0) continue;
        sqlite3_reset(stmt);
        return rc;
    }
    for (size_t i = 0; i < shape->n_columns && rc == 0; i++) shape->lacks_columns |= !shape->columns[i].there;
    return rc;
}

int wl_schema_inspect(struct wl_store *s, struct wl_schema *shapes, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < shapes->n && rc == 0; i++) {
        struct wl_schema_object *shape = &shapes->v[i];
        if (shape->kind != WL_SCHEMA_TABLE) continue;
        shape->there = has_table(s, shape->name);
        if (shape->there) rc = find_columns(s, shape, e);
    }
    return rc;
}

int wl_schema_check_complete(const struct wl_store *s, const struct wl_schema *shapes, struct wl_err *e)
{
    for (size_t i = 0; i < shapes->n; i++) {
        const struct wl_schema_object *shape = &shapes->v[i];
        if (shape->kind != WL_SCHEMA_TABLE) continue;
        if (!shape->there)
            return wl_fail(e, WL_EINVAL, "%s: the file is damaged: it has no table %s", s->path, shape->name);
        for (size_t c = 0; c < shape->n_columns; c++)
            if (!shape->columns[c].there)
                return wl_fail(e, WL_EINVAL, "%s: the file is damaged: its table %s has no column %s", s->path,
                               shape->name, shape->columns[c].name);
    }
    return 0;
}

/* ---- views and triggers, for writers ---- */

static struct wl_schema_object *code_like(struct wl_schema *shapes, const char *sql)
{
    for (size_t i = 0; i < shapes->n; i++)
        if (shapes->v[i].kind != WL_SCHEMA_TABLE && strcmp(shapes->v[i].sql, sql) == 0) return &shapes->v[i];
    return NULL;
}

static bool is_name_of_ours(const struct wl_schema *shapes, const char *name)
{
    for (size_t i = 0; i < shapes->n; i++)
        if (sqlite3_stricmp(shapes->v[i].name, name) == 0) return true;
    return false;
}

/* Views that the owner has added do nothing by themselves; a trigger would act on what we write. */
static int check_code(struct wl_store *s, struct wl_schema *shapes, const char *name, const char *sql, bool *remake,
                      struct wl_err *e)
{
    struct wl_schema_object *ours = code_like(shapes, sql);
    if (ours)
        ours->there = true;
    else if (is_name_of_ours(shapes, name))
        *remake = true;
    else if (wl_str_starts(sql, "CREATE TRIGGER "))
        return wl_fail(e, WL_EINVAL, "%s: not written to: the file has a trigger that wattlaw did not make (\"%s\")",
                       s->path, name);
    return 0;
}

/* Types and names in sqlite_schema can be forged: the kind of an entry follows from its SQL, which SQLite begins like
 * this. */
static const char code_sql[] = "SELECT name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL "
                               "AND substr(sql, 1, 13) NOT IN ('CREATE TABLE ', 'CREATE INDEX ') "
                               "AND substr(sql, 1, 20) <> 'CREATE UNIQUE INDEX '";

int wl_schema_check_code(struct wl_store *s, struct wl_schema *shapes, bool *remake, struct wl_err *e)
{
    sqlite3_stmt *stmt;
    int rc = wl_sql_get(s, code_sql, &stmt, e);
    *remake = false;
    if (rc) return rc;
    while ((rc = wl_sql_step(s, stmt, e)) > 0) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0),
                   *sql = (const char *)sqlite3_column_text(stmt, 1);
        rc = check_code(s, shapes, name ? name : "", sql ? sql : "", remake, e);
        if (rc == 0) continue;
        sqlite3_reset(stmt);
        return rc;
    }
    for (size_t i = 0; i < shapes->n; i++) *remake |= shapes->v[i].kind != WL_SCHEMA_TABLE && !shapes->v[i].there;
    return rc;
}
