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
    const void *kernels;      /* the operation's, of kernels.h */
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

/* The count of a kind of rows in this run. */
int64_t wl_rows_count(const struct wl_step *s, const struct wl_run *r, enum wl_row_kind kind);

/* How an operation on rows is lowered and run. Forward reads the node's inputs and parameters and writes the result and
 * what is kept of it; backward reads those and the gradient of the result and writes the gradients of the parameters
 * and of the first `gradients` inputs. */
struct wl_rows_op {
    wl_step_run_fn *forward, *backward;
    int gradients;
    unsigned not_read; /* bits: inputs that backward does not read */
    unsigned adds;     /* bits: inputs to whose gradient backward can add */
    bool (*saved_dims)(const struct wl_node *n, struct wl_dims *dims); /* (optional) What forward keeps for backward */
    size_t (*scratch)(const void *kernels, const struct wl_node *n, bool backward);         /* (optional) Floats */
    const void *(*table)(const void *kernels, const struct wl_node *n, struct wl_arena *a); /* (optional) */
};

#endif
