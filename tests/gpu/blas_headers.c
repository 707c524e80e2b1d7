/* Our declarations of cublasLt against the vendor's: this file compiles where they agree. */
#include <cublasLt.h>
#include <stddef.h>

typedef cudaStream_t CUstream;

#include "nn/gpu/blas/functions.h"

#define FUNCTION(result, name, parameters) result(*const check_##name) parameters = cublasLt##name;
WL_CUBLASLT_FUNCTIONS(FUNCTION)

#define CONSTANT(name, value) _Static_assert((int)(name) == (value), #name);
WL_CUBLASLT_CONSTANTS(CONSTANT)

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
WL_CUBLASLT_SIZES(SIZE)

#define OFFSET(type, field, at) _Static_assert(offsetof(type, field) == (at), #type "." #field);
WL_CUBLASLT_OFFSETS(OFFSET)
