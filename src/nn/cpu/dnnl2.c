/* dnnl_api.h for oneDNN 2.x, where an operation is described by a struct that becomes a primitive descriptor. */
#include "nn/cpu/dnnl_api.h"

#include <oneapi/dnnl/dnnl_debug.h>

int wl_dnnl_check(dnnl_status_t status, const char *what, struct wl_err *e)
{
    return status == dnnl_success ? 0 : wl_fail(e, WL_ELIB, "oneDNN: %s: %s", what, dnnl_status2str(status));
}

/* ---- layouts ---- */

static dnnl_data_type_t data_type(enum wl_dtype t)
{
    return t == WL_F32 ? dnnl_f32 : t == WL_BF16 ? dnnl_bf16 : dnnl_s32;
}

static int layout(struct wl_cpu *c, wl_md *out, enum wl_dtype type, const struct wl_dims *dims, dnnl_format_tag_t tag,
                  struct wl_err *e)
{
    dnnl_memory_desc_t *md = wl_new(c->arena, dnnl_memory_desc_t);
    dnnl_dims_t d = { 0 };
    for (int i = 0; i < dims->n; i++) d[i] = dims->d[i];
    *out = md;
    return wl_dnnl_check(dnnl_memory_desc_init_by_tag(md, dims->n, d, data_type(type), tag), "layout", e);
}

int wl_md_plain(struct wl_cpu *c, wl_md *out, enum wl_dtype type, const struct wl_dims *dims, struct wl_err *e)
{
    static const dnnl_format_tag_t plain[WL_MAX_DIMS + 1] = { 0, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde };
    return layout(c, out, type, dims, plain[dims->n], e);
}

int wl_md_any(struct wl_cpu *c, wl_md *out, enum wl_dtype type, const struct wl_dims *dims, struct wl_err *e)
{
    return layout(c, out, type, dims, dnnl_format_tag_any, e);
}

int wl_md_channels(struct wl_cpu *c, wl_md *out, wl_md md, const struct wl_dims *dims, int64_t at, struct wl_err *e)
{
    dnnl_memory_desc_t *part = wl_new(c->arena, dnnl_memory_desc_t);
    const dnnl_dims_t offset = { 0, at };
    dnnl_dims_t d = { 0 };
    for (int i = 0; i < dims->n; i++) d[i] = dims->d[i];
    dnnl_status_t s = dnnl_memory_desc_init_submemory(part, md, d, offset);
    *out = s ? NULL : part;
    return s == dnnl_unimplemented ? 0 : wl_dnnl_check(s, "part of a layout", e);
}

int wl_md_as(struct wl_cpu *c, wl_md *out, wl_md md, enum wl_dtype type, struct wl_err *e)
{
    (void)e;
    dnnl_memory_desc_t *as = wl_new(c->arena, dnnl_memory_desc_t);
    *as = *md;
    as->data_type = data_type(type);
    *out = as;
    return 0;
}

/* Workspaces are of bytes, which nobody reads but oneDNN: they count as f32 in a shape of their own. */
enum wl_dtype wl_md_type(wl_md md)
{
    return md->data_type == dnnl_bf16 ? WL_BF16 : md->data_type == dnnl_s32 ? WL_I32 : WL_F32;
}

bool wl_md_equal(wl_md a, wl_md b) { return dnnl_memory_desc_equal(a, b); }

size_t wl_md_bytes(wl_md md) { return dnnl_memory_desc_get_size(md); }

/* Sorts the dimensions by stride, the outermost first; of equal strides (a dimension of size 1) the first letter. */
static void outer_order(wl_md md, int order[])
{
    const dnnl_dim_t *strides = md->format_desc.blocking.strides;
    for (int i = 0; i < md->ndims; i++) {
        int at = i;
        for (; at > 0 && strides[order[at - 1]] < strides[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
}

static bool is_blocked(const dnnl_blocking_desc_t *b, int dim)
{
    for (int k = 0; k < b->inner_nblks; k++)
        if (b->inner_idxs[k] == dim) return true;
    return false;
}

const char *wl_md_name(wl_md md, struct wl_arena *a)
{
    if (md->format_kind != dnnl_blocked) return "opaque";
    const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    int order[DNNL_MAX_NDIMS];
    struct wl_text t = WL_TEXT(a);
    outer_order(md, order);
    for (int i = 0; i < md->ndims; i++) wl_text_addf(&t, "%c", (is_blocked(b, order[i]) ? 'A' : 'a') + order[i]);
    for (int k = 0; k < b->inner_nblks; k++)
        wl_text_addf(&t, "%lld%c", (long long)b->inner_blks[k], 'a' + (int)b->inner_idxs[k]);
    return t.s;
}

const char *wl_pd_implementation(const_dnnl_primitive_desc_t pd)
{
    const char *name = NULL;
    return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) ? NULL : name;
}

wl_md wl_pd_md(const_dnnl_primitive_desc_t pd, int arg)
{
    wl_md md = dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, arg);
    return md && md->ndims ? md : NULL;
}

/* ---- primitive descriptors ---- */

static void destroy(void *pd) { dnnl_primitive_desc_destroy(pd); }

/* `add_relu`: max(0, .) of the result, as a post-operation. */
static dnnl_status_t attributes(dnnl_primitive_attr_t *attr, bool add_relu)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t s = dnnl_primitive_attr_create(attr);
    if (!s) s = dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
    if (s || !add_relu) return s;
    s = dnnl_post_ops_create(&ops);
    if (!s) s = dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_relu, 0, 0);
    if (!s) s = dnnl_primitive_attr_set_post_ops(*attr, ops);
    dnnl_post_ops_destroy(ops);
    return s;
}

