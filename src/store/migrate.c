#include "store/migrate.h"

#include "store/connection.h"
#include "store/rows.h"
#include "store/sandbox.h"
#include "store/schema.h"

/* What brings a file from a version to the next one: migrate_N.sql is run on a file of version N. schema.sql describes
 * the newest; both ways must end in the same tables (tests/unit/store/test_migrate.c compares them). */
static const struct wl_migration steps[] = {
    { wl_migrate_1_sql },
    { wl_migrate_2_sql },
    { wl_migrate_3_sql },
    { wl_migrate_4_sql },
    { wl_migrate_5_sql, wl_fill_5_sql },
    { wl_migrate_6_sql },
    { wl_migrate_7_sql },
    { wl_migrate_8_sql },
    { wl_migrate_9_sql },
    { wl_migrate_10_sql },
    { wl_migrate_11_sql },
    { wl_migrate_12_sql },
    { wl_migrate_13_sql },
    { wl_migrate_14_sql },
    { wl_migrate_15_sql },
    { wl_migrate_16_sql },
    { wl_migrate_17_sql },
    { wl_migrate_18_sql },
    { wl_migrate_19_sql },
    { wl_migrate_20_sql },
    { wl_migrate_21_sql },
    { NULL },
};

static const char *text_of(const unsigned char *sql) { return (const char *)sql; }

static int set_version(struct wl_store *s, int64_t version, struct wl_err *e)
{
    char sql[64]; /* a PRAGMA cannot have bound values */
    snprintf(sql, sizeof sql, "PRAGMA user_version = %lld", (long long)version);
    return wl_sql_script(s, sql, e);
}

int wl_store_create(struct wl_store *s, struct wl_err *e)
{
    char id[64];
    snprintf(id, sizeof id, "PRAGMA application_id = %d", WL_STORE_APPLICATION_ID);
    int rc = wl_sql_script(s, text_of(wl_schema_sql), e);
    if (rc == 0) rc = wl_sql_script(s, text_of(wl_views_sql), e);
    if (rc == 0) rc = wl_sql_script(s, id, e);
    return rc ? rc : set_version(s, WL_STORE_VERSION, e);
}

/* `type` is view or trigger; the name is the file's own. */
static int drop(struct wl_store *s, const char *type, const char *name, struct wl_err *e)
{
    char *sql = sqlite3_mprintf("DROP %s main.\"%w\"", type, name);
    if (!sql) return wl_fail(e, WL_ENOMEM, "%s: out of memory", s->path);
    int rc = wl_sql_script(s, sql, e);
    sqlite3_free(sql);
    return rc;
}

/* DROPs every view and trigger: they hold no data. */
static int drop_views(struct wl_store *s, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    static const struct wl_column_map map[] = { { "name", WL_COLUMN_NAME, 0 }, { NULL } };
    static const char *const types[] = { "view", "trigger" };
    int rc = 0;
    for (size_t t = 0; t < WL_COUNT(types) && rc == 0; t++) {
        const char **names = NULL;
        size_t n = 0;
        const struct wl_query q = {
            .map = map,
            .from = "FROM main.sqlite_schema WHERE type = ?1",
            .values = SQL(sql_text(types[t])),
            .size = sizeof *names,
        };
        rc = wl_rows_select(s, &q, &names, &n, a, e);
        for (size_t i = 0; i < n && rc == 0; i++) rc = drop(s, types[t], names[i], e);
    }
    wl_arena_free(a);
    return rc;
}

int wl_store_remake_views(struct wl_store *s, struct wl_err *e)
{
    int rc = drop_views(s, e);
    return rc ? rc : wl_sql_script(s, text_of(wl_views_sql), e);
}

int wl_store_fill_totals(struct wl_store *s, struct wl_err *e)
{
    return wl_sql_script(s, "INSERT INTO total SELECT * FROM total_now", e);
}

static int take_step(struct wl_store *s, const struct wl_migration *step, int64_t version, struct wl_err *e)
{
    int rc = wl_sql_script(s, text_of(step->sql), e);
    if (rc == 0 && step->fill) rc = wl_sql_script(s, text_of(step->fill), e);
    if (rc == 0) rc = set_version(s, version + 1, e);
    if (rc) wl_err_prefix(e, "bringing version %lld of the store to %lld", (long long)version, (long long)version + 1);
    return rc;
}

int wl_store_migrate_by(struct wl_store *s, const struct wl_migration *step, int64_t from, struct wl_err *e)
{
    int rc = drop_views(s, e);
    for (int64_t version = 1; step->sql && rc == 0; step++, version++)
        if (version >= from) rc = take_step(s, step, version, e);
    if (rc == 0) rc = wl_sql_script(s, text_of(wl_views_sql), e);
    if (rc) return rc;
    wl_sandbox_trust_schema(s); /* total_now is one of the views made just now */
    rc = wl_sql_script(s, "DELETE FROM total", e);
    return rc ? rc : wl_store_fill_totals(s, e);
}

int wl_store_migrate(struct wl_store *s, int64_t from, struct wl_err *e)
{
    return wl_store_migrate_by(s, steps, from, e);
}

int wl_store_fill(struct wl_store *s, int64_t from, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; steps[i].sql && rc == 0; i++)
        if ((int64_t)i + 1 >= from && steps[i].fill) rc = wl_sql_script(s, text_of(steps[i].fill), e);
    return rc;
}
