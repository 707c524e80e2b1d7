/* Products by rows as cublasLt's, which are by columns: c = a b by rows is c' = b' a' by columns, on the same memory.
 */
#include "nn/gpu/blas/internal.h"

/* Of a step. */
struct product {
    struct wl_gpu_product_call call;
    struct wl_gpu_algorithm algorithm;
};

static cudaDataType_t type_of(enum wl_dtype t)
{
    switch (t) { /* whole: the compiler asks for a type that is added */
    case WL_F32: return CUDA_R_32F;
    case WL_BF16: return CUDA_R_16BF;
    case WL_F16: return CUDA_R_16F;
    case WL_I32:
    case WL_U8: break; /* check() lets none through */
    }
    WL_CHECK(!"a product of integers");
    return CUDA_R_32F;
}

static void release(void *of)
{
    struct wl_gpu_product_call *x = of;
    const struct wl_gpu_blas *b = x->blas;
    cublasLtMatrixLayout_t layouts[] = { x->left, x->right, x->c };
    for (size_t i = 0; i < WL_COUNT(layouts); i++)
        if (layouts[i]) b->MatrixLayoutDestroy(layouts[i]);
    if (x->desc) b->MatmulDescDestroy(x->desc);
}

/* ---- what the matrices are ---- */

int64_t wl_gpu_matrix_ld(const struct wl_gpu_matrix *m) { return m->ld ? m->ld : m->columns; }

int64_t wl_gpu_matrix_stride(const struct wl_gpu_matrix *m)
{
    return m->stride ? m->stride : m->rows * wl_gpu_matrix_ld(m);
}

static int layout(const struct wl_gpu_blas *b, const struct wl_gpu_matrix *m, int64_t batch,
                  cublasLtMatrixLayout_t *out, struct wl_err *e)
{
    const int32_t count = batch ? (int32_t)batch : 1;
    const int64_t stride = wl_gpu_matrix_stride(m);
    WL_CUBLASLT_CALL(b, MatrixLayoutCreate, out, type_of(m->buf->dtype), (uint64_t)m->columns, (uint64_t)m->rows,
                     wl_gpu_matrix_ld(m));
    WL_CUBLASLT_CALL(b, MatrixLayoutSetAttribute, *out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
    WL_CUBLASLT_CALL(b, MatrixLayoutSetAttribute, *out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                     sizeof stride);
    return 0;
}

static int operation(const struct wl_gpu_product_call *x, int attribute, const struct wl_gpu_matrix *m,
                     struct wl_err *e)
{
    const int32_t op = m->transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    WL_CUBLASLT_CALL(x->blas, MatmulDescSetAttribute, x->desc, attribute, &op, sizeof op);
    return 0;
}

/* Algorithms are chosen by the alignment of this address too; that of the step follows. */
static int bias_at(const struct wl_gpu_product_call *x, const void *at, struct wl_err *e)
{
    WL_CUBLASLT_CALL(x->blas, MatmulDescSetAttribute, x->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &at, sizeof at);
    return 0;
}

static int describe_bias(const struct wl_gpu_product_call *x, const struct wl_gpu_product *of, struct wl_err *e)
{
    const int32_t epilogue = CUBLASLT_EPILOGUE_BIAS, type = type_of(of->bias->dtype);
    WL_CUBLASLT_CALL(x->blas, MatmulDescSetAttribute, x->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                     sizeof epilogue);
    WL_CUBLASLT_CALL(x->blas, MatmulDescSetAttribute, x->desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type);
    return bias_at(x, (const void *)(uintptr_t)WL_GPU_BLAS_ALIGNMENT, e);
}

static int describe(struct wl_gpu_product_call *x, const struct wl_gpu_product *of, struct wl_err *e)
{
    WL_CUBLASLT_CALL(x->blas, MatmulDescCreate, &x->desc, of->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                     CUDA_R_32F);
    int rc = operation(x, CUBLASLT_MATMUL_DESC_TRANSA, &of->b, e);
    if (!rc) rc = operation(x, CUBLASLT_MATMUL_DESC_TRANSB, &of->a, e);
    if (!rc) rc = layout(x->blas, &of->b, of->batch, &x->left, e);
    if (!rc) rc = layout(x->blas, &of->a, of->batch, &x->right, e);
    if (!rc) rc = layout(x->blas, &of->c, of->batch, &x->c, e);
    return rc || !of->bias ? rc : describe_bias(x, of, e);
}

int wl_gpu_product_describe(struct wl_gpu *g, const struct wl_gpu_product *of, struct wl_gpu_product_call *x,
                            struct wl_arena *a, struct wl_err *e)
{
    struct wl_gpu_blas *blas;
    int rc = wl_gpu_blas_of(g, &blas, e);
    if (rc) return rc;
    *x = (struct wl_gpu_product_call) { .gpu = g, .blas = blas, .bias = of->bias, .add = of->add };
    wl_defer(a, release, x);
    return describe(x, of, e);
}

int wl_gpu_product_multiply(const struct wl_gpu_product_call *x, const struct wl_gpu_algorithm *algorithm,
                            const struct wl_gpu_product_at *at, struct wl_err *e)
{
    const float one = 1, beta = x->add ? 1 : 0;
    int rc = x->bias ? bias_at(x, at->bias, e) : 0;
    if (rc) return rc;
    WL_CUBLASLT_CALL(x->blas, Matmul, x->blas->handle, x->desc, &one, at->b, x->left, at->a, x->right, &beta, at->c,
                     x->c, at->c, x->c, &algorithm->algorithm, at->workspace, algorithm->workspace_bytes,
                     x->gpu->compute);
    return 0;
}

/* ---- the step ---- */

static int product_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct product *x = s->context;
    struct wl_gpu_product_at at = { .a = wl_use_at(s, r, 0), .b = wl_use_at(s, r, 1) };
    int i = 2;
    if (x->call.bias) at.bias = wl_use_at(s, r, i++);
    i += x->call.add;
    at.c = wl_use_at(s, r, i++);
    if (x->algorithm.workspace_bytes) at.workspace = wl_use_at(s, r, i);
    return wl_gpu_product_multiply(&x->call, &x->algorithm, &at, e);
}

