/* The part of cuFFT's binary interface that we use, so that no header of CUDA is needed to build. Names are cuFFT's
 * own. */
#ifndef WL_NN_GPU_FFT_API_H
#define WL_NN_GPU_FFT_API_H

#include "cuda/cuda.h"
#include "nn/gpu/fft/functions.h"

#include <stddef.h>

typedef int cufftResult;
typedef int cufftType;
typedef int cufftHandle;
typedef float cufftReal;
typedef struct {
    float x, y;
} cufftComplex;

#define WL_CUFFT_CONSTANT(name, value) name = (value),
enum { WL_CUFFT_CONSTANTS(WL_CUFFT_CONSTANT) };
enum { WL_CUFFT_ERRORS(WL_CUFFT_CONSTANT) };
#undef WL_CUFFT_CONSTANT

#endif
