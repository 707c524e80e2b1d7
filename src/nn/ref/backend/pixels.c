#include "nn/ref/backend/backend.h"

static int pixels_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_pixel_map m = wl_pixel_map(s->node);
    wl_ref_pixels(&m, wl_use_at(s, r, 0), wl_step_use_f32(s, r, 1));
    return 0;
}

static int pixels(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims);
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, pixels_run, WL_BUFS(p->value[n->in[0]->id]), WL_BUFS(y));
    return 0;
}

const struct wl_op_rules wl_ref_op_pixels = { pixels };
