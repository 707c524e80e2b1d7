/* dnnl_api.h for oneDNN 3.x: layouts are opaque objects, operations become primitive descriptors in one call. */
#include "nn/cpu/dnnl_versions.h"

/* ---- layouts ---- */

static void destroy(void *md) { dnnl_memory_desc_destroy(md); }

/* `md` goes with the arena when it was created. */
static int created(struct wl_cpu *c, wl_md *out, dnnl_memory_desc_t md, dnnl_status_t s, const char *what,
                   struct wl_err *e)
{
    *out = s ? NULL : md;
    if (!s) wl_defer(c->arena, destroy, md);
    return wl_dnnl_check(s, what, e);
}

int wl_md_tagged(struct wl_cpu *c, wl_md *out, enum wl_dtype type, const struct wl_dims *dims, dnnl_format_tag_t tag,
                 struct wl_err *e)
{
    dnnl_memory_desc_t md = NULL;
    dnnl_dims_t d;
    wl_dnnl_dims(d, dims);
    dnnl_status_t s = dnnl_memory_desc_create_with_tag(&md, dims->n, d, wl_dnnl_type(type), tag);
    return created(c, out, md, s, "layout", e);
}

int wl_md_channels(struct wl_cpu *c, wl_md *out, wl_md md, const struct wl_dims *dims, int64_t at, struct wl_err *e)
{
    dnnl_memory_desc_t part = NULL;
    const dnnl_dims_t offset = { 0, at };
    dnnl_dims_t d;
    wl_dnnl_dims(d, dims);
    dnnl_status_t s = dnnl_memory_desc_create_submemory(&part, md, d, offset);
    *out = NULL;
    return s == dnnl_unimplemented ? 0 : created(c, out, part, s, "part of a layout", e);
}

static dnnl_data_type_t type_of(wl_md md)
{
    dnnl_data_type_t t = dnnl_data_type_undef;
    WL_CHECK(dnnl_memory_desc_query(md, dnnl_query_data_type, &t) == dnnl_success);
    return t;
}

static dnnl_format_kind_t kind_of(wl_md md)
{
    dnnl_format_kind_t k = dnnl_format_kind_undef;
    WL_CHECK(dnnl_memory_desc_query(md, dnnl_query_format_kind, &k) == dnnl_success);
    return k;
}

static bool has_tag(wl_md md, const dnnl_dims_t dims, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t same = NULL;
    if (dnnl_memory_desc_create_with_tag(&same, wl_md_rank(md), dims, type_of(md), tag)) return false;
    bool equal = wl_md_equal(md, same);
    dnnl_memory_desc_destroy(same);
    return equal;
}

/* The first tag that makes the layout. Version 3 has no call that returns it. */
static dnnl_format_tag_t tag_of(wl_md md, const dnnl_dims_t dims)
{
    if (kind_of(md) != dnnl_blocked) return dnnl_format_tag_undef;
    for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; tag++)
        if (has_tag(md, dims, (dnnl_format_tag_t)tag)) return (dnnl_format_tag_t)tag;
    return dnnl_format_tag_undef;
}

int wl_md_as(struct wl_cpu *c, wl_md *out, wl_md md, enum wl_dtype type, struct wl_err *e)
{
    const dnnl_dims_t *d = NULL;
    *out = md;
    if (type_of(md) == wl_dnnl_type(type)) return 0;
    WL_CHECK(dnnl_memory_desc_query(md, dnnl_query_dims, &d) == dnnl_success);
    struct wl_dims dims = { .n = wl_md_rank(md) };
    WL_CHECK(dims.n <= WL_MAX_DIMS);
    for (int i = 0; i < dims.n; i++) dims.d[i] = (*d)[i];
    if (kind_of(md) == dnnl_format_kind_any) return wl_md_any(c, out, type, &dims, e);
    const dnnl_format_tag_t tag = tag_of(md, *d);
    return tag ? wl_md_tagged(c, out, type, &dims, tag, e) : wl_md_plain(c, out, type, &dims, e);
}

