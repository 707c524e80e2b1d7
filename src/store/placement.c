#include "store/placement.h"

#include "store/read.h"
#include "store/rows.h"

#define AT(member) offsetof(struct wl_placement_row, member)

/* `run` comes first: an insert has it apart. */
static const struct wl_column_map map[] = {
    { "run", WL_COLUMN_INT, AT(run) },
    { "nodes", WL_COLUMN_TEXT, AT(nodes) },
    { "switches", WL_COLUMN_TEXT, AT(switches) },
    { "queue_wait_s", WL_COLUMN_REAL, AT(queue_wait_s) },
    { "other_jobs", WL_COLUMN_TEXT, AT(other_jobs) },
    { NULL },
};

int wl_store_add_placement(struct wl_store *s, int64_t run, const struct wl_placement_row *row, struct wl_err *e)
{
    const struct wl_insert to = { .table = "placement", .map = map + 1, .size = sizeof *row, .run = run };
    struct wl_sql_tx tx;
    int rc = wl_sql_begin(s, true, &tx, e);
    return rc ? rc : wl_sql_end(s, &tx, wl_rows_insert(s, &to, row, 1, e), e);
}

int wl_store_placements(struct wl_store *s, int64_t run, struct wl_placement_rows *out, struct wl_arena *a,
                        struct wl_err *e)
{
    const struct wl_query q = {
        .map = map,
        .from = "FROM placement WHERE ?1 IN (0, run) ORDER BY run",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}
