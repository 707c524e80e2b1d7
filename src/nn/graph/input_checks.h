/* Checks of what the caller filled in: labels, indices, counts of rows. They look at the host's copy before a run,
 * since kernels trust these numbers, wherever they run. One per operation that reads any (struct wl_op_info). WL_EINVAL
 * names the tensor, the entry, and what was expected. */
#ifndef WL_NN_GRAPH_INPUT_CHECKS_H
#define WL_NN_GRAPH_INPUT_CHECKS_H

#include "nn/graph/graph.h"

/* The values of inputs by tensor id, on the host; NULL for other tensors. */
struct wl_input_values {
    const void *const *at;
};

typedef int wl_input_check_fn(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e);

wl_input_check_fn wl_check_labels;       /* each is a class, or below 0 */
wl_input_check_fn wl_check_tokens;       /* each has a row in the table */
wl_input_check_fn wl_check_positions;    /* each is in its sequence */
wl_input_check_fn wl_check_rows;         /* there is room for the rows */
wl_input_check_fn wl_check_embed;        /* and each index has a row in the table */
wl_input_check_fn wl_check_segments;     /* and segments lie one after the other */
wl_input_check_fn wl_check_pairs;        /* pairs do not reach beyond their molecule */
wl_input_check_fn wl_check_edge_concat;  /* each edge has one in the other direction */
wl_input_check_fn wl_check_triplet_conv; /* and the triplets around an atom are those of its edges */

#endif