enum wl_dtype wl_md_type(wl_md md) { return wl_dnnl_dtype(type_of(md)); }

int wl_md_rank(wl_md md)
{
    int rank = 0;
    WL_CHECK(dnnl_memory_desc_query(md, dnnl_query_ndims_s32, &rank) == dnnl_success);
    return rank;
}

bool wl_md_blocks(wl_md md, struct wl_md_blocking *out)
{
    const dnnl_dims_t *strides = NULL, *sizes = NULL, *dims = NULL;
    int n = 0;
    if (kind_of(md) != dnnl_blocked) return false;
    WL_CHECK(dnnl_memory_desc_query(md, dnnl_query_strides, &strides) == dnnl_success &&
             dnnl_memory_desc_query(md, dnnl_query_inner_nblks_s32, &n) == dnnl_success &&
             dnnl_memory_desc_query(md, dnnl_query_inner_blks, &sizes) == dnnl_success &&
             dnnl_memory_desc_query(md, dnnl_query_inner_idxs, &dims) == dnnl_success);
    *out = (struct wl_md_blocking) { *strides, n, *sizes, *dims };
    return true;
}

/* ---- primitive descriptors ---- */

dnnl_status_t wl_dnnl_append_relu(dnnl_post_ops_t ops)
{
    return dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0, 0);
}

dnnl_status_t wl_dnnl_append_sum(dnnl_post_ops_t ops)
{
    return dnnl_post_ops_append_sum(ops, 1, 0, dnnl_data_type_undef);
}

int wl_pd_conv(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct wl_conv_kernel *k, const struct wl_window *v,
               const struct wl_layouts *l, const_dnnl_primitive_desc_t hint, struct wl_err *e)
{
    const dnnl_alg_kind_t alg = wl_dnnl_algorithm(k->algorithm);
    const struct wl_dnnl_window a = wl_dnnl_window_of(v);
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = wl_dnnl_attributes(&attr, k->relu);
    if (s) return wl_pd_created(c, pd, attr, s, "convolution", e);
    switch (k->pass) {
    case WL_PASS_FORWARD:
        s = dnnl_convolution_forward_primitive_desc_create(pd, c->engine, dnnl_forward_training, alg, l->src,
                                                           l->weights, l->bias, l->dst, a.stride, a.dilation, a.pad,
                                                           a.pad, attr);
        break;
    case WL_PASS_DATA:
        s = dnnl_convolution_backward_data_primitive_desc_create(pd, c->engine, alg, l->src, l->weights, l->dst,
                                                                 a.stride, a.dilation, a.pad, a.pad, hint, attr);
        break;
    case WL_PASS_WEIGHTS:
        s = dnnl_convolution_backward_weights_primitive_desc_create(pd, c->engine, alg, l->src, l->weights, l->bias,
                                                                    l->dst, a.stride, a.dilation, a.pad, a.pad, hint,
                                                                    attr);
        break;
    }
    return wl_pd_created(c, pd, attr, s, "convolution", e);
}

int wl_pd_linear(struct wl_cpu *c, dnnl_primitive_desc_t *pd, enum wl_pass pass, const struct wl_layouts *l,
                 const_dnnl_primitive_desc_t hint, struct wl_err *e)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = wl_dnnl_attributes(&attr, false);
    if (s) return wl_pd_created(c, pd, attr, s, "inner product", e);
    switch (pass) {
    case WL_PASS_FORWARD:
        s = dnnl_inner_product_forward_primitive_desc_create(pd, c->engine, dnnl_forward_training, l->src, l->weights,
                                                             l->bias, l->dst, attr);
        break;
    case WL_PASS_DATA:
        s = dnnl_inner_product_backward_data_primitive_desc_create(pd, c->engine, l->src, l->weights, l->dst, hint,
                                                                   attr);
        break;
    case WL_PASS_WEIGHTS:
        s = dnnl_inner_product_backward_weights_primitive_desc_create(pd, c->engine, l->src, l->weights, l->bias,
                                                                      l->dst, hint, attr);
        break;
    }
    return wl_pd_created(c, pd, attr, s, "inner product", e);
}

