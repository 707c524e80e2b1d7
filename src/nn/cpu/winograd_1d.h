/* Winograd's algorithm along a line: convolutions of 1 x r and r x 1, with stride 1 and the size of the map kept, for
 * which oneDNN has direct kernels alone. Source: Winograd 1980; Lavin and Gray 2015, arXiv:1509.09308; the adjoint
 * passes are the transposed matrices.
 *
 * m neighbours of a result depend on n = m + r - 1 of x: y = A' [(G w) . (B' x)], a product by element for each of n
 * points that becomes, summed over channels, a product of matrices. All points together are one grouped 1x1 convolution
 * of oneDNN's. Multiplications fall by m r/n: 2.3 for r = 7 (m = 3), 2 for r = 3 (m = 4); what is moved grows by n/m.
 * f32; channels in blocks of 16. Error about 4e-6 (r = 7) and 7e-7 (r = 3), where direct sums have 5e-7.
 */
#ifndef WL_NN_CPU_WINOGRAD_1D_H
#define WL_NN_CPU_WINOGRAD_1D_H

#include "nn/graph/shapes.h"

/* LINE: elements of the longest line with its zeros. */
enum { WL_WINOGRAD_1D_LANES = 16, WL_WINOGRAD_1D_POINTS = 9, WL_WINOGRAD_1D_LINE = 128 };

/* out = t in, row-major. */
struct wl_winograd_1d_matrix {
    int outs, ins;
    float t[WL_WINOGRAD_1D_POINTS * WL_WINOGRAD_1D_POINTS];
};

struct wl_winograd_1d {
    int64_t n, h, w;                                                /* images, and the map */
    bool down;                                                      /* along h instead of w */
    int taps, m, points;                                            /* r, m, n above */
    int64_t tiles;                                                  /* on a line */
    struct wl_winograd_1d_matrix into, filter, from;                /* B', G, A' */
    struct wl_winograd_1d_matrix into_back, filter_back, from_back; /* transposed */
};

/* False: the shape is none of these. */
bool wl_winograd_1d_init(struct wl_winograd_1d *l, const struct wl_window *v);

/* The dimensions of the tiles of a value of c channels: [N, n c, H, tiles] or [N, n c, tiles, W], points outermost. */
struct wl_dims wl_winograd_1d_tile_dims(const struct wl_winograd_1d *l, int64_t c);

/* x [N,c,H,W] -> tiles, and y's tiles -> y; back: the gradients, in the same directions. Blocks of channels throughout.
 */
void wl_winograd_1d_input(const struct wl_winograd_1d *l, int64_t c, const float *x, float *tiles);
void wl_winograd_1d_input_backward(const struct wl_winograd_1d *l, int64_t c, const float *tiles, float *dx);
void wl_winograd_1d_output(const struct wl_winograd_1d *l, int64_t c, const float *tiles, float *y);
void wl_winograd_1d_output_backward(const struct wl_winograd_1d *l, int64_t c, const float *dy, float *tiles);

/* `blocks` blocks of 16 x 16 filters: [blocks, r, 16, 16] <-> [n, blocks, 16, 16]. */
void wl_winograd_1d_filter(const struct wl_winograd_1d *l, int64_t blocks, const float *w, float *points);
void wl_winograd_1d_filter_backward(const struct wl_winograd_1d *l, int64_t blocks, const float *points, float *dw);

#endif
