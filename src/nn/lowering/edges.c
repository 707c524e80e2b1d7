#include "nn/lowering/edges.h"

int wl_edges_read(const struct wl_step *s, const struct wl_run *r, int at, struct wl_edge_rows *g, struct wl_err *e)
{
    struct wl_tensor *const *in = s->node->in + at;
    *g = (struct wl_edge_rows) { .edge_start = wl_rows_at(s, r, IN + at),
                                 .source = wl_rows_at(s, r, IN + at + 1),
                                 .reverse = wl_rows_at(s, r, IN + at + 2),
                                 .triplet_start = wl_rows_at(s, r, IN + at + 3) };
    int rc = wl_rows_count(s, r, WL_EDGES, in[1]->dims.d[0], &g->edges, e);
    return rc ? rc : wl_rows_count(s, r, WL_ATOMS, in[0]->dims.d[0] - 1, &g->atoms, e);
}

int wl_edges_check(const struct wl_step *s, int at, const struct wl_edge_rows *g, struct wl_err *e)
{
    struct wl_tensor *const *in = s->node->in + at;
    int rc = wl_rows_check_starts(in[0]->name, g->edge_start, g->atoms, g->edges, e);
    if (!rc) rc = wl_rows_check_indices(in[1]->name, g->source, g->edges, g->atoms, e);
    if (!rc) rc = wl_rows_check_indices(in[2]->name, g->reverse, g->edges, g->edges, e);
    for (int64_t i = 0; i < g->atoms && !rc; i++)
        for (int64_t q = g->edge_start[i]; q < g->edge_start[i + 1] && !rc; q++)
            if (g->source[g->reverse[q]] != i || g->reverse[g->reverse[q]] != q)
                rc = wl_fail(e, WL_EINVAL, "%s: edge %lld, from atom %d to %lld, has no edge back", in[2]->name,
                             (long long)q, (int)g->source[q], (long long)i);
    return rc;
}

int wl_edges_check_triplets(const struct wl_step *s, const struct wl_run *r, int at, const struct wl_edge_rows *g,
                            int64_t room, struct wl_err *e)
{
    const char *name = s->node->in[at + 3]->name;
    int64_t triplets;
    int rc = wl_rows_count(s, r, WL_TRIPLETS, room, &triplets, e);
    if (!rc) rc = wl_rows_check_starts(name, g->triplet_start, g->atoms, triplets, e);
    for (int64_t i = 0; i < g->atoms && !rc; i++) {
        const int64_t near = g->edge_start[i + 1] - g->edge_start[i];
        if (near > WL_MAX_NEIGHBOURS)
            rc = wl_fail(e, WL_EINVAL, "atom %lld has %lld neighbours, at most %d are expected", (long long)i,
                         (long long)near, WL_MAX_NEIGHBOURS);
        else if (g->triplet_start[i + 1] - g->triplet_start[i] != near * (near - 1))
            rc = wl_fail(e, WL_EINVAL, "%s: %d triplets around atom %lld, its %lld neighbours make %lld", name,
                         (int)(g->triplet_start[i + 1] - g->triplet_start[i]), (long long)i, (long long)near,
                         (long long)(near * (near - 1)));
    }
    return rc;
}
