/* dnnl_api.h for oneDNN 2.x, where an operation is described by a struct that becomes a primitive descriptor. */
#include "nn/cpu/dnnl_versions.h"

/* ---- layouts ---- */

int wl_md_tagged(struct wl_cpu *c, wl_md *out, enum wl_dtype type, const struct wl_dims *dims, dnnl_format_tag_t tag,
                 struct wl_err *e)
{
    dnnl_memory_desc_t *md = wl_new(c->arena, dnnl_memory_desc_t);
    dnnl_dims_t d;
    wl_dnnl_dims(d, dims);
    *out = md;
    return wl_dnnl_check(dnnl_memory_desc_init_by_tag(md, dims->n, d, wl_dnnl_type(type), tag), "layout", e);
}

int wl_md_channels(struct wl_cpu *c, wl_md *out, wl_md md, const struct wl_dims *dims, int64_t at, struct wl_err *e)
{
    dnnl_memory_desc_t *part = wl_new(c->arena, dnnl_memory_desc_t);
    const dnnl_dims_t offset = { 0, at };
    dnnl_dims_t d;
    wl_dnnl_dims(d, dims);
    dnnl_status_t s = dnnl_memory_desc_init_submemory(part, md, d, offset);
    *out = s ? NULL : part;
    return s == dnnl_unimplemented ? 0 : wl_dnnl_check(s, "part of a layout", e);
}

int wl_md_as(struct wl_cpu *c, wl_md *out, wl_md md, enum wl_dtype type, struct wl_err *e)
{
    (void)e;
    dnnl_memory_desc_t *as = wl_new(c->arena, dnnl_memory_desc_t);
    *as = *md;
    as->data_type = wl_dnnl_type(type);
    *out = as;
    return 0;
}

enum wl_dtype wl_md_type(wl_md md) { return wl_dnnl_dtype(md->data_type); }

int wl_md_rank(wl_md md) { return md->ndims; }

bool wl_md_blocks(wl_md md, struct wl_md_blocking *out)
{
    const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    *out = (struct wl_md_blocking) { b->strides, b->inner_nblks, b->inner_blks, b->inner_idxs };
    return md->format_kind == dnnl_blocked;
}

/* ---- primitive descriptors ---- */

dnnl_status_t wl_dnnl_append_relu(dnnl_post_ops_t ops)
{
    return dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_relu, 0, 0);
}

dnnl_status_t wl_dnnl_append_sum(dnnl_post_ops_t ops) { return dnnl_post_ops_append_sum(ops, 1); }

struct description {
    const char *what; /* for messages */
    const_dnnl_op_desc_t op;
    dnnl_status_t status; /* of the call that described op */
    const_dnnl_primitive_desc_t hint;
    bool add_relu;
};

static int create(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct description *d, struct wl_err *e)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = d->status;
    if (!s) s = wl_dnnl_attributes(&attr, d->add_relu);
    if (!s) s = dnnl_primitive_desc_create(pd, d->op, attr, c->engine, d->hint);
    return wl_pd_created(c, pd, attr, s, d->what, e);
}

int wl_pd_conv(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct wl_conv_kernel *k, const struct wl_window *v,
               const struct wl_layouts *l, const_dnnl_primitive_desc_t hint, struct wl_err *e)
{
    const dnnl_alg_kind_t alg = wl_dnnl_algorithm(k->algorithm);
    const struct wl_dnnl_window a = wl_dnnl_window_of(v);
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
    return create(c, pd, &(struct description) { "convolution", &d, s, hint, k->relu }, e);
}

int wl_pd_linear(struct wl_cpu *c, dnnl_primitive_desc_t *pd, enum wl_pass pass, const struct wl_layouts *l,
                 const_dnnl_primitive_desc_t hint, struct wl_err *e)
{
    dnnl_inner_product_desc_t d;
    dnnl_status_t s = dnnl_success;
    switch (pass) {
    case WL_PASS_FORWARD:
        s = dnnl_inner_product_forward_desc_init(&d, dnnl_forward_training, l->src, l->weights, l->bias, l->dst);
        break;
    case WL_PASS_DATA: s = dnnl_inner_product_backward_data_desc_init(&d, l->src, l->weights, l->dst); break;
    case WL_PASS_WEIGHTS:
        s = dnnl_inner_product_backward_weights_desc_init(&d, l->src, l->weights, l->bias, l->dst);
        break;
    }
    return create(c, pd, &(struct description) { "inner product", &d, s, hint }, e);
}

