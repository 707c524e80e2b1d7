/* What operations on rows share: their steps. */
#ifndef WL_NN_LOWERING_ROWS_H
#define WL_NN_LOWERING_ROWS_H

#include "nn/lowering/lowering.h"

/* What a step finds among its uses. */
enum wl_rows_operand {
    WL_ROWS_IN = 0,
    WL_ROWS_PARAM = WL_ROWS_IN + WL_MAX_INPUTS,
    WL_ROWS_DPARAM = WL_ROWS_PARAM + WL_MAX_PARAMS,
    WL_ROWS_OUT = WL_ROWS_DPARAM + WL_MAX_PARAMS,
    WL_ROWS_SAVED,
    WL_ROWS_DOUT,
    WL_ROWS_DIN, /* of the first inputs */
    WL_ROWS_SCRATCH = WL_ROWS_DIN + 2,
    WL_ROWS_OPERANDS
};

struct wl_rows_step {
    const void *kernels;      /* the back-end's, of its struct wl_op_rules */
    const void *table;        /* what was made for the operation when it was lowered */
    bool add[2];              /* to the gradient of this input, instead of overwriting it */
    int at[WL_ROWS_OPERANDS]; /* a use of the step, or -1 */
};

static inline const struct wl_rows_step *wl_rows_own(const struct wl_step *s) { return s->context; }

static inline void *wl_rows_at(const struct wl_step *s, const struct wl_run *r, int operand)
{
    const int use = wl_rows_own(s)->at[operand];
    return use < 0 ? NULL : wl_use_at(s, r, use);
}

/* Where the counts of this run are, by enum wl_row_kind: in the device's memory. */
const int32_t *wl_rows_counts(const struct wl_step *s, const struct wl_run *r);

/* The count of a kind of rows in this run, on a device whose memory is the host's. */
int64_t wl_rows_count(const struct wl_step *s, const struct wl_run *r, enum wl_row_kind kind);

/* What the steps of an operation use, on all back-ends. Forward reads the node's inputs and parameters and writes the
 * result and what is kept of it; backward reads those and the gradient of the result and writes the gradients of the
 * parameters and of the first `gradients` inputs. */
struct wl_rows_uses {
    int gradients;
    unsigned not_read; /* bits: inputs that backward does not read */
    unsigned adds;     /* bits: inputs to whose gradient backward can add */
    bool (*saved_dims)(const struct wl_node *n, struct wl_dims *dims); /* (optional) What forward keeps for backward */
};
extern const struct wl_rows_uses wl_rows_uses_parameters; /* gradients by parameters alone */
extern const struct wl_rows_uses wl_rows_uses_segment_sum, wl_rows_uses_dense, wl_rows_uses_filter_conv,
    wl_rows_uses_gate, wl_rows_uses_edge_concat, wl_rows_uses_triplet_conv;

/* How an operation on rows is lowered and run. `prepare` makes the step's table. */
struct wl_rows_op {
    const struct wl_rows_uses *uses;
    wl_step_run_fn *forward, *backward;
    size_t (*scratch)(const void *kernels, const struct wl_node *n, bool backward); /* (optional) Floats */
    int (*prepare)(struct wl_program *p, const struct wl_node *n, const void **table, struct wl_err *e); /* (optional)*/
    /* (optional) Sets the kernel's name and the share of the flops. */
    void (*describe)(const struct wl_program *p, bool backward, struct wl_step *s);
};

/* The sizes and arrays of a step. Numbers of rows are those that there is room for: how many there are in this run is
 * in the device's memory. */
struct wl_dense_args wl_rows_dense_args(const struct wl_step *s, const struct wl_run *r);
struct wl_dense_grad wl_rows_dense_grad(const struct wl_step *s, const struct wl_run *r);
struct wl_filter_args wl_rows_filter_args(const struct wl_step *s, const struct wl_run *r);
struct wl_filter_grad wl_rows_filter_grad(const struct wl_step *s, const struct wl_run *r);
struct wl_gate_args wl_rows_gate_args(const struct wl_step *s, const struct wl_run *r);
struct wl_gate_grad wl_rows_gate_grad(const struct wl_step *s, const struct wl_run *r);
struct wl_edge_concat_args wl_rows_edge_concat_args(const struct wl_step *s, const struct wl_run *r);
struct wl_edge_concat_grad wl_rows_edge_concat_grad(const struct wl_step *s, const struct wl_run *r);
struct wl_triplet_args wl_rows_triplet_args(const struct wl_step *s, const struct wl_run *r);
struct wl_triplet_grad wl_rows_triplet_grad(const struct wl_step *s, const struct wl_run *r);

#endif
