/* cuFFT, opened at run time, and its plans. */
#include "cuda/libraries.h"
#include "nn/gpu/fft/api.h"
#include "nn/gpu/fft/fft.h"

#define WL_CUFFT_FIELD(result, name, parameters) result(*name) parameters;
struct wl_gpu_fft {
    struct wl_library library;
    int version;
    WL_CUFFT_FUNCTIONS(WL_CUFFT_FIELD)
};
#undef WL_CUFFT_FIELD

struct wl_gpu_fft_plan {
    const struct wl_gpu_fft *fft;
    cufftHandle handle;
    bool inverse;
};

/* ---- the library ---- */

#define FN(result, name, parameters) { offsetof(struct wl_gpu_fft, name), "cufft" #name, NULL, true },
static const struct wl_symbol symbols[] = { WL_CUFFT_FUNCTIONS(FN) };
#undef FN

/* cuFFT has no texts of its errors. */
static const char *name_of(cufftResult rc)
{
#define CASE(name, value) \
    case name: return #name;
    switch (rc) {
        WL_CUFFT_ERRORS(CASE)
    default: return "unknown error";
    }
#undef CASE
}

static int fail(const struct wl_gpu_fft *f, const char *call, cufftResult rc, struct wl_err *e)
{
    return wl_fail(e, WL_ELIB, "%s: cufft%s: %s (%d)", f->library.path, call, name_of(rc), rc);
}

/* Calls a function of the library, in a function that returns a code and has a `struct wl_err *e`. */
#define CALL(f, name, ...)                                       \
    do {                                                         \
        cufftResult rc_ = (f)->name(__VA_ARGS__);                \
        if (rc_ != CUFFT_SUCCESS) return fail(f, #name, rc_, e); \
    } while (0)

static int load(struct wl_gpu_fft *f, int cuda, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_gpu_library spec = wl_gpu_library_of(WL_GPU_CUFFT, cuda, symbols, WL_COUNT(symbols));
    int version = 0;
    int rc = wl_gpu_library_open(&f->library, &spec, cuda, f, a, e);
    if (rc) return rc;
    CALL(f, GetVersion, &version);
    f->version = wl_gpu_library_version(WL_GPU_CUFFT, (size_t)version);
    return wl_gpu_library_check(&spec, &f->library, f->version, e);
}

static int library_of(struct wl_gpu *g, struct wl_gpu_fft **out, struct wl_err *e)
{
    *out = g->fft;
    if (g->fft) return 0;
    struct wl_gpu_fft *f = wl_new(g->arena, struct wl_gpu_fft);
    int rc = load(f, wl_cuda_major(&g->cuda), g->arena, e);
    if (!rc) *out = g->fft = f;
    return rc;
}

int wl_gpu_fft_find(int cuda, struct wl_gpu_library_facts *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_gpu_fft f;
    int rc = load(&f, cuda, a, e);
    if (!rc) *out = (struct wl_gpu_library_facts) { .path = f.library.path, .version = f.version };
    return rc;
}

/* ---- plans ---- */

static void release(void *of)
{
    const struct wl_gpu_fft_plan *plan = of;
    plan->fft->Destroy(plan->handle);
}

static int make(const struct wl_gpu_fft_plan *plan, const struct wl_gpu_fft_size *v, size_t *workspace_bytes,
                struct wl_err *e)
{
    long long n[] = { v->h, v->w };
    CALL(plan->fft, SetAutoAllocation, plan->handle, 0);
    CALL(plan->fft, MakePlanMany64, plan->handle, (int)WL_COUNT(n), n, NULL, 1, 0, NULL, 1, 0,
         v->inverse ? CUFFT_C2R : CUFFT_R2C, v->batch, workspace_bytes);
    return 0;
}

int wl_gpu_fft_plan(struct wl_gpu *g, const struct wl_gpu_fft_size *size, const struct wl_gpu_fft_plan **out,
                    size_t *workspace_bytes, struct wl_err *e)
{
    struct wl_gpu_fft *f;
    int rc = library_of(g, &f, e);
    if (rc) return rc;
    struct wl_gpu_fft_plan *plan = wl_new(g->arena, struct wl_gpu_fft_plan);
    plan->fft = f;
    plan->inverse = size->inverse;
    CALL(f, Create, &plan->handle);
    wl_defer(g->arena, release, plan);
    rc = make(plan, size, workspace_bytes, e);
    if (rc)
        return wl_err_prefix(e, "%lld planes of %lld x %lld", (long long)size->batch, (long long)size->h,
                             (long long)size->w);
    CALL(f, SetStream, plan->handle, g->compute);
    *out = plan;
    return 0;
}

int wl_gpu_fft_run(const struct wl_gpu_fft_plan *plan, void *from, void *to, void *workspace, struct wl_err *e)
{
    CALL(plan->fft, SetWorkArea, plan->handle, workspace ? workspace : to); /* of 0 bytes: any address but NULL */
    if (plan->inverse)
        CALL(plan->fft, ExecC2R, plan->handle, from, to);
    else
        CALL(plan->fft, ExecR2C, plan->handle, from, to);
    return 0;
}
