/* Sums and casts of buffers of one layout, number by number. */
#ifndef WL_NN_GPU_PLAIN_H
#define WL_NN_GPU_PLAIN_H

#include "nn/gpu/gpu.h"

/* Callbacks of struct wl_backend. */
int wl_gpu_sum(struct wl_program *p, const struct wl_node *n, struct wl_buf *a, struct wl_buf *b, struct wl_buf *dst,
               struct wl_err *e);
int wl_gpu_reorder(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, struct wl_buf *to,
                   struct wl_err *e);

const char *wl_gpu_layout_name(const void *layout, struct wl_arena *a);
int wl_gpu_read(void *device, const struct wl_buf *b, float *to, struct wl_err *e);
int wl_gpu_write(void *device, const struct wl_buf *b, const float *from, struct wl_err *e);

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
