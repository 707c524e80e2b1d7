/* The nodes of a run, and the caps that its devices had on each of them. */
#include "store/internal.h"

#define NODE(member) offsetof(struct wl_node_row, member)
#define CAP(member)  offsetof(struct wl_cap_row, member)

static const struct field node_map[] = {
    { "host", F_NAME, NODE(host) },
    { "boot_id", F_NAME, NODE(boot_id) },
    { "first", F_BOOL, NODE(first) },
    { "start_mono_ns", F_TIME, NODE(start.mono_ns) },
    { "start_wall_ns", F_TIME, NODE(start.wall_ns) },
    { "stop_mono_ns", F_TIME, NODE(stop.mono_ns) },
    { "stop_wall_ns", F_TIME, NODE(stop.wall_ns) },
    { "shift_ns", F_INT, NODE(shift_ns) },
    { "drift_s", F_REAL, NODE(drift_s) },
    { NULL },
};

/* The stored columns; readers get further columns derived from the readings. */
/* clang-format off */
#define CAP_FACTS                                                                                     \
    { "host", F_NAME, CAP(host) }, { "device", F_NAME, CAP(device) }, { "kind", F_NAME, CAP(kind) },  \
    { "name", F_TEXT, CAP(name) }, { "setter", F_NAME, CAP(setter) },                                 \
    { "requested", F_REAL, CAP(requested) }, { "found", F_REAL, CAP(found) },                         \
    { "enforced", F_REAL, CAP(enforced) }, { "at_end", F_REAL, CAP(at_end) },                         \
    { "simulated", F_BOOL, CAP(simulated) }
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
    static const struct field caps[] = { CAP_FACTS, { NULL } };
    int rc = end->n_nodes
                 ? wl_rows_insert(s, "node", "run", run, node_map, end->nodes, end->n_nodes, sizeof *end->nodes, "", e)
                 : add_own_node(s, run, e);
    return rc ? rc : wl_rows_insert(s, "cap", "run", run, caps, end->caps, end->n_caps, sizeof *end->caps, "", e);
}

int wl_store_nodes(struct wl_store *s, int64_t run, struct wl_node_rows *out, struct wl_arena *a, struct wl_err *e)
{
    return wl_rows_select(s, node_map, "FROM node WHERE run = ?1 ORDER BY first DESC, host", SQL(sql_int(run)),
                          sizeof *out->v, &out->v, &out->n, a, e);
}

int wl_store_caps(struct wl_store *s, int64_t run, struct wl_cap_rows *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct field map[] = { CAP_FACTS,
                                        { "achieved", F_REAL, CAP(achieved) },
                                        { "achieved_max", F_REAL, CAP(achieved_max) },
                                        { "held_pct", F_REAL, CAP(held_pct) },
                                        { "acted", F_REAL, CAP(acted) },
                                        { NULL } };
    return wl_rows_select(s, map, "FROM capped WHERE run = ?1 ORDER BY host, device, kind DESC", SQL(sql_int(run)),
                          sizeof *out->v, &out->v, &out->n, a, e);
}
