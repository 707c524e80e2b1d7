/* Values that are computed again in the backward pass instead of being kept until then (Chen et al. 2016,
 * arXiv:1604.06174; docs/adr/105).
 *
 * A program that was lowered as usual is rewritten. Its forward steps fall into segments. Of some segments only that is
 * kept which later ones read; in front of the first backward step that reads another of its values, those of its steps
 * that make such values stand once more and write buffers of their own, which the backward steps then read. The
 * same steps run on the same bits, so they give the same bits; losses are not counted and statistics not moved twice.
 */
#ifndef WL_NN_RECOMPUTE_RECOMPUTE_H
#define WL_NN_RECOMPUTE_RECOMPUTE_H

#include "nn/program/program.h"

/* What of a program is computed again. */
struct wl_recompute_result {
    struct wl_plan_segment *segments; /* in the order of the forward pass; flops of the whole batch */
    size_t n;
};

/* Rewrites a program with a backward pass whose buffers have no addresses yet: with as little work as brings its values
 * to `limit` bytes; where nothing does, and with a limit of 0, so that they take the least memory, or hardly more where
 * that saves work. A program whose values take the least as it is stays so. */
void wl_recompute(struct wl_program *p, size_t limit, struct wl_recompute_result *made);

#endif
