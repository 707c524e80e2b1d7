#include "nn/graph/input_checks.h"

/* What the caller filled into input i of the node. */
static const int32_t *input(const struct wl_node *n, const struct wl_input_values *v, int i)
{
    const int32_t *at = v->at[n->in[i]->id];
    WL_CHECK(at && n->in[i]->dtype == WL_I32);
    return at;
}

/* ---- images and sequences ---- */

int wl_check_labels(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    const int64_t rows = n->in[0]->dims.d[0], k = n->in[0]->dims.d[1];
    const int32_t *labels = input(n, v, 1);
    for (int64_t i = 0; i < rows; i++)
        if (labels[i] >= k)
            return wl_fail(e, WL_EINVAL, "label %d of sample %lld is beyond the %lld classes", (int)labels[i],
                           (long long)i, (long long)k);
    return 0;
}

/* Each of n indices of a batch is in [0, limit): "token 30600 of sample 2 is not among the 30522 rows of the table". */
static int check_samples(const char *what, const char *of, const int32_t *index, int64_t n, int64_t samples,
                         int64_t limit, struct wl_err *e)
{
    for (int64_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= limit)
            return wl_fail(e, WL_EINVAL, "%s %d of sample %lld is not among the %lld %s", what, (int)index[i],
                           (long long)(i / (n / samples)), (long long)limit, of);
    return 0;
}

int wl_check_tokens(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    const int64_t *y = n->out->dims.d;
    return check_samples("token", "rows of the table", input(n, v, 0), y[0] * y[1], y[0], n->u.tables.vocabulary, e);
}

int wl_check_positions(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    const int64_t *x = n->in[0]->dims.d;
    return check_samples("position", "of its sequence", input(n, v, 1), x[0] * n->in[1]->dims.d[1], x[0], x[1], e);
}

/* ---- rows ---- */

/* The count of a kind of rows, which must find room; a node on rows reads the counts last. */
static int read_count(const struct wl_node *n, const struct wl_input_values *v, enum wl_row_kind kind, int64_t room,
                      int64_t *rows, struct wl_err *e)
{
    int i = WL_MAX_INPUTS - 1;
    while (!n->in[i]) i--;
    *rows = input(n, v, i)[kind];
    if (*rows >= 0 && *rows <= room) return 0;
    return wl_fail(e, WL_EINVAL, "%lld rows, there is room for %lld", (long long)*rows, (long long)room);
}

static int check_indices(const char *what, const int32_t *index, int64_t n, int64_t limit, struct wl_err *e)
{
    for (int64_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= limit)
            return wl_fail(e, WL_EINVAL, "%s: entry %lld is %d, expected 0 to %lld", what, (long long)i, (int)index[i],
                           (long long)limit - 1);
    return 0;
}

/* start [n + 1] of n segments begins at 0 or later, never falls and ends within `limit`. */
static int check_starts(const char *what, const int32_t *start, int64_t n, int64_t limit, struct wl_err *e)
{
    int rc = check_indices(what, start, n + 1, limit + 1, e);
    for (int64_t i = 0; i < n && !rc; i++)
        if (start[i] > start[i + 1])
            rc = wl_fail(e, WL_EINVAL, "%s: entry %lld is %d, the next one %d", what, (long long)i, (int)start[i],
                         (int)start[i + 1]);
    return rc;
}

int wl_check_rows(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    int64_t rows;
    return read_count(n, v, n->rows, n->out->dims.d[0], &rows, e);
}

int wl_check_embed(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    int64_t rows;
    int rc = read_count(n, v, n->rows, n->out->dims.d[0], &rows, e);
    return rc ? rc : check_indices(n->in[0]->name, input(n, v, 0), rows, n->par[0]->dims.d[0], e);
}

int wl_check_segments(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    int64_t segments;
    int rc = read_count(n, v, n->rows, n->out->dims.d[0], &segments, e);
    return rc ? rc : check_starts(n->in[1]->name, input(n, v, 1), segments, n->in[0]->dims.d[0], e);
}

