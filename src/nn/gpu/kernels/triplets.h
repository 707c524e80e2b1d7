/* Arguments of triplets.cu: DimeNet's bilinear layer (wl_triplet_conv), in steps. There are edge_start[*atoms] edges.
 * x, y, residual, dy, dx [edges,f]  radial [edges,orders*radials]  angular [triplets,orders]  v
 * [bilinear,orders*radials] w [f,bilinear,f]  z, dz [edges,bilinear,f]  dr [edges,orders,bilinear] */
#ifndef WL_NN_GPU_KERNELS_TRIPLETS_H
#define WL_NN_GPU_KERNELS_TRIPLETS_H

#include "nn/gpu/kernels/row_parts.h"

enum { WL_GPU_TRIPLET_ORDERS = 16, WL_GPU_TRIPLET_WARPS = 4, WL_GPU_BILINEAR = 8, WL_GPU_NEIGHBOURS = 96 };

struct wl_gpu_triplets {
    const int32_t *atoms, *edge_start, *reverse, *triplet_start;
    const float *radial, *angular, *v;
    int32_t orders, radials, bilinear, f;
};

/* Kernel triplet_join: z[q] = the sum over the triplets (k,q) of s (outer) x[k], in front of the matrix. A block of 128
 * threads an atom; WL_GPU_NEIGHBOURS * WL_GPU_BILINEAR * (orders + WL_GPU_TRIPLET_WARPS) floats of dynamic memory. */
struct wl_gpu_triplet_join {
    struct wl_gpu_triplets of;
    const float *x;
    float *z;
};

/* Kernels triplet_out_large, _small: y = residual + z w', row q going to the way back of edge q. */
struct wl_gpu_triplet_out {
    struct wl_gpu_triplets of;
    const float *z, *w, *residual;
    float *y;
};

/* Kernels triplet_data_large, _small: dz = dy w, row q coming from the way back of edge q. */
struct wl_gpu_triplet_data {
    struct wl_gpu_triplets of;
    const float *dy, *w;
    float *dz;
};

/* Kernels triplet_weights_large, _small: dy' z [f,bilinear*f]. Part z of the grid. */
struct wl_gpu_triplet_weights {
    struct wl_gpu_triplets of;
    const float *dy, *z;
    struct wl_gpu_row_parts parts;
};

/* Kernel triplet_part: dx[k] = the sum over the triplets (k,q) of s' dz[q], and dr[k], the gradient by v radial[k]. A
 * block of 128 threads an atom. */
struct wl_gpu_triplet_part {
    struct wl_gpu_triplets of;
    const float *x, *dz;
    float *dx, *dr;
};

/* Kernel triplet_basis (small tiles): dr' radial [orders*bilinear,orders*radials], of which the blocks of equal orders
 * count; triplet_sum_basis, 256 threads: their sums over the parts as dv, a thread a number. */
struct wl_gpu_triplet_basis {
    struct wl_gpu_triplets of;
    const float *dr;
    struct wl_gpu_row_parts parts;
    float *dv;
};

#endif
