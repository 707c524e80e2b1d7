/* Edges between atoms and triplets of them, as the caller filled them in. */
#ifndef WL_NN_LOWERING_EDGES_H
#define WL_NN_LOWERING_EDGES_H

#include "nn/lowering/rows.h"

struct wl_edge_rows {
    int64_t atoms, edges;
    const int32_t *edge_start, *source, *reverse, *triplet_start;
};

/* `at` is the index of the first of these inputs. */
int wl_edges_read(const struct wl_step *s, const struct wl_run *r, int at, struct wl_edge_rows *g, struct wl_err *e);

/* Each edge between two atoms has one in the other direction, which backward sums over. */
int wl_edges_check(const struct wl_step *s, int at, const struct wl_edge_rows *g, struct wl_err *e);

/* The triplets around an atom are those of its edges, and there is room for all of them. Kernels take the edges that
 * lead to an atom as one block: at most WL_MAX_NEIGHBOURS. */
int wl_edges_check_triplets(const struct wl_step *s, const struct wl_run *r, int at, const struct wl_edge_rows *g,
                            int64_t room, struct wl_err *e);

#endif
