/* A cublasLt without a GPU: products by columns in plain C, on the streams of the fake libcuda.
 *
 * It is stricter than the real one. The first algorithms that the heuristic gives may not be taken: one has failed, and
 * one adds the parts of its sums in place, in any order. Of the others the first is slow where
 * $WATTLAW_FAKE_CUBLASLT_SLOW_US says by how much. An algorithm serves the product alone that it was found for,
 * with addresses as aligned as the preference said, and a workspace of its own, which is overwritten. Operands may not
 * overlap the result. What is left when the last handle is destroyed ends the process. Sums are in float, in order. */
#include "enqueue.h"

#include "base/half.h"
#include "nn/gpu/blas/api.h"

#define DECLARE(result, name, parameters) FAKE_EXPORT result cublasLt##name parameters;
WL_CUBLASLT_FUNCTIONS(DECLARE)
#undef DECLARE

enum { WORKSPACE = 4096, ALIGNMENT = 256, MAGIC = 0x6c74 };
enum { FAILED, IN_PLACE, SLOW, TWIN, FAST, MIDDLING, ALGORITHMS }; /* in the order in which the heuristic gives them */

struct cublasLtContext {
    int unused;
};

struct wl_cublaslt_desc {
    cublasComputeType_t compute;
    int32_t transposed[2], epilogue, bias_type;
    const void *bias;
};

struct wl_cublaslt_layout {
    cudaDataType_t type;
    uint64_t rows, columns;
    int64_t ld, stride;
    int32_t batch;
};

struct wl_cublaslt_preference {
    size_t workspace;
    uint32_t reductions, alignment[4]; /* of a, b, c, d */
};

/* What an algorithm is, in its 64 bytes. */
struct algorithm {
    uint32_t magic, kind, alignment[4];
    uint64_t shape; /* of the product that it was found for */
};
_Static_assert(sizeof(struct algorithm) <= sizeof(cublasLtMatmulAlgo_t), "algorithm");

struct product {
    struct wl_cublaslt_desc desc;
    struct wl_cublaslt_layout a, b, c;
    const void *at[2];
    const void *c_at;
    void *d, *workspace;
    float alpha, beta;
    uint32_t kind;
};

static int handles, objects; /* that exist; objects: descriptions, layouts and preferences */

/* ---- numbers ---- */

static float number(const void *at, cudaDataType_t type, int64_t i)
{
    if (type == CUDA_R_32F) return ((const float *)at)[i];
    const uint16_t bits = ((const uint16_t *)at)[i];
    return type == CUDA_R_16F ? wl_f16_to_f32(bits) : wl_bf16_to_f32(bits);
}

static void set_number(void *at, cudaDataType_t type, int64_t i, float v)
{
    if (type == CUDA_R_32F)
        ((float *)at)[i] = v;
    else
        ((uint16_t *)at)[i] = type == CUDA_R_16F ? wl_f32_to_f16(v) : wl_f32_to_bf16(v);
}

/* ---- the product ---- */

/* Row r of column c of matrix z. */
static int64_t index_of(const struct wl_cublaslt_layout *l, int64_t z, uint64_t r, uint64_t c)
{
    return z * l->stride + (int64_t)c * l->ld + (int64_t)r;
}

static float factor(const struct product *p, int side, int64_t z, uint64_t outer, uint64_t inner)
{
    const struct wl_cublaslt_layout *l = side ? &p->b : &p->a;
    const bool inner_is_row = (side == 0) == (p->desc.transposed[side] == CUBLAS_OP_T);
    const float v =
        number(p->at[side], l->type, inner_is_row ? index_of(l, z, inner, outer) : index_of(l, z, outer, inner));
    return p->desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32 && l->type == CUDA_R_32F ? wl_f32_to_tf32(v) : v;
}

static float element(const struct product *p, int64_t z, uint64_t r, uint64_t c, uint64_t depth)
{
    float sum = 0;
    for (uint64_t i = 0; i < depth; i++) sum += factor(p, 0, z, r, i) * factor(p, 1, z, c, i);
    sum *= p->alpha;
    if (p->beta != 0) sum += p->beta * number(p->c_at, p->c.type, index_of(&p->c, z, r, c));
    if (p->desc.epilogue == CUBLASLT_EPILOGUE_BIAS) sum += number(p->desc.bias, p->desc.bias_type, (int64_t)r);
    return sum;
}

