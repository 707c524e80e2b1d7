/* Products of matrices by cublasLt. Only algorithms that give the same bits every time are taken: parts of a sum are
 * added in one order, never by atomics. Sums are in f32; f32 numbers are multiplied as they are, or
 * rounded to TF32 where the program says so. */
#ifndef WL_NN_GPU_BLAS_BLAS_H
#define WL_NN_GPU_BLAS_BLAS_H

#include "cuda/library.h"
#include "nn/gpu/gpu.h"

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
    bool tf32; /* f32 numbers are rounded to TF32; of the program, as wl_gpu_product sets it */
};

/* Emits the step, with a workspace where the algorithm wants one. Uses: a, b, then bias, c where it is read, c,
 * workspace. WL_EINVAL: the matrices do not fit; WL_ELIB: cublasLt has no algorithm for them. */
int wl_gpu_product(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                   const struct wl_gpu_product *x, struct wl_err *e) WL_MUST_CHECK;

/* ---- which algorithm: measured before lowering (ops/product_autotune.c) ---- */

/* While gpu->open_products is not NULL, lowering puts there each product of several algorithms that the table of
 * choices does not know, once. */
struct wl_gpu_open_product {
    struct wl_gpu_product of;
    const char *question;
    struct wl_gpu_open_product *next;
};

/* A product's algorithms, the heuristic's first one first. */
enum { WL_GPU_PRODUCT_WAYS = 6 };
struct wl_gpu_product_trial {
    size_t n;
    struct {
        const char *name;
        size_t workspace_bytes;
    } way[WL_GPU_PRODUCT_WAYS];
    const struct wl_gpu_product_ways *ways;
};
int wl_gpu_product_trial_open(struct wl_gpu *g, const struct wl_gpu_product *of, struct wl_gpu_product_trial *out,
                              struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

struct wl_gpu_product_at {
    void *a, *b, *bias, *c, *workspace;
};
size_t wl_gpu_matrix_bytes(const struct wl_gpu_matrix *m, int64_t batch);

/* (enqueued) */
int wl_gpu_product_trial_run(const struct wl_gpu_product_trial *t, size_t way, const struct wl_gpu_product_at *at,
                             struct wl_err *e) WL_MUST_CHECK;

#endif
