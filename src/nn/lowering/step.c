#include "nn/lowering/step.h"

#include "nn/lowering/lowering.h"

struct wl_step *wl_step_emit_uses(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                                  wl_step_run_fn *run, struct wl_buf *const *reads, struct wl_buf *const *writes)
{
    struct wl_step *s = wl_step_emit(p, n, pass, when, run);
    for (; *reads; reads++) wl_step_reads(p, s, *reads);
    for (; *writes; writes++) wl_step_writes(p, s, *writes);
    return s;
}

struct wl_buf *wl_lower_plain_param(struct wl_program *p, const struct wl_tensor *t)
{
    return wl_buf_param(p, t, NULL, (size_t)wl_dims_count(&t->dims) * sizeof(float));
}
