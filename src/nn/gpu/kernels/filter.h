/* Arguments of filter.cu: the continuous-filter convolution of SchNet, in steps. There are atom_start[*molecules] atoms
 * and pair_start[*molecules] pairs.  x, y [atoms,f]  w0 [f,gaussians]  w2 [f,f]  hidden, filters, d_filters [pairs,f]
 */
#ifndef WL_NN_GPU_KERNELS_FILTER_H
#define WL_NN_GPU_KERNELS_FILTER_H

#include "nn/gpu/kernels/row_parts.h"

struct wl_gpu_pairs {
    const int32_t *molecules, *atom_start, *pair_start, *pair; /* pair [pairs,2] */
    const float *distance;                                     /* [pairs] */
    double cutoff;
};

/* Kernels filter_hidden_large, _small: hidden = softplus(w0 gaussians + b0). */
struct wl_gpu_filter_hidden {
    struct wl_gpu_pairs pairs;
    const float *w0, *b0;
    float *hidden;
    int32_t f, gaussians;
};

/* Kernels filter_filters_large, _small: filters = (hidden w2' + b2) cut. */
struct wl_gpu_filter_filters {
    struct wl_gpu_pairs pairs;
    const float *hidden, *w2, *b2;
    float *filters;
    int32_t f;
};

/* Kernel filter_spread: y[i] = the sum of filter * x[other] over the pairs of atom i; a warp an atom. Forward; backward
 * x is dy and y is dx. */
struct wl_gpu_filter_spread {
    struct wl_gpu_pairs pairs;
    const float *filters, *x;
    float *y;
    int32_t f;
};

/* Kernel filter_gather: d_filters = cut (dy[i] x[j] + dy[j] x[i]) of pairs of atoms i and j; a warp a pair. */
struct wl_gpu_filter_gather {
    struct wl_gpu_pairs pairs;
    const float *x, *dy;
    float *d_filters;
    int32_t f;
};

/* Kernels filter_before_large, _small: the gradient before the softplus, d_filters w2 times its slope, over `hidden`.
 */
struct wl_gpu_filter_before {
    struct wl_gpu_pairs pairs;
    const float *d_filters, *w2;
    float *hidden;
    int32_t f;
};

/* Kernels filter_weights2_large, _small: d_filters' hidden [f,f] and the sums of d_filters [f]; filter_weights0: of the
 * gradients before the softplus, in `hidden`, and Gaussians: [f,gaussians] and [f]. Part z of the grid. */
struct wl_gpu_filter_weights {
    struct wl_gpu_pairs pairs;
    const float *d_filters, *hidden;
    struct wl_gpu_row_parts parts;
    int32_t f, gaussians;
};

#endif
