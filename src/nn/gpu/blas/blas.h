/* Products of matrices by cublasLt. Only algorithms that give the same bits every time are taken: parts of a sum are
 * added in one order, never by atomics. Sums are in f32; f32 numbers are multiplied as they are. */
#ifndef WL_NN_GPU_BLAS_BLAS_H
#define WL_NN_GPU_BLAS_BLAS_H

#include "nn/gpu/gpu.h"
#include "cuda/library.h"

/* Which cublasLt there is, without a GPU; `cuda` and the codes as wl_gpu_library_open. */
int wl_gpu_blas_find(int cuda, struct wl_gpu_library_facts *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Matrices in a buffer, by rows: element (i,j) of matrix b of a batch is b * stride + i * ld + j. */
struct wl_gpu_matrix {
    struct wl_buf *buf;
    int64_t rows, columns;
    int64_t ld;      /* 0 counts as columns */
    int64_t stride;  /* of a batch; 0 counts as rows * ld */
    bool transposed; /* the product takes its transpose */
};

/* c = a b, then + c (add), then + bias in each row (bias, of c's type and of c's columns; NULL: none), rounded once. */
struct wl_gpu_product {
    struct wl_gpu_matrix a, b, c;
    struct wl_buf *bias;
    int64_t batch; /* 0 counts as 1 */
    bool add;
};

/* Emits the step, with a workspace where the algorithm wants one. Uses: a, b, then bias, c where it is read, c,
 * workspace. WL_EINVAL: the matrices do not fit; WL_ELIB: cublasLt has no algorithm for them. */
int wl_gpu_product(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                   const struct wl_gpu_product *x, struct wl_err *e) WL_MUST_CHECK;

#endif
