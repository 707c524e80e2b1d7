/* What we use of cublasLt, as lists: api.h makes declarations of them, cublaslt.c the table of symbols, and a test
 * compares them with the vendor's headers. Source: cuBLAS 12 and 13 (cublasLt.h, cublas_api.h, library_types.h). */
#ifndef WL_NN_GPU_BLAS_FUNCTIONS_H
#define WL_NN_GPU_BLAS_FUNCTIONS_H

/* FN(result, name without cublasLt, parameters) */
#define WL_CUBLASLT_FUNCTIONS(FN)                                                                                \
    FN(size_t, GetVersion, (void))                                                                               \
    FN(const char *, GetStatusString, (cublasStatus_t))                                                          \
    FN(cublasStatus_t, Create, (cublasLtHandle_t *))                                                             \
    FN(cublasStatus_t, Destroy, (cublasLtHandle_t))                                                              \
    FN(cublasStatus_t, MatmulDescCreate, (cublasLtMatmulDesc_t *, cublasComputeType_t, cudaDataType_t scale))    \
    FN(cublasStatus_t, MatmulDescDestroy, (cublasLtMatmulDesc_t))                                                \
    FN(cublasStatus_t, MatmulDescSetAttribute,                                                                   \
       (cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void *, size_t))                             \
    FN(cublasStatus_t, MatrixLayoutCreate,                                                                       \
       (cublasLtMatrixLayout_t *, cudaDataType_t, uint64_t rows, uint64_t columns, int64_t ld))                  \
    FN(cublasStatus_t, MatrixLayoutDestroy, (cublasLtMatrixLayout_t))                                            \
    FN(cublasStatus_t, MatrixLayoutSetAttribute,                                                                 \
       (cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, const void *, size_t))                          \
    FN(cublasStatus_t, MatmulPreferenceCreate, (cublasLtMatmulPreference_t *))                                   \
    FN(cublasStatus_t, MatmulPreferenceDestroy, (cublasLtMatmulPreference_t))                                    \
    FN(cublasStatus_t, MatmulPreferenceSetAttribute,                                                             \
       (cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, const void *, size_t))                 \
    FN(cublasStatus_t, MatmulAlgoGetHeuristic,                                                                   \
       (cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,              \
        cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t, int wanted,              \
        cublasLtMatmulHeuristicResult_t *, int *found))                                                          \
    FN(cublasStatus_t, MatmulAlgoConfigGetAttribute,                                                             \
       (const cublasLtMatmulAlgo_t *, cublasLtMatmulAlgoConfigAttributes_t, void *, size_t, size_t *written))    \
    FN(cublasStatus_t, Matmul,                                                                                   \
       (cublasLtHandle_t, cublasLtMatmulDesc_t, const void *alpha, const void *a, cublasLtMatrixLayout_t,        \
        const void *b, cublasLtMatrixLayout_t, const void *beta, const void *c, cublasLtMatrixLayout_t, void *d, \
        cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t *, void *workspace, size_t, CUstream))

/* C(name, value) */
#define WL_CUBLASLT_CONSTANTS(C)                      \
    C(CUBLAS_STATUS_SUCCESS, 0)                       \
    C(CUBLAS_STATUS_INVALID_VALUE, 7)                 \
    C(CUBLAS_STATUS_NOT_SUPPORTED, 15)                \
    C(CUBLAS_OP_N, 0)                                 \
    C(CUBLAS_OP_T, 1)                                 \
    C(CUBLAS_COMPUTE_32F, 68)                         \
    C(CUBLAS_COMPUTE_32F_FAST_TF32, 77)               \
    C(CUDA_R_32F, 0)                                  \
    C(CUDA_R_16F, 2)                                  \
    C(CUDA_R_16BF, 14)                                \
    C(CUBLASLT_EPILOGUE_DEFAULT, 1)                   \
    C(CUBLASLT_EPILOGUE_BIAS, 4)                      \
    C(CUBLASLT_MATMUL_DESC_TRANSA, 3)                 \
    C(CUBLASLT_MATMUL_DESC_TRANSB, 4)                 \
    C(CUBLASLT_MATMUL_DESC_EPILOGUE, 7)               \
    C(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)           \
    C(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 26)        \
    C(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5)          \
    C(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6) \
    C(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1)    \
    C(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3)  \
    C(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5)  \
    C(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6)  \
    C(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7)  \
    C(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8)  \
    C(CUBLASLT_REDUCTION_SCHEME_NONE, 0)              \
    C(CUBLASLT_REDUCTION_SCHEME_INPLACE, 1)           \
    C(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2)      \
    C(CUBLASLT_ALGO_CONFIG_ID, 0)                     \
    C(CUBLASLT_ALGO_CONFIG_TILE_ID, 1)                \
    C(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 2)             \
    C(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 3)       \
    C(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4)          \
    C(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 5)          \
    C(CUBLASLT_ALGO_CONFIG_STAGES_ID, 6)              \
    C(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 8)

/* S(type, bytes), F(type, field, offset) */
#define WL_CUBLASLT_SIZES(S)    \
    S(cublasLtMatmulAlgo_t, 64) \
    S(cublasLtMatmulHeuristicResult_t, 96)
#define WL_CUBLASLT_OFFSETS(F)                            \
    F(cublasLtMatmulHeuristicResult_t, algo, 0)           \
    F(cublasLtMatmulHeuristicResult_t, workspaceSize, 64) \
    F(cublasLtMatmulHeuristicResult_t, state, 72)

#endif
