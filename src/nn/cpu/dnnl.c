/* dnnl_api.h: what oneDNN 2.x and 3.x share. */
#include "nn/cpu/dnnl_versions.h"

#include <oneapi/dnnl/dnnl_debug.h>

int wl_dnnl_check(dnnl_status_t status, const char *what, struct wl_err *e)
{
    return status == dnnl_success ? 0 : wl_fail(e, WL_ELIB, "oneDNN: %s: %s", what, dnnl_status2str(status));
}

/* ---- layouts ---- */

dnnl_data_type_t wl_dnnl_type(enum wl_dtype t) { return t == WL_F32 ? dnnl_f32 : t == WL_BF16 ? dnnl_bf16 : dnnl_s32; }

enum wl_dtype wl_dnnl_dtype(dnnl_data_type_t t) { return t == dnnl_bf16 ? WL_BF16 : t == dnnl_s32 ? WL_I32 : WL_F32; }

void wl_dnnl_dims(dnnl_dims_t out, const struct wl_dims *dims)
{
    for (int i = 0; i < DNNL_MAX_NDIMS; i++) out[i] = i < dims->n ? dims->d[i] : 0;
}

int wl_md_plain(struct wl_cpu *c, wl_md *out, enum wl_dtype type, const struct wl_dims *dims, struct wl_err *e)
{
    static const dnnl_format_tag_t plain[WL_MAX_DIMS + 1] = { 0, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde };
    return wl_md_tagged(c, out, type, dims, plain[dims->n], e);
}

int wl_md_any(struct wl_cpu *c, wl_md *out, enum wl_dtype type, const struct wl_dims *dims, struct wl_err *e)
{
    return wl_md_tagged(c, out, type, dims, dnnl_format_tag_any, e);
}

int wl_md_matrix(struct wl_cpu *c, wl_md *out, enum wl_dtype type, int64_t rows, int64_t columns, bool transposed,
                 struct wl_err *e)
{
    return wl_md_tagged(c, out, type, &WL_DIMS(rows, columns), transposed ? dnnl_ba : dnnl_ab, e);
}

int wl_md_blocked(struct wl_cpu *c, wl_md *out, enum wl_dtype type, const struct wl_dims *dims, struct wl_err *e)
{
    return wl_md_tagged(c, out, type, dims, dnnl_nChw16c, e);
}

int wl_md_filters(struct wl_cpu *c, wl_md *out, const struct wl_dims *dims, bool by_data, struct wl_err *e)
{
    static const dnnl_format_tag_t tags[2][2] = { { dnnl_OIhw16i16o, dnnl_OIhw16o16i },
                                                  { dnnl_gOIhw16i16o, dnnl_gOIhw16o16i } };
    return wl_md_tagged(c, out, WL_F32, dims, tags[dims->n == 5][by_data], e);
}

bool wl_md_equal(wl_md a, wl_md b) { return dnnl_memory_desc_equal(a, b); }

size_t wl_md_bytes(wl_md md) { return dnnl_memory_desc_get_size(md); }