/* TWIN would be the fastest, but is called as SLOW is. */
static void spend(uint32_t kind)
{
    static const long share[ALGORITHMS] = { [SLOW] = 4, [FAST] = 1, [MIDDLING] = 2 };
    const char *us = getenv("WATTLAW_FAKE_CUBLASLT_SLOW_US");
    if (us) fake_spend(atol(us) * 1000 / 4 * share[kind]);
}

static void multiply(void *arg)
{
    const struct product *p = arg;
    spend(p->kind);
    const uint64_t depth = p->desc.transposed[0] == CUBLAS_OP_T ? p->a.rows : p->a.columns;
    memset(p->workspace, 0xff, WORKSPACE);
    for (int64_t z = 0; z < p->c.batch; z++)
        for (uint64_t c = 0; c < p->c.columns; c++)
            for (uint64_t r = 0; r < p->c.rows; r++)
                set_number(p->d, p->c.type, index_of(&p->c, z, r, c), element(p, z, r, c, depth));
}

/* ---- the library, descriptions ---- */

size_t cublasLtGetVersion(void) { return 130100; }

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    if (status == CUBLAS_STATUS_INVALID_VALUE) return "an unsupported value or parameter was passed to the function";
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? "the functionality requested is not supported" : "unknown";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
    *out = calloc(1, sizeof **out);
    handles++;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t h)
{
    if (!--handles && objects) {
        fake_refuse_call(0, "cublasLtDestroy: %d descriptions were not destroyed", objects);
        abort();
    }
    free(h);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute, cudaDataType_t scale)
{
    if (scale != CUDA_R_32F || (compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_FAST_TF32))
        return fake_refuse_call(CUBLAS_STATUS_NOT_SUPPORTED, "compute type %d, scale %d", compute, scale);
    *out = calloc(1, sizeof **out);
    (*out)->compute = compute;
    (*out)->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    (*out)->bias_type = -1;
    objects++;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t destroy(void *object)
{
    objects--;
    free(object);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) { return destroy(d); }
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) { return destroy(l); }
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) { return destroy(p); }

/* An attribute of `size` bytes. */
static cublasStatus_t take(void *to, size_t size, const void *from, size_t n)
{
    if (!to || n != size) return fake_refuse_call(CUBLAS_STATUS_INVALID_VALUE, "an attribute of %zu bytes", n);
    memcpy(to, from, n);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t what,
                                              const void *from, size_t n)
{
    switch (what) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return take(&d->transposed[0], sizeof d->transposed[0], from, n);
    case CUBLASLT_MATMUL_DESC_TRANSB: return take(&d->transposed[1], sizeof d->transposed[1], from, n);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return take(&d->epilogue, sizeof d->epilogue, from, n);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return take(&d->bias, sizeof d->bias, from, n);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return take(&d->bias_type, sizeof d->bias_type, from, n);
    default: return take(NULL, 0, from, n);
    }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType_t type, uint64_t rows,
                                          uint64_t columns, int64_t ld)
{
    const bool known = type == CUDA_R_32F || type == CUDA_R_16BF || type == CUDA_R_16F;
    if (!known || !rows || !columns || ld < (int64_t)rows)
        return fake_refuse_call(CUBLAS_STATUS_INVALID_VALUE, "a matrix of type %d, %lu x %lu, leading dimension %ld",
                                type, (unsigned long)rows, (unsigned long)columns, (long)ld);
    *out = calloc(1, sizeof **out);
    **out = (struct wl_cublaslt_layout) { .type = type, .rows = rows, .columns = columns, .ld = ld, .batch = 1 };
    objects++;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t what,
                                                const void *from, size_t n)
{
    if (what == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) return take(&l->batch, sizeof l->batch, from, n);
    if (what == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) return take(&l->stride, sizeof l->stride, from, n);
    return take(NULL, 0, from, n);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    *out = calloc(1, sizeof **out);
    (*out)->reductions = 7;
    for (int i = 0; i < 4; i++) (*out)->alignment[i] = ALIGNMENT;
    objects++;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t what, const void *from,
                                                    size_t n)
{
    if (what == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return take(&p->workspace, sizeof p->workspace, from, n);
    if (what == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) return take(&p->reductions, sizeof p->reductions, from, n);
    const int i = what - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
    const bool known = i >= 0 && i < 4;
    return take(known ? &p->alignment[i] : NULL, sizeof *p->alignment, from, n);
}

/* ---- algorithms ---- */

static uint64_t mixed(uint64_t sum, int64_t v) { return (sum ^ (uint64_t)v) * 0x100000001b3u; }

static uint64_t mixed_layout(uint64_t sum, const struct wl_cublaslt_layout *l)
{
    const int64_t v[] = {
        l->type, (int64_t)l->rows, (int64_t)l->columns, l->ld, l->batch > 1 ? l->stride : 0, l->batch
    };
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) sum = mixed(sum, v[i]);
    return sum;
}

