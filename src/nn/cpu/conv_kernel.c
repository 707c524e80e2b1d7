/* What convolutions and their measurements share: the kernel of an algorithm, and where weights are held. */
#include "nn/cpu/conv.h"

static int of_type(struct wl_cpu *c, wl_md md, enum wl_dtype type, wl_md *out, struct wl_err *e)
{
    *out = md;
    return wl_md_type(md) == type ? 0 : wl_md_as(c, out, md, type, e);
}

int wl_cpu_conv_kernel(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct wl_conv_kernel *k,
                       const struct wl_window *v, const struct wl_layouts *values, const_dnnl_primitive_desc_t forward,
                       struct wl_err *e)
{
    const enum wl_dtype type = k->algorithm == WL_CONV_WINOGRAD ? WL_F32 : wl_md_type(values->src);
    const struct wl_dims weights = WL_DIMS(v->k, v->c, v->r, v->s);
    struct wl_layouts l = { .bias = values->bias };
    int rc = of_type(c, values->src, type, &l.src, e);
    if (!rc) rc = of_type(c, values->dst, type, &l.dst, e);
    if (!rc) rc = wl_md_any(c, &l.weights, k->pass == WL_PASS_WEIGHTS ? WL_F32 : type, &weights, e);
    return rc ? rc : wl_pd_conv(c, pd, k, v, &l, forward, e);
}

enum wl_pass wl_cpu_conv_master(const struct wl_program *p)
{
    return p->precision == WL_BF16 && p->train ? WL_PASS_WEIGHTS : WL_PASS_FORWARD;
}