int wl_pd_product(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct wl_product *product, struct wl_err *e)
{
    dnnl_matmul_desc_t d;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = dnnl_matmul_desc_init(&d, product->src, product->weights, product->bias, product->dst);
    if (!s) s = wl_dnnl_product_attributes(&attr, product);
    if (!s) s = dnnl_primitive_desc_create(pd, &d, attr, c->engine, NULL);
    return wl_pd_created(c, pd, attr, s, "matrix product", e);
}

int wl_pd_pool(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct wl_pooling *pool, bool train, struct wl_err *e)
{
    const dnnl_prop_kind_t kind = train ? dnnl_forward_training : dnnl_forward_inference;
    const struct wl_dnnl_window a = wl_dnnl_window_of(&pool->window);
    dnnl_pooling_v2_desc_t d;
    dnnl_status_t s = dnnl_pooling_v2_forward_desc_init(&d, kind, pool->algorithm, pool->src, pool->dst, a.stride,
                                                        a.kernel, a.dilation, a.pad, a.pad);
    return create(c, pd, &(struct description) { "pooling", &d, s }, e);
}

int wl_pd_pool_backward(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct wl_pooling *pool,
                        const_dnnl_primitive_desc_t hint, struct wl_err *e)
{
    const struct wl_dnnl_window a = wl_dnnl_window_of(&pool->window);
    dnnl_pooling_v2_desc_t d;
    dnnl_status_t s = dnnl_pooling_v2_backward_desc_init(&d, pool->algorithm, pool->src, pool->dst, a.stride, a.kernel,
                                                         a.dilation, a.pad, a.pad);
    return create(c, pd, &(struct description) { "pooling, backward", &d, s, hint }, e);
}

int wl_pd_concat(struct wl_cpu *c, dnnl_primitive_desc_t *pd, int n, const wl_md *src, struct wl_err *e)
{
    dnnl_memory_desc_t mds[WL_MAX_INPUTS];
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = wl_dnnl_attributes(&attr, false);
    for (int i = 0; i < n; i++) mds[i] = *src[i];
    if (!s) s = dnnl_concat_primitive_desc_create(pd, NULL, n, 1, mds, attr, c->engine);
    return wl_pd_created(c, pd, attr, s, "concatenation", e);
}

int wl_pd_add(struct wl_cpu *c, dnnl_primitive_desc_t *pd, bool relu, wl_md x, struct wl_err *e)
{
    dnnl_binary_desc_t d;
    dnnl_status_t s = dnnl_binary_desc_init(&d, dnnl_binary_add, x, x, x);
    return create(c, pd, &(struct description) { "sum", &d, s, .add_relu = relu }, e);
}

int wl_pd_relu(struct wl_cpu *c, dnnl_primitive_desc_t *pd, wl_md x, struct wl_err *e)
{
    dnnl_eltwise_desc_t d;
    dnnl_status_t s =
        dnnl_eltwise_forward_desc_init(&d, dnnl_forward_training, dnnl_eltwise_relu_use_dst_for_bwd, x, 0, 0);
    return create(c, pd, &(struct description) { "relu", &d, s }, e);
}

int wl_pd_relu_backward(struct wl_cpu *c, dnnl_primitive_desc_t *pd, wl_md x, struct wl_err *e)
{
    dnnl_primitive_desc_t hint;
    int rc = wl_pd_relu(c, &hint, x, e);
    if (rc) return rc;
    dnnl_eltwise_desc_t d;
    dnnl_status_t s = dnnl_eltwise_backward_desc_init(&d, dnnl_eltwise_relu_use_dst_for_bwd, x, x, 0, 0);
    return create(c, pd, &(struct description) { "relu, backward", &d, s, hint }, e);
}
