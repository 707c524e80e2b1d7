/* What holds for an operation in every back-end. A new operation takes, in ops.h, its constructor and its row, in
 * ops_*.c the constructor, which has the shape rule and names and initialises the parameters, and in each back-end B
 * the rules `wl_B_op_NAME` (program.h), which the linker asks for.
 */
#ifndef WL_NN_GRAPH_OP_TABLE_H
#define WL_NN_GRAPH_OP_TABLE_H

#include "nn/graph/ops.h"

struct wl_node;
struct wl_input_values;

struct wl_op_info {
    const char *name;
    /* Flop of a forward pass over the whole batch; NAN: they depend on a mean number of rows that is not known. */
    double (*flops)(const struct wl_graph *g, const struct wl_node *n);
    /* Flop of the backward pass; NULL: twice those of the forward pass, or once where the first input needs no
     * gradient. */
    double (*backward_flops)(const struct wl_graph *g, const struct wl_node *n);
    bool is_loss;
    bool no_backward;  /* reads inputs of the graph alone */
    bool saves_output; /* the backward pass reads the result: no other operation may overwrite it */
    /* In a bf16 plan (wl_tensor_keep_f32): can the result of this node be rows in f32? Can it read such rows? NULL: no.
     */
    bool (*makes_f32)(const struct wl_node *n);
    bool (*reads_f32)(const struct wl_node *n);
    /* Labels, indices and counts that the caller filled in (input_checks.h); NULL: it reads none. */
    int (*check_inputs)(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e);
};
const struct wl_op_info *wl_op_info(enum wl_op op);

static inline const char *wl_op_name(enum wl_op op) { return wl_op_info(op)->name; }
static inline bool wl_op_is_loss(enum wl_op op) { return wl_op_info(op)->is_loss; }

/* Of a node; NAN as above. */
double wl_node_flops(const struct wl_graph *g, const struct wl_node *n);
double wl_node_backward_flops(const struct wl_graph *g, const struct wl_node *n);

#endif
