/* Arguments of bases.cu. x = distance/cutoff. */
#ifndef WL_NN_GPU_KERNELS_BASES_H
#define WL_NN_GPU_KERNELS_BASES_H

#include "nn/gpu/kernels/row_parts.h"

/* Kernel bessel_basis: y [rows,radial] = u(x) sin(freq x); a thread a number. */
struct wl_gpu_bessel {
    const int32_t *rows;
    const float *distance, *freq;
    float *y;
    double cutoff;
    int32_t radial, power;
};

/* Kernel bessel_backward, 256 threads: block (p, n) makes number n of part p of dfreq [radial]. */
struct wl_gpu_bessel_backward {
    const int32_t *rows;
    const float *distance, *freq, *dy;
    struct wl_gpu_row_parts parts;
    double cutoff;
    int32_t radial, power;
};

/* Kernel spherical_basis: y [rows,functions] = u(x) norm j_l(zero x), l = i / radial; a thread a number. */
enum { WL_GPU_SPHERICAL_FUNCTIONS = 128 };
struct wl_gpu_spherical {
    const int32_t *rows;
    const float *distance;
    float *y;
    double cutoff;
    int32_t radial, functions, power;
    double zero[WL_GPU_SPHERICAL_FUNCTIONS], norm[WL_GPU_SPHERICAL_FUNCTIONS];
};

/* Kernel angular_basis: y [rows,orders] = sqrt((2l + 1)/(4 pi)) P_l(cosine); a thread a row. */
struct wl_gpu_angular {
    const int32_t *rows;
    const float *cosine;
    float *y;
    int32_t orders;
};

#endif