/* Kernels divide the work by molecules, so a pair must not reach beyond its own. */
int wl_check_pairs(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    const int32_t *atom_start = input(n, v, 1), *pair_start = input(n, v, 2), *pair = input(n, v, 3);
    int64_t molecules;
    int rc = read_count(n, v, WL_MOLECULES, n->in[1]->dims.d[0] - 1, &molecules, e);
    if (!rc) rc = check_starts(n->in[1]->name, atom_start, molecules, n->in[0]->dims.d[0], e);
    if (!rc) rc = check_starts(n->in[2]->name, pair_start, molecules, n->in[4]->dims.d[0], e);
    for (int64_t m = 0; m < molecules && !rc; m++)
        for (int64_t p = 2 * (int64_t)pair_start[m]; p < 2 * (int64_t)pair_start[m + 1]; p++)
            if (pair[p] < atom_start[m] || pair[p] >= atom_start[m + 1])
                rc = wl_fail(e, WL_EINVAL, "%s: pair %lld names atom %d, which is not of molecule %lld", n->in[3]->name,
                             (long long)p / 2, (int)pair[p], (long long)m);
    return rc;
}

/* ---- edges: edge_start, source, reverse, triplet_start, which begin at input `at` ---- */

struct edges {
    int64_t atoms, edges;
    const int32_t *edge_start, *source, *reverse, *triplet_start;
};

/* Each edge between two atoms has one in the other direction, which backward sums over. */
static int check_edges(const struct wl_node *n, const struct wl_input_values *v, int at, struct edges *g,
                       struct wl_err *e)
{
    struct wl_tensor *const *in = n->in + at;
    *g = (struct edges) { .edge_start = input(n, v, at),
                          .source = input(n, v, at + 1),
                          .reverse = input(n, v, at + 2),
                          .triplet_start = input(n, v, at + 3) };
    int rc = read_count(n, v, WL_EDGES, in[1]->dims.d[0], &g->edges, e);
    if (!rc) rc = read_count(n, v, WL_ATOMS, in[0]->dims.d[0] - 1, &g->atoms, e);
    if (!rc) rc = check_starts(in[0]->name, g->edge_start, g->atoms, g->edges, e);
    if (!rc) rc = check_indices(in[1]->name, g->source, g->edges, g->atoms, e);
    if (!rc) rc = check_indices(in[2]->name, g->reverse, g->edges, g->edges, e);
    for (int64_t i = 0; i < g->atoms && !rc; i++)
        for (int64_t q = g->edge_start[i]; q < g->edge_start[i + 1] && !rc; q++)
            if (g->source[g->reverse[q]] != i || g->reverse[g->reverse[q]] != q)
                rc = wl_fail(e, WL_EINVAL, "%s: edge %lld, from atom %d to %lld, has no edge back", in[2]->name,
                             (long long)q, (int)g->source[q], (long long)i);
    return rc;
}

/* The triplets around an atom are those of its edges, and there is room for all of them. Kernels take the edges that
 * lead to an atom as one block: at most WL_MAX_NEIGHBOURS. */
static int check_triplets(const struct wl_node *n, const struct wl_input_values *v, const char *name,
                          const struct edges *g, int64_t room, struct wl_err *e)
{
    int64_t triplets;
    int rc = read_count(n, v, WL_TRIPLETS, room, &triplets, e);
    if (!rc) rc = check_starts(name, g->triplet_start, g->atoms, triplets, e);
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

int wl_check_edge_concat(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    struct edges g;
    return check_edges(n, v, 2, &g, e);
}

int wl_check_triplet_conv(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    enum { EDGES_AT = 4 }; /* after x, residual, radial, angular */
    struct edges g;
    int rc = check_edges(n, v, EDGES_AT, &g, e);
    return rc ? rc : check_triplets(n, v, n->in[EDGES_AT + 3]->name, &g, n->in[3]->dims.d[0], e);
}