int wl_pd_product(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct wl_product *product, struct wl_err *e)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = wl_dnnl_product_attributes(&attr, product);
    if (!s)
        s = dnnl_matmul_primitive_desc_create(pd, c->engine, product->src, product->weights, product->bias,
                                              product->dst, attr);
    return wl_pd_created(c, pd, attr, s, "matrix product", e);
}

int wl_pd_pool(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct wl_pooling *pool, bool train, struct wl_err *e)
{
    const dnnl_prop_kind_t kind = train ? dnnl_forward_training : dnnl_forward_inference;
    const struct wl_dnnl_window a = wl_dnnl_window_of(&pool->window);
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = wl_dnnl_attributes(&attr, false);
    if (!s)
        s = dnnl_pooling_forward_primitive_desc_create(pd, c->engine, kind, pool->algorithm, pool->src, pool->dst,
                                                       a.stride, a.kernel, a.dilation, a.pad, a.pad, attr);
    return wl_pd_created(c, pd, attr, s, "pooling", e);
}

int wl_pd_pool_backward(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct wl_pooling *pool,
                        const_dnnl_primitive_desc_t hint, struct wl_err *e)
{
    const struct wl_dnnl_window a = wl_dnnl_window_of(&pool->window);
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = wl_dnnl_attributes(&attr, false);
    if (!s)
        s = dnnl_pooling_backward_primitive_desc_create(pd, c->engine, pool->algorithm, pool->src, pool->dst, a.stride,
                                                        a.kernel, a.dilation, a.pad, a.pad, hint, attr);
    return wl_pd_created(c, pd, attr, s, "pooling, backward", e);
}

int wl_pd_concat(struct wl_cpu *c, dnnl_primitive_desc_t *pd, int n, const wl_md *src, struct wl_err *e)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = wl_dnnl_attributes(&attr, false);
    if (!s) s = dnnl_concat_primitive_desc_create(pd, c->engine, NULL, n, 1, src, attr);
    return wl_pd_created(c, pd, attr, s, "concatenation", e);
}

int wl_pd_add(struct wl_cpu *c, dnnl_primitive_desc_t *pd, bool relu, wl_md x, struct wl_err *e)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = wl_dnnl_attributes(&attr, relu);
    if (!s) s = dnnl_binary_primitive_desc_create(pd, c->engine, dnnl_binary_add, x, x, x, attr);
    return wl_pd_created(c, pd, attr, s, "sum", e);
}

int wl_pd_relu(struct wl_cpu *c, dnnl_primitive_desc_t *pd, wl_md x, struct wl_err *e)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = wl_dnnl_attributes(&attr, false);
    if (!s)
        s = dnnl_eltwise_forward_primitive_desc_create(pd, c->engine, dnnl_forward_training,
                                                       dnnl_eltwise_relu_use_dst_for_bwd, x, x, 0, 0, attr);
    return wl_pd_created(c, pd, attr, s, "relu", e);
}

int wl_pd_relu_backward(struct wl_cpu *c, dnnl_primitive_desc_t *pd, wl_md x, struct wl_err *e)
{
    dnnl_primitive_desc_t hint;
    dnnl_primitive_attr_t attr = NULL;
    int rc = wl_pd_relu(c, &hint, x, e);
    if (rc) return rc;
    dnnl_status_t s = wl_dnnl_attributes(&attr, false);
    if (!s)
        s = dnnl_eltwise_backward_primitive_desc_create(pd, c->engine, dnnl_eltwise_relu_use_dst_for_bwd, x, x, x, 0, 0,
                                                        hint, attr);
    return wl_pd_created(c, pd, attr, s, "relu, backward", e);
}
