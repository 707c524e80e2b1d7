/* Steps of the reference rules. */
#ifndef WL_NN_REF_STEP_H
#define WL_NN_REF_STEP_H

#include "nn/program.h"
#include "nn/ref/ref.h"

typedef int wl_ref_run_fn(const struct wl_step *s, const struct wl_run *r, struct wl_err *e);

/* A step that reads some buffers, then writes others. The first NULL ends a list, so an optional buffer stands last:
 * wl_ref_emit(p, n, "backward weights", WL_TRAIN, run, WL_BUFS(x, dy), WL_BUFS(dw, db)). */
struct wl_step *wl_ref_emit(struct wl_program *p, const struct wl_node *n, const char *what, unsigned when,
                            wl_ref_run_fn *run, struct wl_buf *const *reads, struct wl_buf *const *writes);
#define WL_BUFS(...) ((struct wl_buf *const[]) { __VA_ARGS__, NULL })

/* The rules of concat (concat_rules.c). */
int wl_ref_concat_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_concat_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* Use i of a step in this run, and the elements of its node's first input. */
static inline float *wl_ref_at(const struct wl_step *s, const struct wl_run *r, int i) { return wl_use_at(s, r, i); }

static inline int64_t wl_ref_count(const struct wl_step *s) { return wl_dims_count(&s->node->in[0]->dims); }

#endif
