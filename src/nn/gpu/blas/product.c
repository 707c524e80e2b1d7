/* Products by rows as cublasLt's, which are by columns: c = a b by rows is c' = b' a' by columns, on the same memory.
 */
#include "nn/gpu/blas/internal.h"

#include <string.h>

enum {
    WORKSPACE_BYTES = 32 << 20, /* what cuBLAS itself takes on Hopper; products of a step share the plan's arena */
    ALGORITHMS = 8,             /* asked for, of which the first that may be taken is */
    ALIGNMENT = 256,            /* of buffers; no algorithm asks for more */
};

/* Of a step. Left and right are cublasLt's operands: b and a. */
struct product {
    const struct wl_gpu *gpu;
    const struct wl_gpu_blas *blas;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t left, right, c;
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace_bytes;
    bool bias, add;
};

static cudaDataType_t type_of(enum wl_dtype t)
{
    switch (t) { /* whole: the compiler asks for a type that is added */
    case WL_F32: return CUDA_R_32F;
    case WL_BF16: return CUDA_R_16BF;
    case WL_I32: break; /* check() lets none through */
    }
    WL_CHECK(t != WL_I32);
    return CUDA_R_32F;
}

static void release(void *of)
{
    struct product *x = of;
    const struct wl_gpu_blas *b = x->blas;
    cublasLtMatrixLayout_t layouts[] = { x->left, x->right, x->c };
    for (size_t i = 0; i < WL_COUNT(layouts); i++)
        if (layouts[i]) b->MatrixLayoutDestroy(layouts[i]);
    if (x->desc) b->MatmulDescDestroy(x->desc);
}

/* ---- what the matrices are ---- */

static int64_t ld_of(const struct wl_gpu_matrix *m) { return m->ld ? m->ld : m->columns; }

static int64_t stride_of(const struct wl_gpu_matrix *m) { return m->stride ? m->stride : m->rows * ld_of(m); }

