#include "store/submission.h"

#include "store/connection.h"
#include "store/rows.h"

#define AT(member) offsetof(struct wl_submission_row, member)

/* clang-format off */
/* `id` comes first: an insert leaves it out. */
static const struct wl_column_map map[] = {
    { "id", WL_COLUMN_INT, AT(id) },
    { "run", WL_COLUMN_INT, AT(run) },
    { "launcher", WL_COLUMN_NAME, AT(launcher) },
    { "token", WL_COLUMN_NAME, AT(token) },
    { "job", WL_COLUMN_TEXT, AT(job) },
    { "state", WL_COLUMN_NAME, AT(state) },
    { "outcome", WL_COLUMN_TEXT, AT(outcome) },
    { "why", WL_COLUMN_TEXT, AT(why) },
    { "nodes", WL_COLUMN_TEXT, AT(nodes) },
    { "n_nodes", WL_COLUMN_INT, AT(n_nodes) },
    { "time_limit_s", WL_COLUMN_REAL, AT(time_limit_s) },
    { "script", WL_COLUMN_TEXT, AT(script) },
    { "output", WL_COLUMN_TEXT, AT(output) },
    { "cancelled", WL_COLUMN_BOOL, AT(cancelled) },
    { "shard", WL_COLUMN_TEXT, AT(shard) },
    { "sent_wall_ns", WL_COLUMN_INT, AT(sent_wall_ns) },
    { "ended_wall_ns", WL_COLUMN_TIME, AT(ended_wall_ns) },
    { NULL },
};
/* clang-format on */

int wl_store_submissions(struct wl_store *s, int64_t campaign, struct wl_submission_rows *out, struct wl_arena *a,
                         struct wl_err *e)
{
    const struct wl_query q = {
        .map = map,
        .from = "FROM submission WHERE ?1 = 0 OR run IN (SELECT r.id FROM run r JOIN trial t ON t.id = r.trial "
                "WHERE t.campaign = ?1) ORDER BY id",
        .values = SQL(sql_int(campaign)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_add_submission(struct wl_store *s, const struct wl_submission_row *row, int64_t *id, struct wl_err *e)
{
    const struct wl_insert to = { .table = "submission", .map = map + 1, .size = sizeof *row };
    struct wl_sql_tx tx;
    int rc = wl_sql_begin(s, true, &tx, e);
    if (rc == 0) rc = wl_sql_end(s, &tx, wl_rows_insert(s, &to, row, 1, e), e);
    if (rc == 0) *id = sqlite3_last_insert_rowid(s->db);
    return rc;
}

int wl_store_update_submission(struct wl_store *s, const struct wl_submission_row *row, struct wl_err *e)
{
    struct wl_sql_tx tx;
    int rc = wl_sql_begin(s, true, &tx, e);
    if (rc) return rc;
    rc = wl_sql_do(s,
                   "UPDATE submission SET job = ?2, state = ?3, outcome = ?4, why = ?5, nodes = ?6, shard = ?7, "
                   "ended_wall_ns = ?8 WHERE id = ?1",
                   SQL(sql_int(row->id), sql_text(row->job), sql_text(row->state), sql_text(row->outcome),
                       sql_text(row->why), sql_text(row->nodes), sql_text(row->shard), sql_int(row->ended_wall_ns)),
                   e);
    return wl_sql_end(s, &tx, rc, e);
}

int wl_store_cancel_submission(struct wl_store *s, int64_t id, struct wl_err *e)
{
    return wl_sql_do(s, "UPDATE submission SET cancelled = 1 WHERE id = ?1", SQL(sql_int(id)), e);
}