/* Sorts the dimensions by stride, the outermost first; of equal strides (a dimension of size 1) the first letter. */
static void outer_order(const dnnl_dim_t *strides, int rank, int order[])
{
    for (int i = 0; i < rank; i++) {
        int at = i;
        for (; at > 0 && strides[order[at - 1]] < strides[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
}

static bool is_blocked(const struct wl_md_blocking *b, int dim)
{
    for (int k = 0; k < b->n_inner; k++)
        if (b->inner_dims[k] == dim) return true;
    return false;
}

const char *wl_md_name(wl_md md, struct wl_arena *a)
{
    struct wl_md_blocking b;
    if (!wl_md_blocks(md, &b)) return "opaque";
    const int rank = wl_md_rank(md);
    int order[DNNL_MAX_NDIMS];
    struct wl_text t = WL_TEXT(a);
    outer_order(b.strides, rank, order);
    for (int i = 0; i < rank; i++) wl_text_addf(&t, "%c", (is_blocked(&b, order[i]) ? 'A' : 'a') + order[i]);
    for (int k = 0; k < b.n_inner; k++)
        wl_text_addf(&t, "%lld%c", (long long)b.inner_sizes[k], 'a' + (int)b.inner_dims[k]);
    return t.s;
}

/* Channels that are adjacent in a pixel, blocks of them, and where a block begins. */
static bool cut_channels(const struct wl_md_blocking *b, struct wl_md_rows *r)
{
    if (b->n_inner == 1 && b->inner_dims[0] == 1 && b->inner_sizes[0] <= WL_MD_LANES) {
        r->lanes = r->last_lanes = (int)b->inner_sizes[0];
        r->block_stride = b->strides[1];
    } else if (b->n_inner == 0 && b->strides[1] == 1) {
        r->lanes = WL_MD_LANES;
        r->last_lanes = (int)((r->channels - 1) % WL_MD_LANES) + 1;
        r->block_stride = WL_MD_LANES;
    } else if (b->n_inner == 0) {
        r->lanes = r->last_lanes = 1;
        r->block_stride = b->strides[1];
    } else {
        return false;
    }
    r->blocks = (r->channels + r->lanes - 1) / r->lanes;
    return true;
}

/* The distance of pixels, in row-major order; false: it varies. */
static bool pixel_stride(const struct wl_md_blocking *b, const struct wl_dims *dims, int64_t *out)
{
    const int64_t h = dims->d[2], w = dims->d[3];
    *out = w > 1 ? b->strides[3] : b->strides[2];
    return h == 1 || w == 1 || b->strides[2] == w * b->strides[3];
}

bool wl_md_rows(wl_md md, const struct wl_dims *dims, struct wl_md_rows *out)
{
    struct wl_md_blocking b;
    if (dims->n != 4 || !wl_md_blocks(md, &b)) return false;
    *out = (struct wl_md_rows) { .type = wl_md_type(md),
                                 .n = dims->d[0],
                                 .channels = dims->d[1],
                                 .area = dims->d[2] * dims->d[3],
                                 .image_stride = b.strides[0] };
    return cut_channels(&b, out) && pixel_stride(&b, dims, &out->pixel_stride);
}

/* ---- primitive descriptors ---- */

const char *wl_pd_implementation(const_dnnl_primitive_desc_t pd)
{
    const char *name = NULL;
    return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) ? NULL : name;
}

wl_md wl_pd_md(const_dnnl_primitive_desc_t pd, int arg)
{
    wl_md md = dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, arg);
    return md && wl_md_rank(md) ? md : NULL;
}

dnnl_status_t wl_dnnl_attributes(dnnl_primitive_attr_t *attr, bool add_relu)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t s = dnnl_primitive_attr_create(attr);
    if (!s) s = dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
    if (s || !add_relu) return s;
    s = dnnl_post_ops_create(&ops);
    if (!s) s = wl_dnnl_append_relu(ops);
    if (!s) s = dnnl_primitive_attr_set_post_ops(*attr, ops);
    dnnl_post_ops_destroy(ops);
    return s;
}

dnnl_status_t wl_dnnl_product_attributes(dnnl_primitive_attr_t *attr, const struct wl_product *product)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t s = wl_dnnl_attributes(attr, false);
    if (s || !(product->add || product->scale)) return s;
    s = dnnl_post_ops_create(&ops);
    if (!s && product->add) s = wl_dnnl_append_sum(ops);
    if (!s && product->scale) s = dnnl_post_ops_append_binary(ops, dnnl_binary_mul, product->scale);
    if (!s) s = dnnl_primitive_attr_set_post_ops(*attr, ops);
    dnnl_post_ops_destroy(ops);
    return s;
}

static void destroy(void *pd) { dnnl_primitive_desc_destroy(pd); }

int wl_pd_created(struct wl_cpu *c, const dnnl_primitive_desc_t *pd, dnnl_primitive_attr_t attr, dnnl_status_t status,
                  const char *what, struct wl_err *e)
{
    dnnl_primitive_attr_destroy(attr);
    if (!status) wl_defer(c->arena, destroy, *pd);
    return wl_dnnl_check(status, what, e);
}

struct wl_dnnl_window wl_dnnl_window_of(const struct wl_window *v)
{
    return (struct wl_dnnl_window) { .kernel = { v->r, v->s },
                                     .stride = { v->stride[0], v->stride[1] },
                                     .pad = { v->pad[0], v->pad[1] } };
}

dnnl_alg_kind_t wl_dnnl_algorithm(enum wl_conv_algorithm a)
{
    return a == WL_CONV_WINOGRAD ? dnnl_convolution_winograd : dnnl_convolution_direct;
}

int wl_pd_reorder(struct wl_cpu *c, dnnl_primitive_desc_t *pd, wl_md from, wl_md to, struct wl_err *e)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = wl_dnnl_attributes(&attr, false);
    if (!s) s = dnnl_reorder_primitive_desc_create(pd, from, c->engine, to, c->engine, attr);
    return wl_pd_created(c, pd, attr, s, "reorder", e);
}
