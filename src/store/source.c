#include "store/source.h"

#include "store/connection.h"
#include "store/rows.h"

#define AT(member) offsetof(struct wl_source_row, member)

/* `id` comes first: an insert leaves it out. */
static const struct wl_column_map map[] = {
    { "id", WL_COLUMN_INT, AT(id) },
    { "run", WL_COLUMN_INT, AT(run) },
    { "format", WL_COLUMN_NAME, AT(format) },
    { "tool", WL_COLUMN_TEXT, AT(tool) },
    { "path", WL_COLUMN_NAME, AT(path) },
    { "part", WL_COLUMN_NAME, AT(part) },
    { "bytes", WL_COLUMN_INT, AT(bytes) },
    { "crc", WL_COLUMN_INT, AT(crc) },
    { "version", WL_COLUMN_NAME, AT(version) },
    { NULL },
};

int wl_store_sources(struct wl_store *s, int64_t run, struct wl_source_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = map,
        .from = "FROM source WHERE ?1 IN (0, run) ORDER BY id",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_add_source(struct wl_store *s, const struct wl_source_row *row, struct wl_err *e)
{
    const struct wl_insert to = { .table = "source", .map = map + 1, .size = sizeof *row };
    struct wl_sql_tx tx;
    int rc = wl_sql_begin(s, false, &tx, e);
    return rc ? rc : wl_sql_end(s, &tx, wl_rows_insert(s, &to, row, 1, e), e);
}

int wl_store_has_source_of_size(struct wl_store *s, int64_t bytes, struct wl_err *e)
{
    int64_t found;
    return wl_sql_find(s, "SELECT id FROM source WHERE bytes = ?1 LIMIT 1", SQL(sql_int(bytes)), &found, e);
}

int wl_store_find_source(struct wl_store *s, int64_t bytes, int64_t crc, int64_t *run, struct wl_err *e)
{
    return wl_sql_find(s, "SELECT run FROM source WHERE bytes = ?1 AND crc = ?2 ORDER BY run LIMIT 1",
                       SQL(sql_int(bytes), sql_int(crc)), run, e);
}
