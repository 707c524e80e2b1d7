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

/* ---- products ---- */

enum { WL_GPU_BLAS_ALIGNMENT = 256 }; /* of buffers; no algorithm asks for more */

/* Left and right are cublasLt's operands: b and a. */
struct wl_gpu_product_call {
    const struct wl_gpu *gpu;
    const struct wl_gpu_blas *blas;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t left, right, c;
    bool bias, add;
};

/* cublasLt's description, which lives as long as the arena, as *x has to. */
int wl_gpu_product_describe(struct wl_gpu *g, const struct wl_gpu_product *of, struct wl_gpu_product_call *x,
                            struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

struct wl_gpu_algorithm {
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace_bytes;
    const char *name; /* "cublasLt 66, tile 20, stages 5, 3 parts": how the library numbers it */
};

/* The first algorithms that the heuristic gives, that are deterministic and have different names. WL_ELIB: none. */
int wl_gpu_product_algorithms(const struct wl_gpu_product_call *x, const struct wl_gpu_product *of,
                              struct wl_gpu_algorithm out[WL_GPU_PRODUCT_WAYS], size_t *n, struct wl_arena *a,
                              struct wl_err *e) WL_MUST_CHECK;

/* That of the table of choices, which is in *choice, else the heuristic's first. */
int wl_gpu_product_choose(struct wl_program *p, const struct wl_gpu_product *of, const struct wl_gpu_product_call *x,
                          struct wl_gpu_algorithm *out, const struct wl_choice **choice,
                          struct wl_err *e) WL_MUST_CHECK;

/* (enqueued) */
int wl_gpu_product_multiply(const struct wl_gpu_product_call *x, const struct wl_gpu_algorithm *algorithm,
                            const struct wl_gpu_product_at *at, struct wl_err *e) WL_MUST_CHECK;

int64_t wl_gpu_matrix_ld(const struct wl_gpu_matrix *m);
int64_t wl_gpu_matrix_stride(const struct wl_gpu_matrix *m);

/* Calls a function of the library, in a function that returns a code and has a `struct wl_err *e`. */
#define WL_CUBLASLT_CALL(b, name, ...)                                                         \
    do {                                                                                       \
        cublasStatus_t status_ = (b)->name(__VA_ARGS__);                                       \
        if (status_ != CUBLAS_STATUS_SUCCESS) return wl_gpu_blas_fail((b), #name, status_, e); \
    } while (0)

#endif
