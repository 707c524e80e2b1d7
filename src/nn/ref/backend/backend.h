/* The back-end that runs the oracle's kernels: all buffers plain, one step per kernel, nothing in place. One file per
 * operation. */
#ifndef WL_NN_REF_BACKEND_BACKEND_H
#define WL_NN_REF_BACKEND_BACKEND_H

#include "nn/lowering/lowering.h"
#include "nn/ref/ref.h"

#define WL_REF_RULES(op, name, ...) extern const struct wl_op_rules wl_ref_op_##name;
WL_OPS(WL_REF_RULES)
#undef WL_REF_RULES

/* The table of these rules, and callbacks sum and reorder of struct wl_backend: for back-ends on such memory. */
extern const struct wl_op_rules *const wl_ref_rules[WL_OP_COUNT];
int wl_ref_sum(struct wl_program *p, const struct wl_node *n, struct wl_buf *a, struct wl_buf *b, struct wl_buf *dst,
               struct wl_err *e);
int wl_ref_reorder(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, struct wl_buf *to,
                   struct wl_err *e);

/* The value of parameter t as a product reads it: itself, or a copy of 16 bits that this node makes. */
int wl_ref_weights(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t, struct wl_buf **out,
                   struct wl_err *e);

/* The backward rule of relu and add: the gradient of the result, where y > 0 if there is a relu, goes to each input. */
int wl_ref_relu_backward_rule(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* The result of node n as a new buffer; its inputs, the gradient of its result and what its forward rule saved. */
static inline struct wl_buf *wl_ref_output(struct wl_program *p, const struct wl_node *n)
{
    return p->value[n->out->id] = wl_buf_result(p, n);
}

static inline struct wl_buf *wl_ref_input(const struct wl_program *p, const struct wl_node *n, int i)
{
    return p->value[n->in[i]->id];
}

static inline struct wl_buf *wl_ref_out_gradient(const struct wl_program *p, const struct wl_node *n)
{
    return p->gradient[n->out->id];
}

static inline struct wl_buf *wl_ref_saved(const struct wl_program *p, const struct wl_node *n, int i)
{
    return p->saved[n->out->id].buf[i];
}

#endif
