#include "store/internal.h"

/* What brings a file from a version to the next one: migrate_N.sql is run on a file of version N. schema.sql describes
 * the newest; both ways must end in the same tables (tests/unit/store/test_migrate.c compares them). */
static const struct store_step steps[] = {
    { wl_migrate_1_sql },
    { wl_migrate_2_sql },
    { wl_migrate_3_sql },
    { wl_migrate_4_sql },
    { wl_migrate_5_sql },
    { wl_migrate_6_sql },
    { wl_migrate_7_sql },
    { wl_migrate_8_sql },
    { wl_migrate_9_sql },
    { wl_migrate_10_sql },
    { wl_migrate_11_sql },
    { wl_migrate_12_sql },
    { wl_migrate_13_sql },
    { NULL },
};

static const char *text_of(const unsigned char *sql) { return (const char *)sql; }

static int set_version(struct wl_store *s, int64_t version, struct wl_err *e)
{
    char sql[64]; /* PRAGMA takes no bound values */
    snprintf(sql, sizeof sql, "PRAGMA user_version = %lld", (long long)version);
    return wl_sql_script(s, sql, e);
}

int wl_store_create(struct wl_store *s, struct wl_err *e)
{
    char id[64];
    snprintf(id, sizeof id, "PRAGMA application_id = %d", STORE_APPLICATION_ID);
    int rc = wl_sql_script(s, text_of(wl_schema_sql), e);
    if (rc == 0) rc = wl_sql_script(s, text_of(wl_views_sql), e);
    if (rc == 0) rc = wl_sql_script(s, id, e);
    return rc ? rc : set_version(s, WL_STORE_VERSION, e);
}

/* DROPs every view and trigger: they hold no data. */
static int drop_views(struct wl_store *s, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    static const struct field map[] = { { "'DROP ' || type || ' \"' || name || '\"'", F_TEXT, 0 }, { NULL } };
    struct {
        const char *sql;
    } *drops = NULL;
    size_t n = 0;
    int rc = wl_rows_select(s, map, "FROM sqlite_schema WHERE type IN ('view', 'trigger')", SQL_NONE, sizeof *drops,
                            &drops, &n, a, e);
    for (size_t i = 0; i < n && rc == 0; i++) rc = wl_sql_script(s, drops[i].sql, e);
    wl_arena_free(a);
    return rc;
}

int wl_store_migrate_by(struct wl_store *s, const struct store_step *step, int64_t from, struct wl_err *e)
{
    int rc = drop_views(s, e);
    for (int64_t version = 1; step->sql && rc == 0; step++, version++) {
        if (version < from) continue;
        rc = wl_sql_script(s, text_of(step->sql), e);
        if (rc == 0) rc = set_version(s, version + 1, e);
        if (rc) wl_prefix(e, "bringing version %lld of the store to %lld", (long long)version, (long long)version + 1);
    }
    if (rc == 0) rc = wl_sql_script(s, text_of(wl_views_sql), e);
    return rc ? rc : wl_sql_script(s, "DELETE FROM total; INSERT INTO total SELECT * FROM total_now", e);
}

int wl_store_migrate(struct wl_store *s, int64_t from, struct wl_err *e)
{
    return wl_store_migrate_by(s, steps, from, e);
}
