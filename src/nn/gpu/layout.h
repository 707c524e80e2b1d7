/* What gpu.h does not show of layouts: for rules whose kernels walk over images. */
#ifndef WL_NN_GPU_LAYOUT_H
#define WL_NN_GPU_LAYOUT_H

#include "nn/gpu/gpu.h"
#include "nn/gpu/kernels/tiles.h"

/* `from` in this type and layout (NULL: plain): itself where its memory is that already, or a copy that a step makes.
 */
int wl_gpu_in_layout(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, enum wl_dtype type,
                     const struct wl_gpu_layout *layout, struct wl_buf **out, struct wl_err *e) WL_MUST_CHECK;

/* The value of input i in plain memory and its own type. */
int wl_gpu_plain_input(struct wl_program *p, const struct wl_node *n, int i, struct wl_buf **out,
                       struct wl_err *e) WL_MUST_CHECK;

/* A buffer of class VALUE for an image in NHWC, in the program's precision. */
struct wl_buf *wl_gpu_nhwc_value(struct wl_program *p, const struct wl_dims *d);

/* Adds dx to the gradient of x, in the layout and type of x's value. */
int wl_gpu_gradient_add(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *x, struct wl_buf *dx,
                        struct wl_err *e) WL_MUST_CHECK;

size_t wl_gpu_layout_bytes(enum wl_dtype type, const struct wl_gpu_layout *layout, const struct wl_dims *d);

/* N*H*W of an image [N,C,H,W]; N of [N,F]. */
int64_t wl_gpu_pixels(const struct wl_buf *b);

/* ---- grids (kernels/tiles.h) ---- */

/* aligned: so are all addresses that the kernel computes from channels. */
struct wl_gpu_tiles wl_gpu_tiles_of(int64_t pixels, int64_t width, bool aligned);

/* Blocks with `pixels_each` pixels for a thread, or more pixels where that would be over `most` blocks. */
struct wl_gpu_grid wl_gpu_tiles_grid(const struct wl_gpu_tiles *t, int64_t pixels_each, int64_t most);

bool wl_gpu_slice_aligned(struct wl_gpu_slice s);

/* Emits a step that copies `channels` channels of every pixel, and writes zeros after them, up to `width`. */
struct wl_gpu_channels {
    int64_t channels, width;
    struct wl_gpu_slice from, to;
};
int wl_gpu_emit_channels(struct wl_program *p, const struct wl_node *n, const char *pass,
                         const struct wl_gpu_channels *what, struct wl_buf *from, struct wl_buf *to,
                         struct wl_err *e) WL_MUST_CHECK;

/* ---- callbacks of struct wl_backend ---- */

int wl_gpu_reorder(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, struct wl_buf *to,
                   struct wl_err *e);
const char *wl_gpu_layout_name(const void *layout, struct wl_arena *a);
int wl_gpu_read(void *device, const struct wl_buf *b, float *to, struct wl_err *e);
int wl_gpu_write(void *device, const struct wl_buf *b, const float *from, struct wl_err *e);

#endif
