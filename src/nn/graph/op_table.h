/* The operations: one row each. A new operation takes a row here, a constructor in ops.h and ops_*.c, which has the
 * shape rule and names and initialises the parameters, and in each back-end B the rules `wl_B_op_NAME` (backend.h),
 * which the linker asks for.
 */
#ifndef WL_NN_GRAPH_OP_TABLE_H
#define WL_NN_GRAPH_OP_TABLE_H

#include "nn/graph/ops.h"

/* ROW(OP, name, flops of the forward pass, other fields of struct wl_op_info ...) */
#define WL_OPS(ROW)                                                                              \
    ROW(CONV, conv2d, matrix_flops)                                                              \
    ROW(BATCH_NORM, batch_norm, no_flops)                                                        \
    ROW(RELU, relu, no_flops, .saves_output = true)                                              \
    ROW(ADD, add, no_flops, .saves_output = true, .makes_f32 = has_no_relu, .reads_f32 = always) \
    ROW(CONCAT, concat, no_flops)                                                                \
    ROW(MAX_POOL, max_pool, no_flops)                                                            \
    ROW(AVG_POOL, avg_pool, no_flops)                                                            \
    ROW(DROPOUT, dropout, no_flops)                                                              \
    ROW(LINEAR, linear, matrix_flops)                                                            \
    ROW(EMBED, embed, no_flops)                                                                  \
    ROW(DENSE, dense, rows_matrix_flops)                                                         \
    ROW(SEGMENT_SUM, segment_sum, no_flops)                                                      \
    ROW(FILTER_CONV, filter_conv, filter_flops, .backward_flops = filter_backward_flops)         \
    ROW(EMBED_TOKENS, embed_tokens, no_flops)                                                    \
    ROW(LAYER_NORM, layer_norm, no_flops, .reads_f32 = has_no_branch)                            \
    ROW(PROJECT, project, matrix_flops)                                                          \
    ROW(ATTENTION, attention, attention_flops)                                                   \
    ROW(GATHER, gather, no_flops)                                                                \
    ROW(DECODER, decoder, decoder_flops)                                                         \
    ROW(PATCHES, patches, no_flops)                                                              \
    ROW(FROM_PATCHES, from_patches, no_flops)                                                    \
    ROW(POSITION, position, no_flops, .makes_f32 = always)                                       \
    ROW(FFT2, fft2, no_flops)                                                                    \
    ROW(INVERSE_FFT2, inverse_fft2, no_flops)                                                    \
    ROW(COMPLEX_LINEAR, complex_linear, complex_flops, .saves_output = true)                     \
    ROW(BESSEL_BASIS, bessel_basis, no_flops)                                                    \
    ROW(SPHERICAL_BASIS, spherical_basis, no_flops, .no_backward = true)                         \
    ROW(ANGULAR_BASIS, angular_basis, no_flops, .no_backward = true)                             \
    ROW(GATE, gate, rows_matrix_flops)                                                           \
    ROW(EDGE_CONCAT, edge_concat, no_flops)                                                      \
    ROW(TRIPLET_CONV, triplet_conv, triplet_flops)                                               \
    ROW(CROSS_ENTROPY, cross_entropy, no_flops, .is_loss = true)                                 \
    ROW(MEAN_SQUARE, mean_square, no_flops, .is_loss = true)                                     \
    ROW(RELATIVE_L2, relative_l2, no_flops, .is_loss = true)

enum wl_op {
#define WL_OP_VALUE(op, ...) WL_OP_##op,
    WL_OPS(WL_OP_VALUE)
#undef WL_OP_VALUE
        WL_OP_COUNT
};

struct wl_node;

/* What holds for an operation in every back-end. */
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
};
const struct wl_op_info *wl_op_info(enum wl_op op);

static inline const char *wl_op_name(enum wl_op op) { return wl_op_info(op)->name; }
static inline bool wl_op_is_loss(enum wl_op op) { return wl_op_info(op)->is_loss; }

/* Of a node; NAN as above. */
double wl_node_flops(const struct wl_graph *g, const struct wl_node *n);
double wl_node_backward_flops(const struct wl_graph *g, const struct wl_node *n);

#endif
