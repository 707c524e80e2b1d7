/* Own kernels: nvcc turns each file of kernels/ into a fatbin, and kernels.fatbin is these one after the other. */
#include "nn/gpu/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the file ---- */

static char *beside_binary(struct wl_arena *a)
{
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n < 0 ? 0 : n] = 0;
    return wl_path_join(a, wl_path_dir(a, path), "kernels.fatbin");
}

static int find_file(const char **out, struct wl_arena *a, struct wl_err *e)
{
    const char *named = getenv("WATTLAW_KERNELS");
    if (named && *named) {
        *out = named;
        return wl_is_file(named) ? 0 : wl_fail(e, WL_EUNAVAIL, "$WATTLAW_KERNELS: %s is not a file", named);
    }
    const char *const paths[] = { beside_binary(a), WL_GPU_KERNELS_DIR "/kernels.fatbin" };
    for (size_t i = 0; i < WL_COUNT(paths); i++)
        if (wl_is_file(paths[i])) return *out = paths[i], 0;
    return wl_fail(e, WL_EUNAVAIL,
                   "the kernels of back-end gpu are neither %s nor %s: build them where nvcc is (ninja kernels), "
                   "and name the file in WATTLAW_KERNELS",
                   paths[0], paths[1]);
}

/* ---- its images ---- */

/* The head of a fatbin, as nvcc of CUDA 7 to 13 writes it: magic 0xba55ed50, version, bytes of the head, bytes after
 * it. What begins otherwise is one image: PTX, or a cubin. */
struct fatbin_head {
    uint32_t magic;
    uint16_t version, head_bytes;
    uint64_t bytes;
};

static size_t image_bytes(const uint8_t *at, size_t n)
{
    struct fatbin_head h;
    if (n < sizeof h) return n;
    memcpy(&h, at, sizeof h);
    if (h.magic != 0xba55ed50u || h.bytes > n - sizeof h || h.head_bytes + h.bytes > n) return n;
    return h.head_bytes + (size_t)h.bytes;
}

/* A copy, which is aligned and ends with a 0. */
static int load_image(struct wl_gpu *g, const uint8_t *at, size_t n, CUmodule *out, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    void *image = wl_try_alloc(a, n + 1, 16, "kernels", e);
    int rc = image ? 0 : WL_ENOMEM;
    if (!rc) memcpy(image, at, n);
    const CUresult cu = rc ? CUDA_SUCCESS : g->cuda.ModuleLoadData(out, image);
    wl_arena_free(a);
    if (cu == CUDA_ERROR_NO_BINARY_FOR_GPU || cu == CUDA_ERROR_INVALID_IMAGE)
        return wl_fail(e, WL_EUNAVAIL, "no kernels for %s (compute capability %d.%d) in it", g->name,
                       g->capability / 10, g->capability % 10);
    return cu ? wl_cuda_fail(&g->cuda, "ModuleLoadData", cu, e) : rc;
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
    int rc = find_file(&path, g->arena, e);
    if (!rc) rc = wl_file_map(path, "the kernels", &file, g->arena, e);
    if (rc) return rc;
    wl_defer(g->arena, unload, g);
    for (size_t at = 0; at < file.n && !rc;) {
        const size_t n = image_bytes(file.p + at, file.n - at);
        WL_GROW(g->arena, g->modules, g->n_modules, cap);
        rc = load_image(g, file.p + at, n, &g->modules[g->n_modules], e);
        if (!rc) g->n_modules++;
        at += n;
    }
    if (!rc && !g->n_modules) rc = wl_fail(e, WL_EUNAVAIL, "empty");
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
