/* Steps that read and write plain buffers. */
#ifndef WL_NN_LOWERING_STEP_H
#define WL_NN_LOWERING_STEP_H

#include "nn/program/backend.h"

/* A step that reads some buffers, then writes others. The first NULL ends a list, so an optional buffer comes last:
 * wl_step_emit_uses(p, n, "backward weights", WL_TRAIN, run, WL_BUFS(x, dy), WL_BUFS(dw, db)). */
struct wl_step *wl_step_emit_uses(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                                  wl_step_run_fn *run, struct wl_buf *const *reads, struct wl_buf *const *writes);
#define WL_BUFS(...) ((struct wl_buf *const[]) { __VA_ARGS__, NULL })

/* Use i of a step in this run, and the elements of its node's first input. */
static inline float *wl_step_use_f32(const struct wl_step *s, const struct wl_run *r, int i)
{
    return wl_use_at(s, r, i);
}

static inline int64_t wl_step_input_count(const struct wl_step *s) { return wl_dims_count(&s->node->in[0]->dims); }

#endif