static uint64_t shape_of(const struct wl_cublaslt_desc *d, const struct wl_cublaslt_layout *a,
                         const struct wl_cublaslt_layout *b, const struct wl_cublaslt_layout *c)
{
    uint64_t sum = mixed(0xcbf29ce484222325u, d->compute);
    sum = mixed(mixed(mixed(mixed(sum, d->transposed[0]), d->transposed[1]), d->epilogue), d->bias_type);
    return mixed_layout(mixed_layout(mixed_layout(sum, a), b), c);
}

static bool types_serve(const struct wl_cublaslt_desc *d, const struct wl_cublaslt_layout *a,
                        const struct wl_cublaslt_layout *b, const struct wl_cublaslt_layout *c)
{
    if (a->type != b->type || (a->type == CUDA_R_32F && c->type != CUDA_R_32F)) return false;
    if (c->type != a->type && c->type != CUDA_R_32F) return false;
    if (d->compute == CUBLAS_COMPUTE_32F_FAST_TF32 && a->type != CUDA_R_32F) return false;
    return d->epilogue == CUBLASLT_EPILOGUE_DEFAULT ||
           (d->epilogue == CUBLASLT_EPILOGUE_BIAS && d->bias_type == c->type);
}

static bool shapes_fit(const struct wl_cublaslt_desc *d, const struct wl_cublaslt_layout *a,
                       const struct wl_cublaslt_layout *b, const struct wl_cublaslt_layout *c)
{
    const bool ta = d->transposed[0] == CUBLAS_OP_T, tb = d->transposed[1] == CUBLAS_OP_T;
    return (ta ? a->columns : a->rows) == c->rows && (tb ? b->rows : b->columns) == c->columns &&
           (ta ? a->rows : a->columns) == (tb ? b->columns : b->rows) && a->batch == b->batch && b->batch == c->batch;
}

