/* How a program concatenates on plain buffers. */
#include "nn/lowering/step.h"

static int concat_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_node *n = s->node;
    int64_t at = 0, channels = n->out->dims.d[1];
    float *y = wl_step_use_f32(s, r, s->n_uses - 1);
    for (int i = 0; i < s->n_uses - 1; i++) {
        struct wl_channels x = wl_channels_of(n->in[i]);
        wl_ref_put_channels(x, channels, at, wl_step_use_f32(s, r, i), y);
        at += x.c;
    }
    return 0;
}

int wl_ref_lower_concat(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims);
    struct wl_step *s = wl_step_emit(p, n, "forward", WL_TRAIN | WL_EVAL, concat_run);
    for (int i = 0; i < WL_MAX_INPUTS && n->in[i]; i++) wl_step_reads(p, s, p->value[n->in[i]->id]);
    wl_step_writes(p, s, y);
    return 0;
}

static int split_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_node *n = s->node;
    const int i = *(const int *)s->own;
    wl_ref_get_channels(wl_channels_of(n->in[i]), n->out->dims.d[1], wl_concat_offset(n, i), wl_step_use_f32(s, r, 0),
                        wl_step_use_f32(s, r, 1));
    return 0;
}

void wl_lower_channel_split(struct wl_program *p, const struct wl_node *n, int i, struct wl_buf *dy, struct wl_buf *dx)
{
    int *own = wl_new(p->arena, int);
    *own = i;
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, split_run, WL_BUFS(dy), WL_BUFS(dx))->own = own;
}

int wl_ref_lower_concat_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    int rc = 0;
    for (int i = 0; i < WL_MAX_INPUTS && n->in[i] && !rc; i++) {
        if (!n->in[i]->gradient) continue;
        struct wl_buf *dx = wl_buf_value(p, &n->in[i]->dims);
        wl_lower_channel_split(p, n, i, p->gradient[n->out->id], dx);
        rc = wl_gradient_add(p, n, n->in[i], dx, e);
    }
    wl_gradient_done(p, n->out);
    return rc;
}
