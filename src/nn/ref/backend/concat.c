#include "nn/ref/backend/backend.h"

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

static int concat(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims);
    struct wl_step *s = wl_step_emit(p, n, "forward", WL_TRAIN | WL_EVAL, concat_run);
    for (int i = 0; i < WL_MAX_INPUTS && n->in[i]; i++) wl_step_reads(p, s, p->value[n->in[i]->id]);
    wl_step_writes(p, s, y);
    return 0;
}

static int concat_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
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

static const struct wl_concat_kernels kernels = { wl_ref_get_channels };

const struct wl_op_rules wl_ref_op_concat = { concat, concat_backward, .kernels = &kernels };
