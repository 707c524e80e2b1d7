/* cublasLt, opened at run time. */
#include "cuda/libraries.h"
#include "nn/gpu/blas/internal.h"

#define FN(result, name, parameters) { offsetof(struct wl_gpu_blas, name), "cublasLt" #name, NULL, true },
static const struct wl_symbol symbols[] = { WL_CUBLASLT_FUNCTIONS(FN) };
#undef FN

static void close_handle(void *of)
{
    struct wl_gpu_blas *b = of;
    b->Destroy(b->handle);
}

int wl_gpu_blas_load(struct wl_gpu_blas *b, int cuda, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_gpu_library spec = wl_gpu_library_of(WL_GPU_CUBLASLT, cuda, symbols, WL_COUNT(symbols));
    int rc = wl_gpu_library_open(&b->library, &spec, cuda, b, a, e);
    if (rc) return rc;
    b->version = wl_gpu_library_version(WL_GPU_CUBLASLT, b->GetVersion());
    return wl_gpu_library_check(&spec, &b->library, b->version, e);
}

int wl_gpu_blas_of(struct wl_gpu *g, struct wl_gpu_blas **out, struct wl_err *e)
{
    *out = g->blas;
    if (g->blas) return 0;
    struct wl_gpu_blas *b = wl_new(g->arena, struct wl_gpu_blas);
    int rc = wl_gpu_blas_load(b, wl_cuda_major(&g->cuda), g->arena, e);
    if (rc) return rc;
    WL_CUBLASLT_CALL(b, Create, &b->handle);
    wl_defer(g->arena, close_handle, b);
    *out = g->blas = b;
    return 0;
}

int wl_gpu_blas_find(int cuda, struct wl_gpu_library_facts *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_gpu_blas b;
    int rc = wl_gpu_blas_load(&b, cuda, a, e);
    if (!rc) *out = (struct wl_gpu_library_facts) { .path = b.library.path, .version = b.version };
    return rc;
}

int wl_gpu_blas_fail(const struct wl_gpu_blas *b, const char *call, cublasStatus_t status, struct wl_err *e)
{
    return wl_fail(e, WL_ELIB, "%s: cublasLt%s: %s (%d)", b->library.path, call, b->GetStatusString(status), status);
}
