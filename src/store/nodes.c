/* The nodes of a run, and the caps that its devices had on each of them. */
#include "store/nodes.h"

#include "store/read.h"
#include "store/rows.h"

#define NODE(member) offsetof(struct wl_node_row, member)
#define CAP(member)  offsetof(struct wl_cap_row, member)

static const struct wl_column_map node_map[] = {
    { "host", WL_COLUMN_NAME, NODE(host) },
    { "boot_id", WL_COLUMN_NAME, NODE(boot_id) },
    { "first", WL_COLUMN_BOOL, NODE(first) },
    { "start_mono_ns", WL_COLUMN_TIME, NODE(start.mono_ns) },
    { "start_wall_ns", WL_COLUMN_TIME, NODE(start.wall_ns) },
    { "stop_mono_ns", WL_COLUMN_TIME, NODE(stop.mono_ns) },
    { "stop_wall_ns", WL_COLUMN_TIME, NODE(stop.wall_ns) },
    { "shift_ns", WL_COLUMN_INT, NODE(shift_ns) },
    { "drift_s", WL_COLUMN_REAL, NODE(drift_s) },
    { NULL },
};

/* The stored columns; readers get further columns derived from the readings. */
/* clang-format off */
#define CAP_FACTS                                    \
    { "host", WL_COLUMN_NAME, CAP(host) },           \
    { "device", WL_COLUMN_NAME, CAP(device) },       \
    { "kind", WL_COLUMN_NAME, CAP(kind) },           \
    { "name", WL_COLUMN_TEXT, CAP(name) },           \
    { "setter", WL_COLUMN_NAME, CAP(setter) },       \
    { "requested", WL_COLUMN_REAL, CAP(requested) }, \
    { "found", WL_COLUMN_REAL, CAP(found) },         \
    { "enforced", WL_COLUMN_REAL, CAP(enforced) },   \
    { "at_end", WL_COLUMN_REAL, CAP(at_end) },       \
    { "simulated", WL_COLUMN_BOOL, CAP(simulated) }
/* clang-format on */

/* A run on one node has that node's stamps itself. */
static int add_own_node(struct wl_store *s, int64_t run, struct wl_err *e)
{
    return wl_sql_do(s,
                     "INSERT INTO node SELECT id, host, boot_id, 1, start_mono_ns, start_wall_ns, stop_mono_ns, "
                     "stop_wall_ns, 0, 0 FROM run WHERE id = ?1 AND start_mono_ns + start_wall_ns + stop_mono_ns + "
                     "stop_wall_ns IS NOT NULL",
                     SQL(sql_int(run)), e);
}

int wl_store_add_nodes_caps(struct wl_store *s, int64_t run, const struct wl_run_end *end, struct wl_err *e)
{
    static const struct wl_column_map caps[] = { CAP_FACTS, { NULL } };
    const struct wl_insert node = { .table = "node", .map = node_map, .size = sizeof *end->nodes, .run = run };
    const struct wl_insert cap = { .table = "cap", .map = caps, .size = sizeof *end->caps, .run = run };
    int rc = end->n_nodes ? wl_rows_insert(s, &node, end->nodes, end->n_nodes, e) : add_own_node(s, run, e);
    return rc ? rc : wl_rows_insert(s, &cap, end->caps, end->n_caps, e);
}

int wl_store_nodes(struct wl_store *s, int64_t run, struct wl_node_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = node_map,
        .from = "FROM node WHERE run = ?1 ORDER BY first DESC, host",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_caps(struct wl_store *s, int64_t run, struct wl_cap_rows *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map map[] = { CAP_FACTS,
                                                { "achieved", WL_COLUMN_REAL, CAP(achieved) },
                                                { "achieved_max", WL_COLUMN_REAL, CAP(achieved_max) },
                                                { "held_pct", WL_COLUMN_REAL, CAP(held_pct) },
                                                { "acted", WL_COLUMN_REAL, CAP(acted) },
                                                { NULL } };
    const struct wl_query q = {
        .map = map,
        .from = "FROM capped WHERE run = ?1 ORDER BY host, device, kind DESC",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}
