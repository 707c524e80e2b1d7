/* What we use of cuFFT, as lists: api.h makes declarations of them, cufft.c the table of symbols, and a test compares
 * them with the vendor's header. Source: cuFFT 11 and 12 (cufft.h). */
#ifndef WL_NN_GPU_FFT_FUNCTIONS_H
#define WL_NN_GPU_FFT_FUNCTIONS_H

/* FN(result, name without cufft, parameters) */
#define WL_CUFFT_FUNCTIONS(FN)                                                                                  \
    FN(cufftResult, GetVersion, (int *))                                                                        \
    FN(cufftResult, Create, (cufftHandle *))                                                                    \
    FN(cufftResult, Destroy, (cufftHandle))                                                                     \
    FN(cufftResult, SetAutoAllocation, (cufftHandle, int))                                                      \
    FN(cufftResult, MakePlanMany64,                                                                             \
       (cufftHandle, int rank, long long *n, long long *inembed, long long istride, long long idist,            \
        long long *onembed, long long ostride, long long odist, cufftType, long long batch, size_t *workspace)) \
    FN(cufftResult, SetStream, (cufftHandle, CUstream))                                                         \
    FN(cufftResult, SetWorkArea, (cufftHandle, void *))                                                         \
    FN(cufftResult, ExecR2C, (cufftHandle, cufftReal *, cufftComplex *))                                        \
    FN(cufftResult, ExecC2R, (cufftHandle, cufftComplex *, cufftReal *))

/* C(name, value) */
#define WL_CUFFT_CONSTANTS(C) \
    C(CUFFT_SUCCESS, 0)       \
    C(CUFFT_R2C, 0x2a)        \
    C(CUFFT_C2R, 0x2c)

/* Results of calls that failed. */
#define WL_CUFFT_ERRORS(C)       \
    C(CUFFT_INVALID_PLAN, 1)     \
    C(CUFFT_ALLOC_FAILED, 2)     \
    C(CUFFT_INVALID_TYPE, 3)     \
    C(CUFFT_INVALID_VALUE, 4)    \
    C(CUFFT_INTERNAL_ERROR, 5)   \
    C(CUFFT_EXEC_FAILED, 6)      \
    C(CUFFT_SETUP_FAILED, 7)     \
    C(CUFFT_INVALID_SIZE, 8)     \
    C(CUFFT_INVALID_DEVICE, 11)  \
    C(CUFFT_NO_WORKSPACE, 13)    \
    C(CUFFT_NOT_IMPLEMENTED, 14) \
    C(CUFFT_NOT_SUPPORTED, 16)

#endif
