/* Recomputation (gradient checkpointing): values that are recomputed in the backward pass instead of kept until then
 * (Chen et al. 2016, arXiv:1604.06174; docs/adr/105).
 *
 * A program that was lowered as usual is rewritten. Its forward steps fall into segments. Of some segments only what
 * later ones read is kept; before the first backward step that reads another of its values, copies of the steps that
 * make such values are inserted, which write buffers of their own that the backward steps then read. The
 * same steps run on the same bits, so they give the same bits; losses are not counted twice and statistics not updated
 * twice.
 */
#ifndef WL_NN_RECOMPUTE_RECOMPUTE_H
#define WL_NN_RECOMPUTE_RECOMPUTE_H

#include "nn/program/program.h"
#include "nn/recompute/plan_segment.h"

/* The segments of a program that are recomputed. */
struct wl_recompute_result {
    struct wl_plan_segment *segments; /* in the order of the forward pass; flops of the whole batch */
    size_t n;
};

/* Rewrites a program with a backward pass whose buffers have no addresses yet: with the least work that brings its
 * values to `limit` bytes; where nothing does, and with a limit of 0, to the least memory, or hardly more where that
 * saves work. A program whose values take the least as they are is left unchanged. */
void wl_recompute(struct wl_program *p, size_t limit, struct wl_recompute_result *made);

#endif
