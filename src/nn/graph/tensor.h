/* What tensors are: element types and dimensions. */
#ifndef WL_NN_GRAPH_TENSOR_H
#define WL_NN_GRAPH_TENSOR_H

#include "base/base.h"

enum wl_dtype { WL_F32, WL_BF16, WL_F16, WL_I32, WL_U8 };

enum { WL_MAX_DIMS = 5 };
struct wl_dims {
    int n;
    int64_t d[WL_MAX_DIMS];
};
#define WL_DIMS(...) \
    ((struct wl_dims) { .n = (int)(sizeof((int64_t[]) { __VA_ARGS__ }) / sizeof(int64_t)), .d = { __VA_ARGS__ } })

int64_t wl_dims_count(const struct wl_dims *d);                  /* the product */
char *wl_dims_text(struct wl_arena *a, const struct wl_dims *d); /* "[16,3,224,224]" */
bool wl_dims_equal(const struct wl_dims *a, const struct wl_dims *b);
size_t wl_dtype_bytes(enum wl_dtype t);
const char *wl_dtype_name(enum wl_dtype t); /* "f32" */

struct wl_tensor; /* of one graph; lives as long as the graph's arena */
const char *wl_tensor_name(const struct wl_tensor *t);
const struct wl_dims *wl_tensor_dims(const struct wl_tensor *t);

#endif
