/* Concatenation by channel. Inputs that could not be written into the result (concat.h) are copied, and their
 * gradients back. */
#include "nn/gpu/ops/concat.h"

#include "nn/gpu/layout.h"

/* Of a concatenation whose inputs are being lowered, or it itself: its result, which may be a part of another one's. */
struct concat {
    struct wl_gpu_place result;
    bool placed[WL_MAX_INPUTS];
};

static struct concat *concat_of(struct wl_program *p, const struct wl_node *n)
{
    const void **context = &p->saved[n->out->id].context;
    if (*context) return (struct concat *)*context; /* this file has made it */
    struct concat *c = wl_new(p->arena, struct concat);
    *context = c;
    if (wl_gpu_concat_place(p, n->out, &c->result)) return c;
    c->result.buf = wl_gpu_nhwc_result(p, n);
    c->result.slice = (struct wl_gpu_slice) { 0, (int32_t)wl_gpu_padded_channels(c->result.buf) };
    return c;
}

/* Where input i is. */
static struct wl_gpu_slice slice_of(const struct wl_node *n, const struct concat *c, int i)
{
    return (struct wl_gpu_slice) { c->result.slice.at + (int32_t)wl_concat_offset(n, i), c->result.slice.stride };
}

static int inputs_of(const struct wl_node *n)
{
    int count = 0;
    while (count < WL_MAX_INPUTS && n->in[count]) count++;
    return count;
}

/* Kernels write whole groups of channels. */
static bool fills_groups(const struct wl_node *n, int i)
{
    enum { GROUP = 8 };
    return n->in[i]->dims.d[1] % GROUP == 0 && wl_concat_offset(n, i) % GROUP == 0 && n->out->dims.d[1] % GROUP == 0;
}

bool wl_gpu_concat_place(struct wl_program *p, const struct wl_tensor *t, struct wl_gpu_place *place)
{
    const struct wl_node *n = wl_may_overwrite(p, t) ? wl_only_reader(p->graph, t) : NULL;
    int i = 0;
    if (!n || n->op != WL_OP_CONCAT) return false;
    while (n->in[i] != t) i++;
    if (!fills_groups(n, i)) return false;
    struct concat *c = concat_of(p, n);
    c->placed[i] = true;
    *place = (struct wl_gpu_place) { c->result.buf, slice_of(n, c, i) };
    return true;
}

/* The last input brings the zeros of the result's padding with it. */
static int put(struct wl_program *p, const struct wl_node *n, const struct concat *c, int i, struct wl_err *e)
{
    struct wl_buf *x;
    int rc = wl_gpu_nhwc_input(p, n, i, &x, e);
    if (rc) return rc;
    const int64_t channels = n->in[i]->dims.d[1];
    const bool pads = i + 1 == inputs_of(n) && !fills_groups(n, i);
    const struct wl_gpu_channels what = {
        .channels = channels,
        .width = pads ? c->result.slice.stride - wl_concat_offset(n, i) : channels,
        .from = { 0, (int32_t)wl_gpu_padded_channels(x) },
        .to = slice_of(n, c, i),
    };
    return wl_gpu_emit_channels(p, n, "forward", &what, x, c->result.buf, e);
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct concat *c = concat_of(p, n);
    int rc = 0;
    for (int i = 0; i < inputs_of(n) && !rc; i++)
        if (!c->placed[i]) rc = put(p, n, c, i, e);
    p->value[n->out->id] = c->result.buf;
    return rc;
}

static int get(struct wl_program *p, const struct wl_node *n, const struct concat *c, int i, struct wl_err *e)
{
    struct wl_buf *dy = p->gradient[n->out->id], *dx;
    if (c->placed[i]) return wl_gradient_add(p, n, n->in[i], dy, e);
    dx = wl_gpu_nhwc_value(p, &n->in[i]->dims);
    const int32_t width = (int32_t)wl_gpu_padded_channels(dx);
    const struct wl_gpu_channels what = {
        .channels = n->in[i]->dims.d[1],
        .width = width,
        .from = slice_of(n, c, i),
        .to = { 0, width },
    };
    int rc = wl_gpu_emit_channels(p, n, "backward", &what, dy, dx, e);
    return rc ? rc : wl_gpu_gradient_add(p, n, n->in[i], dx, e);
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct concat *c = concat_of(p, n);
    int rc = 0;
    for (int i = 0; i < inputs_of(n) && !rc; i++)
        if (n->in[i]->gradient) rc = get(p, n, c, i, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_gpu_op_concat = { forward, backward };
