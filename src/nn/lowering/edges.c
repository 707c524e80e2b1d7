#include "nn/lowering/edges.h"

void wl_edges_read(const struct wl_step *s, const struct wl_run *r, int at, struct wl_edge_rows *g)
{
    *g = (struct wl_edge_rows) { .edge_start = wl_rows_at(s, r, WL_ROWS_IN + at),
                                 .source = wl_rows_at(s, r, WL_ROWS_IN + at + 1),
                                 .reverse = wl_rows_at(s, r, WL_ROWS_IN + at + 2),
                                 .triplet_start = wl_rows_at(s, r, WL_ROWS_IN + at + 3) };
}