static int create(struct wl_cpu *c, dnnl_primitive_desc_t *pd, dnnl_status_t described, const_dnnl_op_desc_t op,
                  bool add_relu, const_dnnl_primitive_desc_t hint, const char *what, struct wl_err *e)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = described;
    if (!s) s = attributes(&attr, add_relu);
    if (!s) s = dnnl_primitive_desc_create(pd, op, attr, c->engine, hint);
    dnnl_primitive_attr_destroy(attr);
    if (!s) wl_defer(c->arena, destroy, *pd);
    return wl_dnnl_check(s, what, e);
}

/* A window in oneDNN's form. */
struct axes {
    dnnl_dims_t kernel, stride, dilation, pad;
};

static struct axes axes_of(const struct wl_window *v)
{
    return (struct axes) { .kernel = { v->r, v->s },
                           .stride = { v->stride[0], v->stride[1] },
                           .pad = { v->pad[0], v->pad[1] } };
}

int wl_pd_conv(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct wl_conv_kernel *k, const struct wl_window *v,
               const struct wl_layouts *l, const_dnnl_primitive_desc_t hint, struct wl_err *e)
{
    const dnnl_alg_kind_t alg = k->algorithm == WL_CONV_WINOGRAD ? dnnl_convolution_winograd : dnnl_convolution_direct;
    const struct axes a = axes_of(v);
    dnnl_convolution_desc_t d;
    dnnl_status_t s = dnnl_success;
    switch (k->pass) {
    case WL_PASS_FORWARD:
        s = dnnl_convolution_forward_desc_init(&d, dnnl_forward_training, alg, l->src, l->weights, l->bias, l->dst,
                                               a.stride, a.pad, a.pad);
        break;
    case WL_PASS_DATA:
        s = dnnl_convolution_backward_data_desc_init(&d, alg, l->src, l->weights, l->dst, a.stride, a.pad, a.pad);
        break;
    case WL_PASS_WEIGHTS:
        s = dnnl_convolution_backward_weights_desc_init(&d, alg, l->src, l->weights, l->bias, l->dst, a.stride, a.pad,
                                                        a.pad);
        break;
    }
    return create(c, pd, s, &d, k->relu, hint, "convolution", e);
}

int wl_pd_linear(struct wl_cpu *c, dnnl_primitive_desc_t *pd, enum wl_pass pass, wl_md src, wl_md weights, wl_md bias,
                 wl_md dst, const_dnnl_primitive_desc_t hint, struct wl_err *e)
{
    dnnl_inner_product_desc_t d;
    dnnl_status_t s = dnnl_success;
    switch (pass) {
    case WL_PASS_FORWARD:
        s = dnnl_inner_product_forward_desc_init(&d, dnnl_forward_training, src, weights, bias, dst);
        break;
    case WL_PASS_DATA: s = dnnl_inner_product_backward_data_desc_init(&d, src, weights, dst); break;
    case WL_PASS_WEIGHTS: s = dnnl_inner_product_backward_weights_desc_init(&d, src, weights, bias, dst); break;
    }
    return create(c, pd, s, &d, false, hint, "inner product", e);
}

static unsigned norm_flags(bool relu) { return dnnl_use_scale | dnnl_use_shift | (relu ? dnnl_fuse_norm_relu : 0u); }

