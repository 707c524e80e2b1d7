/* Arguments of segments.cu. */
#ifndef WL_NN_GPU_KERNELS_SEGMENTS_H
#define WL_NN_GPU_KERNELS_SEGMENTS_H

#include <stdint.h>

/* Kernel embed: y[r] = w[index[r]] for r < *rows; a warp a row.  y [rows,f] */
struct wl_gpu_embed {
    const int32_t *rows, *index;
    const float *w;
    float *y;
    int32_t f;
};

/* Kernel embed_backward: dw[entry] = the sum of dy[r] over the rows r with that index. Block (x, y) of 512 threads
 * makes features [128 y, 128 y + 128) of entry x. */
struct wl_gpu_embed_backward {
    const int32_t *rows, *index;
    const float *dy;
    float *dw;
    int32_t f;
};

/* Kernel segment_sum: y[s] = the sum of x[start[s] .. start[s + 1]) for s < *segments, 0 for the others up to `room`;
 * segment_sum_backward: dx[r] = dy[s] of these rows (x is dy, y is dx). A thread a feature of a segment. */
struct wl_gpu_segment_sum {
    const int32_t *segments, *start;
    const float *x;
    float *y;
    int32_t room, f;
};

/* Kernel edge_concat: y[e] = x of the atom that e leads to, x of its source, z[e]; a warp an edge.
 * x [atoms,f]  z [edges,g]  y [edges,2 f + g] */
struct wl_gpu_edge_concat {
    const int32_t *atoms, *edge_start, *source, *reverse;
    const float *x, *z;
    float *y;
    int32_t f, g;
};

/* Kernel edge_concat_backward: dx [atoms,f] and dz [edges,g]; a block of 128 threads an atom. */
struct wl_gpu_edge_concat_backward {
    const int32_t *atoms, *edge_start, *reverse;
    const float *dy;
    float *dx, *dz;
    int32_t f, g;
};

#endif
