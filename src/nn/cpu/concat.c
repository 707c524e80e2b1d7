/* Concatenation by channel. In blocked layouts each input is a run of whole blocks of each sample, where the channels
 * fill them: one copy forward, and one back per input. */
#include "nn/cpu/cpu.h"
#include "nn/ref/ref.h"

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_cpu_arg args[WL_MAX_INPUTS + 2] = { 0 };
    wl_md src[WL_MAX_INPUTS];
    dnnl_primitive_desc_t pd;
    int inputs = 0, rc = 0;
    for (; inputs < WL_MAX_INPUTS && n->in[inputs] && !rc; inputs++) {
        args[inputs] = (struct wl_cpu_arg) { DNNL_ARG_MULTIPLE_SRC + inputs, p->value[n->in[inputs]->id], false };
        rc = wl_cpu_layout(p, args[inputs].buf, &src[inputs], e);
    }
    if (!rc) rc = wl_pd_concat(wl_cpu_of(p), &pd, inputs, src, e);
    if (rc) return rc;
    struct wl_buf *y = p->value[n->out->id] = wl_cpu_buf(p, wl_pd_md(pd, DNNL_ARG_DST), &n->out->dims);
    args[inputs] = (struct wl_cpu_arg) { DNNL_ARG_DST, y, true };
    return wl_cpu_emit(p, n, "forward", WL_TRAIN | WL_EVAL, pd, args, e);
}

/* Where an input does not begin or end with a block, by way of plain copies. */
static int split_plain(struct wl_program *p, const struct wl_node *n, int i, struct wl_err *e)
{
    struct wl_buf *dy, *dx = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->in[i]->dims);
    int rc = wl_lower_plain_gradient(p, n, n->out, &dy, e);
    if (rc) return rc;
    wl_lower_channel_split(p, n, i, dy, dx);
    return wl_gradient_add_plain(p, n, n->in[i], dx, e);
}

static int split(struct wl_program *p, const struct wl_node *n, int i, struct wl_err *e)
{
    struct wl_buf *dy = p->gradient[n->out->id], *dx = wl_buf_like(p, p->value[n->in[i]->id]);
    wl_md whole, part, to;
    dnnl_primitive_desc_t pd;
    int rc = wl_cpu_layout(p, dy, &whole, e);
    if (!rc) rc = wl_cpu_layout(p, dx, &to, e);
    if (!rc) rc = wl_md_channels(wl_cpu_of(p), &part, whole, &n->in[i]->dims, wl_concat_offset(n, i), e);
    if (!rc && !part) return split_plain(p, n, i, e);
    if (!rc) rc = wl_pd_reorder(wl_cpu_of(p), &pd, part, to, e);
    if (!rc)
        rc = wl_cpu_emit(p, n, "backward", WL_TRAIN, pd,
                         (struct wl_cpu_arg[]) { { DNNL_ARG_FROM, dy, false }, { DNNL_ARG_TO, dx, true }, { 0 } }, e);
    return rc ? rc : wl_gradient_add(p, n, n->in[i], dx, e);
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    int rc = 0;
    for (int i = 0; i < WL_MAX_INPUTS && n->in[i] && !rc; i++)
        if (n->in[i]->gradient) rc = split(p, n, i, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

static const struct wl_concat_kernels kernels = { wl_ref_get_channels };

const struct wl_op_rules wl_cpu_op_concat = { forward, backward, .kernels = &kernels };
