/* The part of cublasLt's binary interface that we use, so that no header of CUDA is needed to build. Names are
 * cublasLt's own. */
#ifndef WL_NN_GPU_BLAS_API_H
#define WL_NN_GPU_BLAS_API_H

#include "cuda/cuda.h"
#include "nn/gpu/blas/functions.h"

#include <stddef.h>
#include <stdint.h>

typedef int cublasStatus_t;
typedef int cublasComputeType_t;
typedef int cudaDataType_t;
typedef int cublasLtMatmulDescAttributes_t;
typedef int cublasLtMatrixLayoutAttribute_t;
typedef int cublasLtMatmulPreferenceAttributes_t;
typedef int cublasLtMatmulAlgoConfigAttributes_t;
typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct wl_cublaslt_desc *cublasLtMatmulDesc_t;
typedef struct wl_cublaslt_layout *cublasLtMatrixLayout_t;
typedef struct wl_cublaslt_preference *cublasLtMatmulPreference_t;

typedef struct {
    uint64_t data[8];
} cublasLtMatmulAlgo_t;

typedef struct {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
    int reserved[4];
} cublasLtMatmulHeuristicResult_t;

#define WL_CUBLASLT_CONSTANT(name, value) name = (value),
enum { WL_CUBLASLT_CONSTANTS(WL_CUBLASLT_CONSTANT) };
#undef WL_CUBLASLT_CONSTANT

#define WL_CUBLASLT_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
WL_CUBLASLT_SIZES(WL_CUBLASLT_SIZE)
#undef WL_CUBLASLT_SIZE

#endif
