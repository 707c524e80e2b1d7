/* What readers lay over a file that they do not change: everything that the newest schema has and the file lacks, in
 * the connection's temporary database, whose names come before those of the file. docs/adr/056
 *
 * Always our views, so that no view of the file is used. Of an older version also
 *   a TEMP view over each table that lacks columns, which have their defaults there;
 *   a TEMP table for each table that is missing, filled where a migration fills it;
 *   a TEMP table `total`, whose rows each migration makes anew; empty until a statement reads it, since they take long.
 * Readings that a killed run left in its spool: a TEMP table, and a view `sample` of both.
 */
#include "store/overlay.h"

#include "store/connection.h"
#include "store/migrate.h"
#include "store/open.h"
#include "store/schema.h"
#include "store/spool.h"
#include "store/sql.h"

#include <string.h>

/* "CREATE TABLE cap(...)" in the temporary database */
static int create_temporary(struct wl_store *s, const struct wl_schema_object *shape, struct wl_err *e)
{
    static const char create[] = "CREATE ";
    struct wl_arena *a = wl_arena_new(NULL);
    int rc = wl_sql_script(s, wl_strf(a, "CREATE TEMP %s", shape->sql + strlen(create)), e);
    wl_arena_free(a);
    return rc;
}

static int widen_table(struct wl_store *s, const struct wl_schema_object *shape, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_text sql = WL_TEXT(a);
    wl_text_addf(&sql, "CREATE TEMP VIEW %s AS SELECT ", shape->name);
    for (size_t i = 0; i < shape->n_columns; i++) {
        const struct wl_schema_column *c = &shape->columns[i];
        if (i) wl_text_add(&sql, ", ");
        if (!c->there) wl_text_addf(&sql, "%s AS ", c->fallback ? c->fallback : "NULL");
        wl_text_add(&sql, c->name);
    }
    wl_text_addf(&sql, " FROM main.%s", shape->name);
    int rc = wl_sql_script(s, sql.s, e);
    wl_arena_free(a);
    return rc;
}

static int overlay_table(struct wl_store *s, const struct wl_schema_object *shape, struct wl_err *e)
{
    if (!shape->there || strcmp(shape->name, "total") == 0) return create_temporary(s, shape, e);
    return shape->lacks_columns ? widen_table(s, shape, e) : 0;
}

static int overlay(struct wl_store *s, const struct wl_schema *shapes, int64_t version, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < shapes->n && rc == 0; i++) {
        const struct wl_schema_object *shape = &shapes->v[i];
        if (shape->kind == WL_SCHEMA_VIEW) rc = create_temporary(s, shape, e);
        if (shape->kind == WL_SCHEMA_TABLE && version < WL_STORE_VERSION) rc = overlay_table(s, shape, e);
    }
    return rc || version == WL_STORE_VERSION ? rc : wl_store_fill(s, version, e);
}

/* In one transaction, which spares SQLite a file of its schema a statement. */
static int overlay_at_once(struct wl_store *s, const struct wl_schema *shapes, int64_t version, struct wl_err *e)
{
    int rc = wl_sql_script(s, "BEGIN", e);
    if (rc) return rc;
    rc = overlay(s, shapes, version, e);
    if (rc == 0) rc = wl_spool_overlay(s, e);
    if (rc == 0) rc = wl_sql_script(s, "COMMIT", e);
    if (rc) wl_store_rollback(s);
    s->asks_totals = false;
    s->lacks_totals = rc == 0 && version < WL_STORE_VERSION;
    return rc;
}

int wl_overlay_fill_totals(struct wl_store *s, struct wl_err *e)
{
    static const double LONG_S = 2;
    const int64_t start_ns = wl_clock_thread_cpu_ns();
    s->lacks_totals = false; /* first: what fills them is compiled, too */
    const int rc = wl_store_fill_totals(s, e);
    const double took_s = (double)(wl_clock_thread_cpu_ns() - start_ns) / WL_NS_PER_S;
    if (rc == 0 && took_s >= LONG_S)
        wl_log(WL_WARN, "store",
               "%s is of an older version (%lld of %d), whose energies are summed anew at each reading (%.0f s of CPU "
               "time): "
               "wattlaw rebuild brings it to the newest",
               s->path, (long long)s->version, WL_STORE_VERSION, took_s);
    s->lacks_totals = rc != 0;
    return rc;
}

int wl_overlay_prepare(struct wl_store *s, int64_t version, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_schema shapes;
    int rc = wl_schema_expected(&shapes, a, e);
    if (rc == 0) rc = wl_schema_inspect(s, &shapes, e);
    if (rc == 0 && version == WL_STORE_VERSION) rc = wl_schema_check_complete(s, &shapes, e);
    if (rc == 0) rc = overlay_at_once(s, &shapes, version, e);
    wl_arena_free(a);
    return rc;
}
