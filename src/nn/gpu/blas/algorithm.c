/* Which of cublasLt's algorithms a product takes: the one that was the fastest when measured, by its name in the table
 * of choices, else the first that the library's heuristic gives. */
#include "nn/gpu/blas/internal.h"

enum {
    WORKSPACE_BYTES = 32 << 20, /* what cuBLAS itself takes on Hopper; products of a step share the plan's arena */
    ASKED_FOR = 12,             /* some of which may not be taken */
};

/* ---- what the heuristic is asked ---- */

/* Of every matrix of the batch. */
static uint32_t alignment_of(const struct wl_gpu_matrix *m, int64_t batch)
{
    uint32_t bytes = WL_GPU_BLAS_ALIGNMENT;
    const size_t stride = (size_t)wl_gpu_matrix_stride(m) * wl_dtype_bytes(m->buf->dtype);
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
    uint16_t narrow = 0; /* what cublasLt.h calls a uint16_t: another size is refused */
    const bool is_narrow = attribute == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID;
    size_t written;
    b->MatmulAlgoConfigGetAttribute(a, attribute, is_narrow ? (void *)&narrow : &value,
                                    is_narrow ? sizeof narrow : sizeof value, &written);
    return is_narrow ? narrow : value;
}

/* Parts of a sum that are added in place are added in any order. */
static bool may_take(const struct wl_gpu_blas *b, const cublasLtMatmulHeuristicResult_t *r)
{
    const uint32_t reduction = config(b, &r->algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
    return r->state == CUBLAS_STATUS_SUCCESS && r->workspaceSize <= WORKSPACE_BYTES &&
           !(reduction & CUBLASLT_REDUCTION_SCHEME_INPLACE);
}

/* ---- its answers ---- */

static void add_setting(struct wl_text *t, const struct wl_gpu_blas *b, const cublasLtMatmulAlgo_t *a, int attribute,
                        const char *name)
{
    const uint32_t value = config(b, a, attribute);
    if (value) wl_text_addf(t, ", %s %u", name, value);
}

static const char *name_of(const struct wl_gpu_blas *b, const cublasLtMatmulAlgo_t *algorithm, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    const uint32_t parts = config(b, algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
    wl_text_addf(&t, "cublasLt %u", config(b, algorithm, CUBLASLT_ALGO_CONFIG_ID));
    add_setting(&t, b, algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID, "tile");
    add_setting(&t, b, algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID, "stages");
    add_setting(&t, b, algorithm, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, "swizzling");
    add_setting(&t, b, algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, "option");
    add_setting(&t, b, algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, "cluster");
    if (parts > 1) wl_text_addf(&t, ", %u parts", parts);
    return t.s;
}

static int none_found(const struct wl_gpu_product_call *x, const struct wl_gpu_product *of, cublasStatus_t status,
                      struct wl_err *e)
{
    const struct wl_gpu_matrix *a = &of->a, *b = &of->b;
    return wl_fail(e, WL_ELIB,
                   "%s: no algorithm with one order of sums for %s [%lld,%lld]%s by %s [%lld,%lld]%s to %s: %s (%d)",
                   x->blas->library.path, wl_dtype_name(a->buf->dtype), (long long)a->rows, (long long)a->columns,
                   a->transposed ? "'" : "", wl_dtype_name(b->buf->dtype), (long long)b->rows, (long long)b->columns,
                   b->transposed ? "'" : "", wl_dtype_name(of->c.buf->dtype), x->blas->GetStatusString(status), status);
}

/* The algorithm of that name; n: there is none. */
static size_t named(const struct wl_gpu_algorithm *v, size_t n, const char *name)
{
    size_t i = 0;
    while (i < n && !wl_str_eq(v[i].name, name)) i++;
    return i;
}

static void add(const struct wl_gpu_product_call *x, const cublasLtMatmulHeuristicResult_t *r,
                struct wl_gpu_algorithm *v, size_t *n, struct wl_arena *a)
{
    const char *name = name_of(x->blas, &r->algo, a);
    if (named(v, *n, name) < *n) return; /* it could not be asked for by its name */
    v[(*n)++] = (struct wl_gpu_algorithm) {
        .algorithm = r->algo,
        .workspace_bytes = r->workspaceSize,
        .name = name,
    };
}

static int ask(const struct wl_gpu_product_call *x, const struct wl_gpu_product *of, cublasLtMatmulPreference_t p,
               struct wl_gpu_algorithm *v, size_t *n, struct wl_arena *a, struct wl_err *e)
{
    cublasLtMatmulHeuristicResult_t results[ASKED_FOR];
    int found = 0;
    cublasStatus_t status = x->blas->MatmulAlgoGetHeuristic(x->blas->handle, x->desc, x->left, x->right, x->c, x->c, p,
                                                            ASKED_FOR, results, &found);
    *n = 0;
    for (int i = 0; i < found && !status && *n < WL_GPU_PRODUCT_WAYS; i++)
        if (may_take(x->blas, &results[i])) add(x, &results[i], v, n, a);
    return *n ? 0 : none_found(x, of, status ? status : CUBLAS_STATUS_NOT_SUPPORTED, e);
}

int wl_gpu_product_algorithms(const struct wl_gpu_product_call *x, const struct wl_gpu_product *of,
                              struct wl_gpu_algorithm out[WL_GPU_PRODUCT_WAYS], size_t *n, struct wl_arena *a,
                              struct wl_err *e)
{
    cublasLtMatmulPreference_t p;
    WL_CUBLASLT_CALL(x->blas, MatmulPreferenceCreate, &p);
    int rc = prefer(x->blas, p, of, e);
    if (!rc) rc = ask(x, of, p, out, n, a, e);
    x->blas->MatmulPreferenceDestroy(p);
    return rc;
}

/* ---- the table of choices ---- */

static void add_matrix(struct wl_text *t, const struct wl_gpu_matrix *m, int64_t batch)
{
    wl_text_addf(t, "%s [%lld,%lld]%s", wl_dtype_name(m->buf->dtype), (long long)m->rows, (long long)m->columns,
                 m->transposed ? "'" : "");
    if (wl_gpu_matrix_ld(m) != m->columns) wl_text_addf(t, " of rows of %lld", (long long)wl_gpu_matrix_ld(m));
    if (batch > 1) wl_text_addf(t, " every %lld", (long long)wl_gpu_matrix_stride(m));
}

/* What decides which algorithms there are, and how fast. */
static const char *question_of(const struct wl_gpu_product *of, const struct wl_gpu_blas *b, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_add(&t, of->tf32 ? "product in tf32 " : "product ");
    if (of->batch > 1) wl_text_addf(&t, "%lld x ", (long long)of->batch);
    add_matrix(&t, &of->a, of->batch);
    wl_text_add(&t, " by ");
    add_matrix(&t, &of->b, of->batch);
    wl_text_add(&t, " to ");
    add_matrix(&t, &of->c, of->batch);
    wl_text_addf(&t, "%s%s, cublasLt %d.%d.%d", of->bias ? " bias" : "", of->add ? " add" : "", b->version / 10000,
                 b->version / 100 % 100, b->version % 100);
    return t.s;
}

static void open_question(struct wl_program *p, const struct wl_gpu_product *of, const char *question)
{
    struct wl_gpu_open_product **at = wl_gpu_of(p)->open_products;
    while (at && *at && !wl_str_eq((*at)->question, question)) at = &(*at)->next;
    if (!at || *at) return;
    *at = wl_new(p->arena, struct wl_gpu_open_product);
    **at = (struct wl_gpu_open_product) { .of = *of, .question = question };
}

/* An answer that the heuristic does not give any more counts as none. */
int wl_gpu_product_choose(struct wl_program *p, const struct wl_gpu_product *of, const struct wl_gpu_product_call *x,
                          struct wl_gpu_algorithm *out, const struct wl_choice **choice, struct wl_err *e)
{
    struct wl_gpu_algorithm v[WL_GPU_PRODUCT_WAYS];
    size_t n = 0, at = 0;
    *choice = NULL;
    int rc = wl_gpu_product_algorithms(x, of, v, &n, p->arena, e);
    if (rc) return rc;
    if (p->conv == WL_CONV_AUTO && p->choices) {
        const char *question = question_of(of, x->blas, p->arena);
        *choice = wl_choices_find(p->choices, question);
        at = *choice ? named(v, n, (*choice)->answer) : n;
        if (at == n) *choice = NULL, at = 0;
        if (!*choice && n > 1) open_question(p, of, question);
    }
    *out = v[at];
    return 0;
}

/* ---- trials ---- */

struct wl_gpu_product_ways {
    struct wl_gpu_product_call call;
    struct wl_gpu_algorithm v[WL_GPU_PRODUCT_WAYS];
};

int wl_gpu_product_trial_open(struct wl_gpu *g, const struct wl_gpu_product *of, struct wl_gpu_product_trial *out,
                              struct wl_arena *a, struct wl_err *e)
{
    struct wl_gpu_product_ways *ways = wl_new(a, struct wl_gpu_product_ways);
    *out = (struct wl_gpu_product_trial) { .ways = ways };
    int rc = wl_gpu_product_describe(g, of, &ways->call, a, e);
    if (!rc) rc = wl_gpu_product_algorithms(&ways->call, of, ways->v, &out->n, a, e);
    for (size_t i = 0; i < out->n && !rc; i++) {
        out->way[i].name = ways->v[i].name;
        out->way[i].workspace_bytes = ways->v[i].workspace_bytes;
    }
    return rc;
}

int wl_gpu_product_trial_run(const struct wl_gpu_product_trial *t, size_t way, const struct wl_gpu_product_at *at,
                             struct wl_err *e)
{
    return wl_gpu_product_multiply(&t->ways->call, &t->ways->v[way], at, e);
}

size_t wl_gpu_matrix_bytes(const struct wl_gpu_matrix *m, int64_t batch)
{
    const int64_t others = batch > 1 ? (batch - 1) * wl_gpu_matrix_stride(m) : 0;
    return (size_t)(others + (m->rows - 1) * wl_gpu_matrix_ld(m) + m->columns) * wl_dtype_bytes(m->buf->dtype);
}
