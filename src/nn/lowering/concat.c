#include "nn/lowering/lowering.h"

struct split {
    const struct wl_concat_kernels *kernels;
    int input;
};

static int split_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_node *n = s->node;
    const struct split *split = s->context;
    const int i = split->input;
    split->kernels->get_channels(wl_channels_of(n->in[i]), n->out->dims.d[1], wl_concat_offset(n, i),
                                 wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1));
    return 0;
}

void wl_lower_channel_split(struct wl_program *p, const struct wl_node *n, int i, struct wl_buf *dy, struct wl_buf *dx)
{
    struct split *context = wl_new(p->arena, struct split);
    *context = (struct split) { wl_rules_of(p, n)->kernels, i };
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, split_run, WL_BUFS(dy), WL_BUFS(dx))->context = context;
}
