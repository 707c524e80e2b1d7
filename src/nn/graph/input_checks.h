/* Checks of what the caller filled in: labels, indices, counts of rows. They look at the host's copy before a run,
 * since kernels trust these numbers, wherever they run. One per operation that reads any (struct wl_op_info), beside
 * its constructor; here is what they share. WL_EINVAL names the tensor, the entry, and what was expected. */
#ifndef WL_NN_GRAPH_INPUT_CHECKS_H
#define WL_NN_GRAPH_INPUT_CHECKS_H

#include "nn/graph/graph.h"

/* The values of inputs by tensor id, on the host; NULL for other tensors. */
struct wl_input_values {
    const void *const *at;
};

/* What the caller filled into input i of the node, i32. */
const int32_t *wl_input_values_of(const struct wl_node *n, const struct wl_input_values *v, int i);

/* The count of a kind of rows, which must find room. */
int wl_input_count(const struct wl_node *n, const struct wl_input_values *v, enum wl_row_kind kind, int64_t room,
                   int64_t *rows, struct wl_err *e);

/* Each of n indices is in [0, limit). */
int wl_check_indices(const char *what, const int32_t *index, int64_t n, int64_t limit, struct wl_err *e);

/* start [n + 1] of n segments begins at 0 or later, never falls and ends within `limit`. */
int wl_check_starts(const char *what, const int32_t *start, int64_t n, int64_t limit, struct wl_err *e);

#endif