int wl_pd_norm(struct wl_cpu *c, dnnl_primitive_desc_t *pd, bool train, bool relu, double eps, wl_md x,
               struct wl_err *e)
{
    dnnl_batch_normalization_desc_t d;
    dnnl_status_t s =
        dnnl_batch_normalization_forward_desc_init(&d, train ? dnnl_forward_training : dnnl_forward_inference, x,
                                                   (float)eps, norm_flags(relu) | (train ? 0u : dnnl_use_global_stats));
    return create(c, pd, s, &d, false, NULL, "batch normalisation", e);
}

int wl_pd_norm_backward(struct wl_cpu *c, dnnl_primitive_desc_t *pd, bool relu, double eps, wl_md x,
                        const_dnnl_primitive_desc_t hint, struct wl_err *e)
{
    dnnl_batch_normalization_desc_t d;
    dnnl_status_t s =
        dnnl_batch_normalization_backward_desc_init(&d, dnnl_backward, x, x, (float)eps, norm_flags(relu));
    return create(c, pd, s, &d, false, hint, "batch normalisation, backward", e);
}

int wl_pd_pool(struct wl_cpu *c, dnnl_primitive_desc_t *pd, bool train, dnnl_alg_kind_t alg, const struct wl_window *v,
               wl_md src, wl_md dst, struct wl_err *e)
{
    dnnl_pooling_v2_desc_t d;
    const struct axes a = axes_of(v);
    dnnl_status_t s = dnnl_pooling_v2_forward_desc_init(&d, train ? dnnl_forward_training : dnnl_forward_inference, alg,
                                                        src, dst, a.stride, a.kernel, a.dilation, a.pad, a.pad);
    return create(c, pd, s, &d, false, NULL, "pooling", e);
}

int wl_pd_pool_backward(struct wl_cpu *c, dnnl_primitive_desc_t *pd, dnnl_alg_kind_t alg, const struct wl_window *v,
                        wl_md src, wl_md dst, const_dnnl_primitive_desc_t hint, struct wl_err *e)
{
    dnnl_pooling_v2_desc_t d;
    const struct axes a = axes_of(v);
    dnnl_status_t s =
        dnnl_pooling_v2_backward_desc_init(&d, alg, src, dst, a.stride, a.kernel, a.dilation, a.pad, a.pad);
    return create(c, pd, s, &d, false, hint, "pooling, backward", e);
}

int wl_pd_concat(struct wl_cpu *c, dnnl_primitive_desc_t *pd, int n, const wl_md *src, struct wl_err *e)
{
    dnnl_memory_desc_t mds[WL_MAX_INPUTS];
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = attributes(&attr, false);
    for (int i = 0; i < n; i++) mds[i] = *src[i];
    if (!s) s = dnnl_concat_primitive_desc_create(pd, NULL, n, 1, mds, attr, c->engine);
    dnnl_primitive_attr_destroy(attr);
    if (!s) wl_defer(c->arena, destroy, *pd);
    return wl_dnnl_check(s, "concatenation", e);
}

int wl_pd_add(struct wl_cpu *c, dnnl_primitive_desc_t *pd, bool relu, wl_md x, struct wl_err *e)
{
    dnnl_binary_desc_t d;
    return create(c, pd, dnnl_binary_desc_init(&d, dnnl_binary_add, x, x, x), &d, relu, NULL, "sum", e);
}

int wl_pd_relu(struct wl_cpu *c, dnnl_primitive_desc_t *pd, wl_md x, struct wl_err *e)
{
    dnnl_eltwise_desc_t d;
    dnnl_status_t s =
        dnnl_eltwise_forward_desc_init(&d, dnnl_forward_training, dnnl_eltwise_relu_use_dst_for_bwd, x, 0, 0);
    return create(c, pd, s, &d, false, NULL, "relu", e);
}

int wl_pd_relu_backward(struct wl_cpu *c, dnnl_primitive_desc_t *pd, wl_md x, struct wl_err *e)
{
    dnnl_primitive_desc_t hint;
    int rc = wl_pd_relu(c, &hint, x, e);
    if (rc) return rc;
    dnnl_eltwise_desc_t d;
    dnnl_status_t s = dnnl_eltwise_backward_desc_init(&d, dnnl_eltwise_relu_use_dst_for_bwd, x, x, 0, 0);
    return create(c, pd, s, &d, false, hint, "relu, backward", e);
}

int wl_pd_reorder(struct wl_cpu *c, dnnl_primitive_desc_t *pd, wl_md from, wl_md to, struct wl_err *e)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = attributes(&attr, false);
    if (!s) s = dnnl_reorder_primitive_desc_create(pd, from, c->engine, to, c->engine, attr);
    dnnl_primitive_attr_destroy(attr);
    if (!s) wl_defer(c->arena, destroy, *pd);
    return wl_dnnl_check(s, "reorder", e);
}
