/* The sizes of operations, as rules and kernels see them. */
#ifndef WL_NN_GRAPH_SHAPES_H
#define WL_NN_GRAPH_SHAPES_H

#include "nn/graph/graph.h"

/* A window operation: x [N,C,H,W], y [N,K,P,Q], window R x S (for pools K = C). */
struct wl_window {
    int64_t n, c, h, w, k, p, q, r, s;
    int64_t stride[2], pad[2];
};
struct wl_window wl_conv_window(const struct wl_node *n);
struct wl_window wl_pool_window(const struct wl_node *n);

enum { WL_DROP_STEPS = 1 << 16 }; /* a dropout probability is a multiple of 1/WL_DROP_STEPS */

/* Layer norm and project see x [...,F] as [rows,F]. */
struct wl_vectors {
    int64_t n, f;
};
struct wl_vectors wl_vectors_of(const struct wl_tensor *x);

/* Project and decoder: y [m,k] = x [m,f] w' + b, w [k,f] being the operation's own or another's; b NULL: none. */
static inline const struct wl_tensor *wl_project_weight(const struct wl_node *n)
{
    return n->tied ? n->tied : n->par[0];
}
static inline const struct wl_tensor *wl_project_bias(const struct wl_node *n)
{
    return n->tied ? n->par[0] : n->par[1];
}
static inline bool wl_project_gelu(const struct wl_node *n) { return n->op == WL_OP_PROJECT && n->u.project.gelu; }
struct wl_project_shape {
    int64_t m, f, k;
};
static inline struct wl_project_shape wl_project_shape(const struct wl_node *n)
{
    const int64_t *w = wl_project_weight(n)->dims.d;
    return (struct wl_project_shape) { .m = wl_vectors_of(n->out).n, .f = w[1], .k = w[0] };
}

/* Attention: `n` samples of `s` positions, `heads` heads of `f` features. */
struct wl_heads {
    int64_t n, s, heads, f;
};
struct wl_heads wl_heads_of(const struct wl_node *n);

/* Pixels sees x as [N,C,area]: y = x scale[c] + shift[c]. */
struct wl_pixel_map {
    int64_t n, c, area;
    float scale[WL_MAX_PIXEL_CHANNELS], shift[WL_MAX_PIXEL_CHANNELS];
};
struct wl_pixel_map wl_pixel_map(const struct wl_node *n);

/* Batch norm sees x as [N,C,area]. */
struct wl_channels {
    int64_t n, c, area;
};
struct wl_channels wl_channels_of(const struct wl_tensor *x);

/* Of concat: the channel of the result where input i begins. */
int64_t wl_concat_offset(const struct wl_node *n, int i);

/* The sizes of fft2 and inverse_fft2: n fields of h x w points and blocks x size channels; and of complex_linear: rows
 * of blocks x (in, out) complex numbers. */
struct wl_fourier_size {
    int64_t n, h, w, modes, blocks, size;
};
struct wl_fourier_size wl_fourier_size(const struct wl_node *n);
struct wl_complex_size {
    int64_t rows, blocks, in, out;
};
struct wl_complex_size wl_complex_size(const struct wl_node *n);

/* The sizes of patches and from_patches: images [N,C,H,W] in patches of `side`. */
struct wl_patch_size {
    int64_t n, c, h, w, side;
};
struct wl_patch_size wl_patch_size(const struct wl_node *n);

#endif
