/* Own kernels: nvcc turns each file of kernels/ into a fatbin, and kernels.fatbin is these one after the other. */
#include "cuda/kernels_file.h"
#include "nn/gpu/internal.h"

#include <string.h>

/* ---- its images ---- */

/* A copy, which is aligned and ends with a 0. *out is NULL where the image is for other GPUs, or for newer drivers. */
static int load_image(struct wl_gpu *g, const uint8_t *at, size_t n, CUmodule *out, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    void *image = wl_try_alloc(a, n + 1, 16, "kernels", e);
    int rc = image ? 0 : WL_ENOMEM;
    if (!rc) memcpy(image, at, n);
    const CUresult cu = rc ? CUDA_SUCCESS : g->cuda.ModuleLoadData(out, image);
    wl_arena_free(a);
    if (cu == CUDA_ERROR_NO_BINARY_FOR_GPU || cu == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) return *out = NULL, 0;
    return cu ? wl_cuda_fail(&g->cuda, "ModuleLoadData", cu, e) : rc;
}

/* Machine code is read by drivers of the compiler's major version of CUDA and by newer ones: nvcc 13 marks its own (the
 * ELF's ABI 8), and its PTX (9.0), as no driver of CUDA 12 knows them. */
static int none_loads(const struct wl_gpu *g, struct wl_err *e)
{
    const int major = wl_cuda_major(&g->cuda);
    wl_fail(e, WL_EUNAVAIL, "no kernels for %s (compute capability %d.%d) in it", g->name, g->capability / 10,
            g->capability % 10);
    if (major && major < 13 && e)
        wl_fail(e, WL_EUNAVAIL, "%s that its driver, of CUDA %d, loads; what nvcc 13 makes needs driver 580 or newer",
                wl_strdup(g->arena, e->msg), major);
    return WL_EUNAVAIL;
}

static void unload(void *gpu)
{
    struct wl_gpu *g = gpu;
    for (size_t i = 0; i < g->n_modules; i++) g->cuda.ModuleUnload(g->modules[i]);
}

int wl_gpu_load_kernels(struct wl_gpu *g, struct wl_err *e)
{
    struct wl_file_mapping file;
    const char *path = NULL;
    size_t cap = 0;
    int rc = wl_gpu_kernels_find(&path, g->arena, e);
    if (!rc) rc = wl_file_map(path, "the kernels", &file, g->arena, e);
    if (rc) return rc;
    wl_defer(g->arena, unload, g);
    for (size_t at = 0; at < file.n && !rc;) {
        size_t n;
        rc = wl_gpu_image_bytes(file.p + at, file.n - at, &n, e);
        if (rc) break;
        WL_GROW(g->arena, g->modules, g->n_modules, cap);
        rc = load_image(g, file.p + at, n, &g->modules[g->n_modules], e);
        if (!rc && g->modules[g->n_modules]) g->n_modules++;
        at += n;
    }
    if (!rc && !file.n) rc = wl_fail(e, WL_EUNAVAIL, "empty");
    if (!rc && !g->n_modules) rc = none_loads(g, e);
    return rc ? wl_err_prefix(e, "%s", path) : 0;
}

/* ---- kernels ---- */

int wl_gpu_kernel(struct wl_gpu *g, const char *name, struct wl_gpu_kernel *out, struct wl_err *e)
{
    *out = (struct wl_gpu_kernel) { .gpu = g, .name = wl_strdup(g->arena, name) };
    for (size_t i = 0; i < g->n_modules; i++) {
        const CUresult rc = g->cuda.ModuleGetFunction(&out->function, g->modules[i], name);
        if (rc == CUDA_SUCCESS) return 0;
        if (rc != CUDA_ERROR_NOT_FOUND) return wl_cuda_fail(&g->cuda, "ModuleGetFunction", rc, e);
    }
    return wl_fail(e, WL_ELIB, "kernels.fatbin has no kernel %s: it is of another version", name);
}

int wl_gpu_kernel_of(struct wl_gpu *g, const char *name, enum wl_dtype t, struct wl_gpu_kernel *out, struct wl_err *e)
{
    return wl_gpu_kernel(g, wl_strf(g->arena, "%s_%s", name, wl_dtype_name(t)), out, e);
}

struct wl_gpu_grid wl_gpu_grid_for(const struct wl_gpu *g, int64_t n, unsigned threads, unsigned each)
{
    enum { RESIDENT = 2048, ROUNDS = 4 }; /* threads of a multiprocessor */
    const int64_t block = (int64_t)threads * each, wanted = (n + block - 1) / block;
    const int64_t most = (int64_t)g->multiprocessors * (RESIDENT / threads) * ROUNDS;
    const int64_t x = wanted < most ? wanted : most;
    return (struct wl_gpu_grid) { .x = (unsigned)(x ? x : 1), .threads = threads };
}

int wl_gpu_launch(const struct wl_gpu_kernel *k, const struct wl_gpu_grid *grid, const void *args, size_t bytes,
                  struct wl_err *e)
{
    enum { WITHOUT_ASKING = 48 << 10 };
    const struct wl_cuda *cuda = &k->gpu->cuda;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)args, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      CU_LAUNCH_PARAM_END };
    CUresult rc = CUDA_SUCCESS;
    if (grid->shared_bytes > WITHOUT_ASKING)
        rc = cuda->FuncSetAttribute(k->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    (int)grid->shared_bytes);
    if (!rc)
        rc = cuda->LaunchKernel(k->function, grid->x ? grid->x : 1, grid->y ? grid->y : 1, grid->z ? grid->z : 1,
                                grid->threads, 1, 1, grid->shared_bytes, k->gpu->compute, NULL, extra);
    if (!rc) return 0;
    wl_cuda_fail(cuda, "LaunchKernel", rc, e);
    return wl_err_prefix(e, "kernel %s", k->name);
}