static void emit(struct wl_program *p, struct wl_step *s, const struct wl_gpu_product *of)
{
    struct product *x = s->context;
    wl_step_reads(p, s, of->a.buf);
    wl_step_reads(p, s, of->b.buf);
    if (of->bias) wl_step_reads(p, s, of->bias);
    if (of->add) wl_step_reads(p, s, of->c.buf);
    wl_step_writes(p, s, of->c.buf);
    if (!x->algorithm.workspace_bytes) return;
    const int64_t floats = (int64_t)((x->algorithm.workspace_bytes + sizeof(float) - 1) / sizeof(float));
    wl_step_writes(p, s, wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(floats)));
}

static bool is_real(enum wl_dtype t) { return t != WL_I32 && t != WL_U8; }

static int check(const struct wl_gpu_product *of, struct wl_err *e)
{
    const struct wl_gpu_matrix *a = &of->a, *b = &of->b, *c = &of->c;
    const int64_t m = a->transposed ? a->columns : a->rows, k = a->transposed ? a->rows : a->columns;
    const int64_t n = b->transposed ? b->rows : b->columns, depth = b->transposed ? b->columns : b->rows;
    const bool types = is_real(a->buf->dtype) && is_real(c->buf->dtype) && a->buf->dtype == b->buf->dtype &&
                       (!of->bias || of->bias->dtype == c->buf->dtype);
    if (m == c->rows && n == c->columns && k == depth && types && !c->transposed) return 0;
    return wl_fail(e, WL_EINVAL, "a product of %s [%lld,%lld] and %s [%lld,%lld] is not %s [%lld,%lld]",
                   wl_dtype_name(a->buf->dtype), (long long)m, (long long)k, wl_dtype_name(b->buf->dtype),
                   (long long)depth, (long long)n, wl_dtype_name(c->buf->dtype), (long long)c->rows,
                   (long long)c->columns);
}

int wl_gpu_product(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                   const struct wl_gpu_product *product, struct wl_err *e)
{
    int rc = check(product, e);
    if (rc) return rc;
    struct product *x = wl_new(p->arena, struct product);
    struct wl_gpu_product of = *product;
    const struct wl_choice *choice;
    of.tf32 = p->tf32 && of.a.buf->dtype == WL_F32;
    rc = wl_gpu_product_describe(wl_gpu_of(p), &of, &x->call, p->arena, e);
    if (!rc) rc = wl_gpu_product_choose(p, &of, &x->call, &x->algorithm, &choice, e);
    if (rc) return rc;
    struct wl_step *s = wl_step_emit(p, n, pass, when, product_run);
    s->context = x;
    s->implementation = x->algorithm.name;
    s->choice = choice;
    if (of.tf32) s->arithmetic.numbers = WL_NUMBERS_TF32;
    emit(p, s, &of);
    return 0;
}
