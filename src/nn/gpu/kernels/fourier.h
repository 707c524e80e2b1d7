/* What surrounds the Fourier transforms of fields: points with their channels next to each other become planes, one for
 * each channel, and complex numbers the rows of a spectrum. */
#ifndef WL_NN_GPU_KERNELS_FOURIER_H
#define WL_NN_GPU_KERNELS_FOURIER_H

#include <stdint.h>

enum { WL_GPU_FOURIER_TILE = 32 };

/* field [n,points,f] and planes [n,f,points], f32. Kernels field_to_planes_f32, _bf16, _f16 by the type of the field,
 * and planes_to_field_*: 256 threads, a grid of (ceil(points/32), ceil(f/32), n). Reads and writes each element once.
 */
struct wl_gpu_planes {
    void *field;
    float *planes;
    int32_t points, f;
};

/* Coefficients [n,f,h,w/2 + 1] of complex numbers, and a spectrum s [n,h,modes,blocks,2,size], f = blocks size: columns
 * below `modes`, multiplied by `edge` where a column is its own mirror image (0 and w/2), else by `inner`.
 * Kernel spectrum_take writes s, of the columns kept. Kernel spectrum_put writes the coefficients, 0 in other columns;
 * where a column is its own mirror image, the part of it that is the spectrum of a real field. 256 threads, a grid of
 * (n h, ceil(f/32), ceil(columns/32)), columns being the modes or w/2 + 1. 16 bytes a number. */
struct wl_gpu_spectrum {
    float *coefficients, *s;
    int32_t h, w, modes, f, size;
    float edge, inner;
};

#endif
