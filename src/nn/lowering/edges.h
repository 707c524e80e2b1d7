/* Edges between atoms and triplets of them, as the caller filled them in. */
#ifndef WL_NN_LOWERING_EDGES_H
#define WL_NN_LOWERING_EDGES_H

#include "nn/lowering/rows.h"

struct wl_edge_rows {
    const int32_t *edge_start, *source, *reverse, *triplet_start;
};

/* `at` is the index of the first of these inputs. */
void wl_edges_read(const struct wl_step *s, const struct wl_run *r, int at, struct wl_edge_rows *g);

#endif
