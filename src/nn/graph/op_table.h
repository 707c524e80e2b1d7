/* What holds for an operation in every back-end. A new operation takes, in ops.h, its constructor and its row, in
 * ops_*.c the constructor, which has the shape rule and names and initialises the parameters, with the functions that
 * its row alone names, and in each back-end B the rules `wl_B_op_NAME` (backend.h), which the linker asks for. */
#ifndef WL_NN_GRAPH_OP_TABLE_H
#define WL_NN_GRAPH_OP_TABLE_H

#include "nn/graph/ops.h"

struct wl_node;
struct wl_input_values;

/* Flop of a pass over the whole batch; NAN: they depend on a mean number of rows that is not known. */
typedef double wl_flops_fn(const struct wl_graph *g, const struct wl_node *n);

/* Checks labels, indices and counts that the caller filled in (input_checks.h). */
typedef int wl_input_check_fn(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e);

struct wl_op_info {
    const char *name;
    wl_flops_fn *flops;              /* of a forward pass */
    wl_input_check_fn *check_inputs; /* wl_check_none: it reads nothing that needs one */
    /* NULL: twice those of the forward pass, or once where the first input needs no gradient. */
    wl_flops_fn *backward_flops;
    bool is_loss;
    bool no_backward;  /* reads inputs of the graph alone */
    bool saves_output; /* the backward pass reads the result: no other operation may overwrite it */
    /* In a bf16 plan (wl_tensor_keep_f32): can the result of this node be rows in f32? Can it read such rows? NULL: no.
     */
    bool (*makes_f32)(const struct wl_node *n);
    bool (*reads_f32)(const struct wl_node *n);
};

/* The functions that rows name: declared here, so that one of a single operation is beside its constructor. */
#define WL_OP_FUNCTIONS(op, name, flops, check, ...) \
    wl_flops_fn flops;                               \
    wl_input_check_fn check;
WL_OPS(WL_OP_FUNCTIONS)
#undef WL_OP_FUNCTIONS
wl_flops_fn wl_backward_flops_filter_conv;

const struct wl_op_info *wl_op_info(enum wl_op op);

static inline const char *wl_op_name(enum wl_op op) { return wl_op_info(op)->name; }
static inline bool wl_op_is_loss(enum wl_op op) { return wl_op_info(op)->is_loss; }

/* Of a node. */
wl_flops_fn wl_node_flops;
wl_flops_fn wl_node_backward_flops;

#endif
