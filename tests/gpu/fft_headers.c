/* Our declarations of cuFFT against the vendor's: this file compiles where they agree. */
#include <cufft.h>

typedef cudaStream_t CUstream;

#include "nn/gpu/fft/functions.h"

#define FUNCTION(result, name, parameters) result(*const check_##name) parameters = cufft##name;
WL_CUFFT_FUNCTIONS(FUNCTION)

#define CONSTANT(name, value) _Static_assert((int)(name) == (value), #name);
WL_CUFFT_CONSTANTS(CONSTANT)
WL_CUFFT_ERRORS(CONSTANT)
