#include "cuda/libraries.h"

#include "base/base.h"

#include <stddef.h>

/* GetStatusString of cublasLt is of 11.4; attributes and types that we use are of 12.0. */
static const struct wl_gpu_file cublaslt[] = {
    { "libcublasLt.so.13", 13, "nvidia-cublas", 130000 },
    { "libcublasLt.so.12", 12, "nvidia-cublas-cu12", 120000 },
    { 0 },
};
/* 9.1 was the first of version 9 in PyTorch's wheels. Version 8 is opened to say that it is too old. For a driver of
 * CUDA 12 the list begins with the second. */
static const struct wl_gpu_file cudnn[] = {
    { "libcudnn.so.9", 13, "nvidia-cudnn-cu13", 90100 },
    { "libcudnn.so.9", 0, "nvidia-cudnn-cu12", 90100 },
    { "libcudnn.so.8", 0, "nvidia-cudnn-cu12", 90100 },
    { 0 },
};
static const struct wl_gpu_file cufft[] = {
    { "libcufft.so.12", 13, "nvidia-cufft", 120000 },
    { "libcufft.so.11", 12, "nvidia-cufft-cu12", 110000 },
    { 0 },
};
/* 2.16 is the first for CUDA 12. The library brings what it needs of CUDA, so that any file serves. */
static const struct wl_gpu_file nccl[] = {
    { "libnccl.so.2", 0, "nvidia-nccl-cu13 (for CUDA 12 -cu12)", 21600 },
    { 0 },
};

static const struct library {
    const char *name;
    const struct wl_gpu_file *files;
    const char *get_version;
    bool fills; /* GetVersion takes a pointer to the version, and returns a status */
} libraries[WL_GPU_LIBRARIES] = {
    [WL_GPU_CUBLASLT] = { "cublasLt", cublaslt, "cublasLtGetVersion", false },
    [WL_GPU_CUDNN] = { "cuDNN", cudnn, "cudnnGetVersion", false },
    [WL_GPU_CUFFT] = { "cuFFT", cufft, "cufftGetVersion", true },
    [WL_GPU_NCCL] = { "NCCL", nccl, "ncclGetVersion", true },
};

struct wl_gpu_library wl_gpu_library_of(enum wl_gpu_library_kind k, int cuda, const struct wl_symbol *symbols, size_t n)
{
    const struct library *l = &libraries[k];
    const bool older = k == WL_GPU_CUDNN && cuda && cuda < 13;
    return (struct wl_gpu_library) { .name = l->name, .files = l->files + older, .symbols = symbols, .n = n };
}

int wl_gpu_library_version(enum wl_gpu_library_kind k, size_t says)
{
    const int v = (int)says;
    switch (k) {
    case WL_GPU_CUDNN: /* 8907 was 8.9.7 before 90100 was 9.1.0; NCCL 2.8 and older alike */
    case WL_GPU_NCCL: return v < 10000 ? v / 1000 * 10000 + v % 1000 : v;
    case WL_GPU_CUFFT: return v / 1000 * 10000 + v % 1000; /* 1000 major + 100 minor + patch */
    case WL_GPU_CUBLASLT:
    case WL_GPU_LIBRARIES: break;
    }
    return v;
}

struct get_version {
    size_t (*returns)(void);
    int (*fills)(int *);
};

static int ask(const struct wl_library *l, const struct get_version *f, size_t *says, struct wl_err *e)
{
    int version = 0, status = 0;
    if (f->returns)
        *says = f->returns();
    else if (!(status = f->fills(&version)))
        *says = (size_t)version;
    return status ? wl_fail(e, WL_ELIB, "%s does not say its version: error %d", l->path, status) : 0;
}

static int find(enum wl_gpu_library_kind k, int cuda, struct wl_gpu_library_facts *out, struct wl_arena *once,
                struct wl_err *e)
{
    const struct library *l = &libraries[k];
    const size_t at = l->fills ? offsetof(struct get_version, fills) : offsetof(struct get_version, returns);
    const struct wl_symbol symbol = { at, l->get_version, NULL, true };
    const struct wl_gpu_library spec = wl_gpu_library_of(k, cuda, &symbol, 1);
    struct get_version f = { 0 };
    struct wl_library opened;
    size_t says = 0;
    int rc = wl_gpu_library_open(&opened, &spec, cuda, &f, once, e);
    if (!rc) rc = ask(&opened, &f, &says, e);
    if (rc) return rc;
    *out = (struct wl_gpu_library_facts) { .path = opened.path, .version = wl_gpu_library_version(k, says) };
    return wl_gpu_library_check(&spec, &opened, out->version, e);
}

int wl_gpu_library_find(enum wl_gpu_library_kind k, int cuda, struct wl_gpu_library_facts *out, struct wl_arena *a,
                        struct wl_err *e)
{
    struct wl_arena *once = wl_arena_new(NULL);
    *out = (struct wl_gpu_library_facts) { 0 };
    int rc = find(k, cuda, out, once, e);
    if (out->path) out->path = wl_strdup(a, out->path);
    wl_arena_free(once);
    return rc;
}
