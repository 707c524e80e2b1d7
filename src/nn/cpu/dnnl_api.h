/* The calls of oneDNN whose C form differs between versions 2 and 3: memory descriptors and primitive descriptors.
 * The rest of nn/cpu sees these functions only, and is the same for both; dnnl.c, dnnl2.c and dnnl3.c hold them.
 *
 * A layout (wl_md) lives as long as the plan's arena. All primitives are made for user scratchpads, whose memory the
 * plan places. Errors are WL_ELIB with oneDNN's name of its status.
 */
#ifndef WL_NN_CPU_DNNL_API_H
#define WL_NN_CPU_DNNL_API_H

#include "nn/host/host.h"

#include <oneapi/dnnl/dnnl.h>

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t wl_md;
#else
typedef const dnnl_memory_desc_t *wl_md;
#endif

struct wl_cpu {
    struct wl_host host; /* first: wl_host_device finds it here */
    struct wl_arena *arena;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
};

/* 0, or WL_ELIB: "oneDNN: WHAT: out_of_memory". */
int wl_dnnl_check(dnnl_status_t status, const char *what, struct wl_err *e);

/* ---- layouts ---- */

int wl_md_plain(struct wl_cpu *c, wl_md *out, enum wl_dtype type, const struct wl_dims *dims, struct wl_err *e);
int wl_md_any(struct wl_cpu *c, wl_md *out, enum wl_dtype type, const struct wl_dims *dims, struct wl_err *e);
/* A matrix [rows,columns], plain; `transposed`: stored as a plain [columns,rows]. */
int wl_md_matrix(struct wl_cpu *c, wl_md *out, enum wl_dtype type, int64_t rows, int64_t columns, bool transposed,
                 struct wl_err *e);
/* Blocks of 16 channels: of values [N,C,H,W], and of f32 filters [K,C,R,S] or [groups,K,C,R,S], 16 output channels
 * innermost or, for the pass backward by data, 16 input channels. */
int wl_md_blocked(struct wl_cpu *c, wl_md *out, enum wl_dtype type, const struct wl_dims *dims, struct wl_err *e);
int wl_md_filters(struct wl_cpu *c, wl_md *out, const struct wl_dims *dims, bool by_data, struct wl_err *e);
/* A layout for channels [at, at + dims->d[1]) inside of memory of layout md; *out NULL where they begin or end within a
 * block of channels. */
int wl_md_channels(struct wl_cpu *c, wl_md *out, wl_md md, const struct wl_dims *dims, int64_t at, struct wl_err *e);
/* The same dimensions and blocks with elements of another type; plain where this version of oneDNN cannot express those
 * blocks. A layout that is still open stays open. */
int wl_md_as(struct wl_cpu *c, wl_md *out, wl_md md, enum wl_dtype type, struct wl_err *e);
enum wl_dtype wl_md_type(wl_md md);
bool wl_md_equal(wl_md a, wl_md b);
size_t wl_md_bytes(wl_md md);

/* The name of a layout in oneDNN's notation: dimensions a, b, ... from the outermost, in capitals where they are cut
 * into blocks, then the blocks: "aBcd16b". "opaque": a kernel's own. */
const char *wl_md_name(wl_md md, struct wl_arena *a);

/* A layout of [N,C,H,W] as rows of pixels, for the kernels of this folder: channels are cut into blocks of at most
 * WL_MD_LANES, which are adjacent in each pixel. Strides are in elements. */
enum { WL_MD_LANES = 16 };
struct wl_md_rows {
    enum wl_dtype type;
    int64_t n, channels, area;
    int64_t blocks, image_stride, block_stride, pixel_stride;
    int lanes, last_lanes; /* of each block, and of the last one; those beyond `channels` are padding */
};

/* False: the layout is of another kind. Plain ones have blocks of one channel, channels-last ones of 16. */
bool wl_md_rows(wl_md md, const struct wl_dims *dims, struct wl_md_rows *out);

/* The layout that a primitive wants: of DNNL_ARG_SRC, ..._WORKSPACE, ..._SCRATCHPAD. NULL: it has none. */
wl_md wl_pd_md(const_dnnl_primitive_desc_t pd, int arg);

/* The name of the kernel that was chosen: "jit:avx512_core". Lives as long as the descriptor. */
const char *wl_pd_implementation(const_dnnl_primitive_desc_t pd);

/* ---- primitive descriptors; destroyed with the arena ---- */

enum wl_pass { WL_PASS_FORWARD, WL_PASS_DATA, WL_PASS_WEIGHTS };

/* The layouts of a convolution or inner product; in the backward passes those of the gradients. bias NULL: none. */
struct wl_layouts {
    wl_md src, weights, bias, dst;
};

/* Which kernel of a convolution. */
struct wl_conv_kernel {
    enum wl_pass pass;
    enum wl_conv_algorithm algorithm; /* direct or Winograd; WL_ELIB also where oneDNN has none for the shape */
    bool relu;                        /* forward: max(0, .) of the result */
};

/* hint is the forward descriptor, in the backward passes. */
int wl_pd_conv(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct wl_conv_kernel *k, const struct wl_window *v,
               const struct wl_layouts *l, const_dnnl_primitive_desc_t hint, struct wl_err *e);
int wl_pd_linear(struct wl_cpu *c, dnnl_primitive_desc_t *pd, enum wl_pass pass, const struct wl_layouts *l,
                 const_dnnl_primitive_desc_t hint, struct wl_err *e);
/* dst [m,n] = src [m,k] weights [k,n] + bias [1,n]; or added to dst, or multiplied by `scale` [m,n]
 * (argument WL_ARG_SCALE), element by element. */
struct wl_product {
    wl_md src, weights, bias, dst; /* bias NULL: none */
    bool add;
    wl_md scale; /* NULL: none */
};
#define WL_ARG_SCALE (DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1)
int wl_pd_product(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct wl_product *product, struct wl_err *e);
/* src [N,C,H,W] to dst [N,C,P,Q]; in the backward pass the layouts are those of the gradients. */
struct wl_pooling {
    dnnl_alg_kind_t algorithm;
    struct wl_window window;
    wl_md src, dst;
};
int wl_pd_pool(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct wl_pooling *pool, bool train,
               struct wl_err *e);
int wl_pd_pool_backward(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct wl_pooling *pool,
                        const_dnnl_primitive_desc_t hint, struct wl_err *e);
/* dst = the n images src, concatenated by channel. */
int wl_pd_concat(struct wl_cpu *c, dnnl_primitive_desc_t *pd, int n, const wl_md *src, struct wl_err *e);
/* dst = a + b, then max(0, .) with relu. */
int wl_pd_add(struct wl_cpu *c, dnnl_primitive_desc_t *pd, bool relu, wl_md x, struct wl_err *e);
/* Backward works from the result: DNNL_ARG_DST. */
int wl_pd_relu(struct wl_cpu *c, dnnl_primitive_desc_t *pd, wl_md x, struct wl_err *e);
int wl_pd_relu_backward(struct wl_cpu *c, dnnl_primitive_desc_t *pd, wl_md x, struct wl_err *e);
int wl_pd_reorder(struct wl_cpu *c, dnnl_primitive_desc_t *pd, wl_md from, wl_md to, struct wl_err *e);

#endif
