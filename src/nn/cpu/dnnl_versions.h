/* Between dnnl.c, which serves oneDNN 2.x and 3.x alike, and the file of the version that is built: dnnl2.c or dnnl3.c.
 * The rest of nn/cpu sees dnnl_api.h only. */
#ifndef WL_NN_CPU_DNNL_VERSIONS_H
#define WL_NN_CPU_DNNL_VERSIONS_H

#include "nn/cpu/dnnl_api.h"

/* ---- dnnl.c ---- */

dnnl_data_type_t wl_dnnl_type(enum wl_dtype t);

/* oneDNN's data types as ours. Workspaces are of bytes, which oneDNN alone reads: they count as f32 in a shape of their
 * own. */
enum wl_dtype wl_dnnl_dtype(dnnl_data_type_t t);

void wl_dnnl_dims(dnnl_dims_t out, const struct wl_dims *dims);

/* User scratchpads; `add_relu`: max(0, .) of the result, as a post-operation. */
dnnl_status_t wl_dnnl_attributes(dnnl_primitive_attr_t *attr, bool add_relu);

/* The same for a product. */
dnnl_status_t wl_dnnl_product_attributes(dnnl_primitive_attr_t *attr, const struct wl_product *product);

/* What ends each wl_pd_...: destroys the attributes; a descriptor that was created goes with the arena. */
int wl_pd_created(struct wl_cpu *c, const dnnl_primitive_desc_t *pd, dnnl_primitive_attr_t attr, dnnl_status_t status,
                  const char *what, struct wl_err *e);

/* A window in oneDNN's form. */
struct wl_dnnl_window {
    dnnl_dims_t kernel, stride, dilation, pad;
};

struct wl_dnnl_window wl_dnnl_window_of(const struct wl_window *v);

dnnl_alg_kind_t wl_dnnl_algorithm(enum wl_conv_algorithm a);

/* ---- the version's file ---- */

int wl_md_tagged(struct wl_cpu *c, wl_md *out, enum wl_dtype type, const struct wl_dims *dims, dnnl_format_tag_t tag,
                 struct wl_err *e);

int wl_md_rank(wl_md md); /* 0: the layout of nothing */

dnnl_status_t wl_dnnl_append_relu(dnnl_post_ops_t ops);
dnnl_status_t wl_dnnl_append_sum(dnnl_post_ops_t ops);

/* How a layout orders and cuts its dimensions. */
struct wl_md_blocking {
    const dnnl_dim_t *strides; /* of the outer dimensions, [rank] */
    int n_inner;
    const dnnl_dim_t *inner_sizes, *inner_dims; /* [n_inner], from the outermost block */
};

/* False: a kernel's own layout, which is opaque. */
bool wl_md_blocks(wl_md md, struct wl_md_blocking *out);

#endif
