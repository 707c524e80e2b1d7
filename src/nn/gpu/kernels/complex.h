/* Layers of complex numbers, whose products run on real matrices twice as wide: (re, im) [[wr, wi], [-wi, wr]]. All
 * f32. */
#ifndef WL_NN_GPU_KERNELS_COMPLEX_H
#define WL_NN_GPU_KERNELS_COMPLEX_H

#include <stdint.h>

/* to [blocks,2 in,2 out] = these matrices of w [2,blocks,in,out]. Kernel complex_weights: 256 threads, an element a
 * thread at a time. 4 bytes read and written an element. */
struct wl_gpu_complex_weights {
    const float *w;
    float *to;
    int32_t blocks, in, out;
};

/* y = f(y + bias) in place, y [rows,blocks,2,out], bias [2,blocks,out]; f is max(0, .) of each part with shrink 0, else
 * each part is moved towards 0 by shrink. Kernel complex_activate: 256 threads, a grid of (ceil(columns/256), any): a
 * warp a row at a time. 8 bytes an element. */
struct wl_gpu_complex_activate {
    float *y;
    const float *bias;
    int64_t rows;
    int32_t blocks, out;
    float shrink;
};

/* g = dy where y is not 0, else 0, [rows,f]; g may be dy. And the sums by column of parts of the rows, as struct
 * wl_gpu_column_sums (sums.h) has them. Kernel complex_mask: 256 threads, its grid. 12 bytes an element. */
struct wl_gpu_complex_mask {
    const float *y, *dy;
    float *g, *parts;
    int64_t rows, f, of_part;
};

/* dw [2,blocks,in,out] of dw2 [blocks,2 in,2 out], which is the gradient of the wide matrices, and db [2,blocks,out] of
 * sums [blocks,2,out]. Kernel complex_fold: 256 threads, an element of dw a thread at a time. */
struct wl_gpu_complex_fold {
    const float *dw2, *sums;
    float *dw, *db;
    int32_t blocks, in, out;
};

#endif
