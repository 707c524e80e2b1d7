/* Sums and casts of buffers that have one order in memory, number by number. */
#ifndef WL_NN_GPU_PLAIN_H
#define WL_NN_GPU_PLAIN_H

#include "nn/gpu/gpu.h"

/* Callback of struct wl_backend. */
int wl_gpu_sum(struct wl_program *p, const struct wl_node *n, struct wl_buf *a, struct wl_buf *b, struct wl_buf *dst,
               struct wl_err *e);

/* Emits a step that copies a buffer in the order of its memory, into another type. */
int wl_gpu_emit_cast(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, struct wl_buf *to,
                     struct wl_err *e) WL_MUST_CHECK;

/* Emits y = a + b, or max(0, a + b); each of its own type, all of one layout, y may be a or b. */
struct wl_gpu_sum_step {
    const char *pass;
    unsigned when;
    bool relu;
    struct wl_buf *a, *b, *y;
};
int wl_gpu_emit_sum(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_sum_step *s,
                    struct wl_err *e) WL_MUST_CHECK;

#endif
