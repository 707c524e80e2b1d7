/* cublasLt as the files of this folder see it. */
#ifndef WL_NN_GPU_BLAS_INTERNAL_H
#define WL_NN_GPU_BLAS_INTERNAL_H

#include "nn/gpu/blas/api.h"
#include "nn/gpu/blas/blas.h"

#define WL_CUBLASLT_FIELD(result, name, parameters) result(*name) parameters;
struct wl_gpu_blas {
    struct wl_library library;
    int version;
    cublasLtHandle_t handle;
    WL_CUBLASLT_FUNCTIONS(WL_CUBLASLT_FIELD)
};
#undef WL_CUBLASLT_FIELD

/* Opens the library alone: what needs no GPU may be called. Closed with the arena. */
int wl_gpu_blas_load(struct wl_gpu_blas *b, int cuda, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* g->blas, opened by the first call. */
int wl_gpu_blas_of(struct wl_gpu *g, struct wl_gpu_blas **out, struct wl_err *e) WL_MUST_CHECK;

/* The error of a failed call, with the library's text. */
int wl_gpu_blas_fail(const struct wl_gpu_blas *b, const char *call, cublasStatus_t status, struct wl_err *e);

/* Calls a function of the library, in a function that returns a code and has a `struct wl_err *e`. */
#define WL_CUBLASLT_CALL(b, name, ...)                                                         \
    do {                                                                                       \
        cublasStatus_t status_ = (b)->name(__VA_ARGS__);                                       \
        if (status_ != CUBLAS_STATUS_SUCCESS) return wl_gpu_blas_fail((b), #name, status_, e); \
    } while (0)

#endif