static bool aligned_batch(const struct wl_cublaslt_layout *l, uint32_t alignment)
{
    const uint64_t bytes = l->type == CUDA_R_32F ? 4 : 2;
    return l->batch == 1 || (uint64_t)l->stride * bytes % alignment == 0;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t to, cublasLtMatmulPreference_t p, int wanted,
                                              cublasLtMatmulHeuristicResult_t *results, int *found)
{
    *found = 0;
    if (!h || wanted <= 0 || !shapes_fit(d, a, b, c) || shape_of(d, a, b, c) != shape_of(d, a, b, to))
        return fake_refuse_call(CUBLAS_STATUS_INVALID_VALUE, "matrices that do not fit");
    if (!types_serve(d, a, b, c) || p->workspace < WORKSPACE ||
        !(p->reductions & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE))
        return fake_refuse_call(CUBLAS_STATUS_NOT_SUPPORTED, "types %d by %d to %d, bias %d", a->type, b->type, c->type,
                                d->bias_type);
    if (!aligned_batch(a, p->alignment[0]) || !aligned_batch(b, p->alignment[1]) || !aligned_batch(c, p->alignment[3]))
        return fake_refuse_call(CUBLAS_STATUS_INVALID_VALUE, "a batch less aligned than the preference says");
    struct algorithm x = { .magic = MAGIC, .shape = shape_of(d, a, b, c) };
    memcpy(x.alignment, p->alignment, sizeof x.alignment);
    for (; *found < wanted && *found < ALGORITHMS; ++*found) {
        cublasLtMatmulHeuristicResult_t *r = &results[*found];
        x.kind = (uint32_t)*found;
        memset(r, 0, sizeof *r);
        memcpy(&r->algo, &x, sizeof x);
        r->state = x.kind == FAILED ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
        r->workspaceSize = WORKSPACE;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *a,
                                                    cublasLtMatmulAlgoConfigAttributes_t what, void *to, size_t n,
                                                    size_t *written)
{
    struct algorithm x;
    memcpy(&x, a, sizeof x);
    const uint32_t reduction = x.kind == IN_PLACE ? CUBLASLT_REDUCTION_SCHEME_INPLACE : CUBLASLT_REDUCTION_SCHEME_NONE;
    uint32_t value = 0;
    switch (what) {
    case CUBLASLT_ALGO_CONFIG_ID: value = 66; break;
    case CUBLASLT_ALGO_CONFIG_TILE_ID: value = 20; break;
    case CUBLASLT_ALGO_CONFIG_STAGES_ID: value = x.kind >= FAST ? x.kind : 0; break;
    case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME: value = reduction; break;
    case CUBLASLT_ALGO_CONFIG_SPLITK_NUM: value = 1; break;
    default: break;
    }
    const size_t bytes = what == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID ? sizeof(uint16_t) : sizeof value;
    if (n != bytes) {
        fake_refuse_call(CUBLAS_STATUS_INVALID_VALUE, "attribute %d of an algorithm has %zu bytes, not %zu", (int)what,
                         bytes, n);
        abort(); /* callers take it for 0 */
    }
    memcpy(to, &value, n); /* little-endian */
    *written = n;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- running ---- */

/* From the first number to the last. */
static size_t extent(const struct wl_cublaslt_layout *l)
{
    const int64_t last = index_of(l, l->batch - 1, l->rows - 1, l->columns - 1);
    return (size_t)(last + 1) * (l->type == CUDA_R_32F ? 4 : 2);
}

static const char *why_not(const struct product *p, const cublasLtMatmulAlgo_t *a, size_t workspace)
{
    struct algorithm x;
    memcpy(&x, a, sizeof x);
    if (x.magic != MAGIC || x.kind < SLOW) return "an algorithm that may not be taken";
    if (x.shape != shape_of(&p->desc, &p->a, &p->b, &p->c)) return "an algorithm that was found for another product";
    if (!fake_aligned(p->at[0], x.alignment[0]) || !fake_aligned(p->at[1], x.alignment[1]) ||
        !fake_aligned(p->c_at, x.alignment[2]) || !fake_aligned(p->d, x.alignment[3]))
        return "a matrix that is less aligned than the preference says";
    if (!fake_aligned(p->workspace, ALIGNMENT) || workspace < WORKSPACE) return "a workspace too small, or not aligned";
    if (p->desc.epilogue == CUBLASLT_EPILOGUE_BIAS && !fake_aligned(p->desc.bias, 16)) return "no aligned bias";
    if (p->c_at != p->d) return "a sum that is not in place";
    return NULL;
}

static const char *overlapping(const struct product *p)
{
    const size_t a = extent(&p->a), b = extent(&p->b), c = extent(&p->c);
    if (fake_overlap(p->at[0], a, p->d, c) || fake_overlap(p->at[1], b, p->d, c)) return "an operand in the result";
    if (fake_overlap(p->at[0], a, p->workspace, WORKSPACE) || fake_overlap(p->at[1], b, p->workspace, WORKSPACE) ||
        fake_overlap(p->d, c, p->workspace, WORKSPACE))
        return "a workspace in a matrix";
    return NULL;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t d, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t la, const void *b, cublasLtMatrixLayout_t lb, const void *beta,
                              const void *c, cublasLtMatrixLayout_t lc, void *to, cublasLtMatrixLayout_t lto,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t n, CUstream stream)
{
    struct algorithm x;
    memcpy(&x, algorithm, sizeof x);
    const struct product p = { .kind = x.kind,
                               .desc = *d,
                               .a = *la,
                               .b = *lb,
                               .c = *lc,
                               .at = { a, b },
                               .c_at = c,
                               .d = to,
                               .workspace = workspace,
                               .alpha = *(const float *)alpha,
                               .beta = *(const float *)beta };
    const char *why = !h || lc != lto ? "no handle, or two layouts of the result" : why_not(&p, algorithm, n);
    if (!why) why = overlapping(&p);
    if (why) return fake_refuse_call(CUBLAS_STATUS_INVALID_VALUE, "cublasLtMatmul: %s", why);
    return fake_enqueue(stream, multiply, &p, sizeof p) ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}