static int layout(const struct wl_gpu_blas *b, const struct wl_gpu_matrix *m, int64_t batch,
                  cublasLtMatrixLayout_t *out, struct wl_err *e)
{
    const int32_t count = batch ? (int32_t)batch : 1;
    const int64_t stride = stride_of(m);
    WL_CUBLASLT_CALL(b, MatrixLayoutCreate, out, type_of(m->buf->dtype), (uint64_t)m->columns, (uint64_t)m->rows,
                     ld_of(m));
    WL_CUBLASLT_CALL(b, MatrixLayoutSetAttribute, *out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
    WL_CUBLASLT_CALL(b, MatrixLayoutSetAttribute, *out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                     sizeof stride);
    return 0;
}

static int operation(const struct product *x, int attribute, const struct wl_gpu_matrix *m, struct wl_err *e)
{
    const int32_t op = m->transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    WL_CUBLASLT_CALL(x->blas, MatmulDescSetAttribute, x->desc, attribute, &op, sizeof op);
    return 0;
}

/* Algorithms are chosen by the alignment of this address too; that of the step follows. */
static int bias_at(const struct product *x, const void *at, struct wl_err *e)
{
    WL_CUBLASLT_CALL(x->blas, MatmulDescSetAttribute, x->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &at, sizeof at);
    return 0;
}

static int describe_bias(const struct product *x, const struct wl_gpu_product *of, struct wl_err *e)
{
    const int32_t epilogue = CUBLASLT_EPILOGUE_BIAS, type = type_of(of->bias->dtype);
    WL_CUBLASLT_CALL(x->blas, MatmulDescSetAttribute, x->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                     sizeof epilogue);
    WL_CUBLASLT_CALL(x->blas, MatmulDescSetAttribute, x->desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type);
    return bias_at(x, (const void *)(uintptr_t)ALIGNMENT, e);
}

static int describe(struct product *x, const struct wl_gpu_product *of, struct wl_err *e)
{
    WL_CUBLASLT_CALL(x->blas, MatmulDescCreate, &x->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    int rc = operation(x, CUBLASLT_MATMUL_DESC_TRANSA, &of->b, e);
    if (!rc) rc = operation(x, CUBLASLT_MATMUL_DESC_TRANSB, &of->a, e);
    if (!rc) rc = layout(x->blas, &of->b, of->batch, &x->left, e);
    if (!rc) rc = layout(x->blas, &of->a, of->batch, &x->right, e);
    if (!rc) rc = layout(x->blas, &of->c, of->batch, &x->c, e);
    return rc || !of->bias ? rc : describe_bias(x, of, e);
}

/* ---- the algorithm ---- */

/* Of every matrix of the batch. */
static uint32_t alignment_of(const struct wl_gpu_matrix *m, int64_t batch)
{
    uint32_t bytes = ALIGNMENT;
    const size_t stride = (size_t)stride_of(m) * wl_dtype_bytes(m->buf->dtype);
    while (batch > 1 && stride % bytes) bytes /= 2;
    return bytes;
}

static int align(const struct wl_gpu_blas *b, cublasLtMatmulPreference_t p, int attribute,
                 const struct wl_gpu_matrix *m, int64_t batch, struct wl_err *e)
{
    const uint32_t bytes = alignment_of(m, batch);
    WL_CUBLASLT_CALL(b, MatmulPreferenceSetAttribute, p, attribute, &bytes, sizeof bytes);
    return 0;
}

static int prefer(const struct wl_gpu_blas *b, cublasLtMatmulPreference_t p, const struct wl_gpu_product *of,
                  struct wl_err *e)
{
    const size_t workspace = WORKSPACE_BYTES;
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE; /* not in place: those are in any order */
    WL_CUBLASLT_CALL(b, MatmulPreferenceSetAttribute, p, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                     sizeof workspace);
    WL_CUBLASLT_CALL(b, MatmulPreferenceSetAttribute, p, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
                     sizeof reductions);
    int rc = align(b, p, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &of->b, of->batch, e);
    if (!rc) rc = align(b, p, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &of->a, of->batch, e);
    if (!rc) rc = align(b, p, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &of->c, of->batch, e);
    return rc ? rc : align(b, p, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &of->c, of->batch, e);
}

static uint32_t config(const struct wl_gpu_blas *b, const cublasLtMatmulAlgo_t *a, int attribute)
{
    uint32_t value = 0;
    size_t written;
    b->MatmulAlgoConfigGetAttribute(a, attribute, &value, sizeof value, &written);
    return value;
}

static bool may_take(const struct wl_gpu_blas *b, const cublasLtMatmulHeuristicResult_t *r)
{
    const uint32_t reduction = config(b, &r->algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
    return r->state == CUBLAS_STATUS_SUCCESS && r->workspaceSize <= WORKSPACE_BYTES &&
           !(reduction & CUBLASLT_REDUCTION_SCHEME_INPLACE);
}

static int none_found(const struct product *x, const struct wl_gpu_product *of, cublasStatus_t status, struct wl_err *e)
{
    const struct wl_gpu_matrix *a = &of->a, *b = &of->b;
    return wl_fail(e, WL_ELIB,
                   "%s: no algorithm with one order of sums for %s [%lld,%lld]%s by %s [%lld,%lld]%s to %s: %s (%d)",
                   x->blas->library.path, wl_dtype_name(a->buf->dtype), (long long)a->rows, (long long)a->columns,
                   a->transposed ? "'" : "", wl_dtype_name(b->buf->dtype), (long long)b->rows, (long long)b->columns,
                   b->transposed ? "'" : "", wl_dtype_name(of->c.buf->dtype), x->blas->GetStatusString(status), status);
}

static int take(struct product *x, const struct wl_gpu_product *of, cublasLtMatmulPreference_t p, struct wl_err *e)
{
    cublasLtMatmulHeuristicResult_t results[ALGORITHMS];
    int found = 0;
    cublasStatus_t status = x->blas->MatmulAlgoGetHeuristic(x->blas->handle, x->desc, x->left, x->right, x->c, x->c, p,
                                                            ALGORITHMS, results, &found);
    for (int i = 0; i < found && !status; i++) {
        if (!may_take(x->blas, &results[i])) continue;
        x->algorithm = results[i].algo;
        x->workspace_bytes = results[i].workspaceSize;
        return 0;
    }
    return none_found(x, of, status ? status : CUBLAS_STATUS_NOT_SUPPORTED, e);
}

static int choose(struct product *x, const struct wl_gpu_product *of, struct wl_err *e)
{
    cublasLtMatmulPreference_t p;
    WL_CUBLASLT_CALL(x->blas, MatmulPreferenceCreate, &p);
    int rc = prefer(x->blas, p, of, e);
    if (!rc) rc = take(x, of, p, e);
    x->blas->MatmulPreferenceDestroy(p);
    return rc;
}

/* ---- the step ---- */

static int product_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct product *x = s->context;
    const float one = 1, beta = x->add ? 1 : 0;
    int i = 2;
    int rc = x->bias ? bias_at(x, wl_use_at(s, r, i++), e) : 0;
    if (rc) return rc;
    i += x->add;
    void *c = wl_use_at(s, r, i++), *workspace = x->workspace_bytes ? wl_use_at(s, r, i) : NULL;
    WL_CUBLASLT_CALL(x->blas, Matmul, x->blas->handle, x->desc, &one, wl_use_at(s, r, 1), x->left, wl_use_at(s, r, 0),
                     x->right, &beta, c, x->c, c, x->c, &x->algorithm, workspace, x->workspace_bytes, x->gpu->compute);
    return 0;
}

/* "cublasLt 66, tile 20, 3 parts": how the library numbers its algorithms. */
static const char *name_of(const struct product *x, struct wl_arena *a)
{
    const struct wl_gpu_blas *b = x->blas;
    const uint32_t parts = config(b, &x->algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
    const char *name = wl_strf(a, "cublasLt %u, tile %u", config(b, &x->algorithm, CUBLASLT_ALGO_CONFIG_ID),
                               config(b, &x->algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID));
    return parts > 1 ? wl_strf(a, "%s, %u parts", name, parts) : name;
}

static void emit(struct wl_program *p, struct wl_step *s, const struct wl_gpu_product *of)
{
    struct product *x = s->context;
    wl_step_reads(p, s, of->a.buf);
    wl_step_reads(p, s, of->b.buf);
    if (of->bias) wl_step_reads(p, s, of->bias);
    if (of->add) wl_step_reads(p, s, of->c.buf);
    wl_step_writes(p, s, of->c.buf);
    if (!x->workspace_bytes) return;
    const int64_t floats = (int64_t)((x->workspace_bytes + sizeof(float) - 1) / sizeof(float));
    wl_step_writes(p, s, wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(floats)));
}

static int check(const struct wl_gpu_product *of, struct wl_err *e)
{
    const struct wl_gpu_matrix *a = &of->a, *b = &of->b, *c = &of->c;
    const int64_t m = a->transposed ? a->columns : a->rows, k = a->transposed ? a->rows : a->columns;
    const int64_t n = b->transposed ? b->rows : b->columns, depth = b->transposed ? b->columns : b->rows;
    const bool types = a->buf->dtype != WL_I32 && c->buf->dtype != WL_I32 && a->buf->dtype == b->buf->dtype &&
                       (!of->bias || of->bias->dtype == c->buf->dtype);
    if (m == c->rows && n == c->columns && k == depth && types && !c->transposed) return 0;
    return wl_fail(e, WL_EINVAL, "a product of %s [%lld,%lld] and %s [%lld,%lld] is not %s [%lld,%lld]",
                   wl_dtype_name(a->buf->dtype), (long long)m, (long long)k, wl_dtype_name(b->buf->dtype),
                   (long long)depth, (long long)n, wl_dtype_name(c->buf->dtype), (long long)c->rows,
                   (long long)c->columns);
}

int wl_gpu_product(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                   const struct wl_gpu_product *of, struct wl_err *e)
{
    struct wl_gpu_blas *blas;
    int rc = check(of, e);
    if (!rc) rc = wl_gpu_blas_of(wl_gpu_of(p), &blas, e);
    if (rc) return rc;
    struct product *x = wl_new(p->arena, struct product);
    *x = (struct product) { .gpu = wl_gpu_of(p), .blas = blas, .bias = of->bias, .add = of->add };
    wl_defer(p->arena, release, x);
    rc = describe(x, of, e);
    if (!rc) rc = choose(x, of, e);
    if (rc) return rc;
    struct wl_step *s = wl_step_emit(p, n, pass, when, product_run);
    s->context = x;
    s->implementation = name_of(x, p->arena);
    emit(p, s, of);
    return 0;
}
