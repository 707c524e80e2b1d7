#include "cuda/libraries.h"
#include "nn/gpu/dnn/internal.h"

#include <string.h>

#define FN(field, required)                                                \
    {                                                                      \
        offsetof(struct wl_gpu_dnn, field), "cudnn" #field, NULL, required \
    }
/* Version 8 lacks GetLastErrorString: its version says more than that. */
static const struct wl_symbol symbols[] = {
    FN(GetVersion, true),
    FN(GetErrorString, true),
    FN(GetLastErrorString, false),
    FN(Create, true),
    FN(Destroy, true),
    FN(SetStream, true),
    FN(BackendCreateDescriptor, true),
    FN(BackendDestroyDescriptor, true),
    FN(BackendSetAttribute, true),
    FN(BackendGetAttribute, true),
    FN(BackendFinalize, true),
    FN(BackendExecute, true),
};

enum { DESCRIBES_DEVICES = 90800 };

static int open_library(struct wl_gpu_dnn *d, int cuda, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_gpu_library spec = wl_gpu_library_of(WL_GPU_CUDNN, cuda, symbols, WL_COUNT(symbols));
    int rc = wl_gpu_library_open(&d->library, &spec, cuda, d, a, e);
    if (rc) return rc;
    d->version = wl_gpu_library_version(WL_GPU_CUDNN, d->GetVersion());
    return wl_gpu_library_check(&spec, &d->library, d->version, e);
}

const char *wl_gpu_dnn_version_text(const struct wl_gpu_dnn *d, struct wl_arena *a)
{
    return wl_strf(a, "%d.%d.%d", d->version / 10000, d->version / 100 % 100, d->version % 100);
}

int wl_gpu_dnn_fail(const struct wl_gpu_dnn *d, const char *what, cudnnStatus_t status, struct wl_err *e)
{
    char detail[512] = "";
    if (d->GetLastErrorString) d->GetLastErrorString(detail, sizeof detail);
    return wl_fail(e, WL_ELIB, "%s: %s: %s%s%s", d->library.path, what, d->GetErrorString(status), *detail ? ": " : "",
                   detail);
}

static void close_handle(void *dnn)
{
    const struct wl_gpu_dnn *d = dnn;
    d->Destroy(d->handle);
}

static int open_handle(struct wl_gpu_dnn *d, CUstream stream, struct wl_arena *a, struct wl_err *e)
{
    cudnnStatus_t status = d->Create(&d->handle);
    if (status) return wl_gpu_dnn_fail(d, "cudnnCreate", status, e);
    wl_defer(a, close_handle, d);
    status = d->SetStream(d->handle, stream);
    return status ? wl_gpu_dnn_fail(d, "cudnnSetStream", status, e) : 0;
}

int wl_gpu_dnn_open(struct wl_gpu *g, struct wl_err *e)
{
    if (g->dnn) return 0;
    struct wl_gpu_dnn *d = wl_new(g->arena, struct wl_gpu_dnn);
    int rc = open_library(d, wl_cuda_major(&g->cuda), g->arena, e);
    if (!rc) rc = open_handle(d, g->compute, g->arena, e);
    if (!rc) g->dnn = d;
    return rc;
}

static int check_describes(const struct wl_gpu_dnn *d, struct wl_arena *a, struct wl_err *e)
{
    if (d->version >= DESCRIBES_DEVICES) return 0;
    return wl_fail(e, WL_EUNAVAIL, "%s is version %s; descriptions of devices need 9.8", d->library.path,
                   wl_gpu_dnn_version_text(d, a));
}

int wl_gpu_dnn_describe(struct wl_gpu_dnn **out, const char *json, struct wl_arena *a, struct wl_err *e)
{
    struct wl_gpu_dnn *d = wl_new(a, struct wl_gpu_dnn);
    int rc = open_library(d, 0, a, e);
    if (!rc) rc = check_describes(d, a, e);
    if (rc) return rc;
    struct wl_gpu_dnn_build b = { .dnn = d, .arena = a, .e = e };
    cudnnBackendDescriptor_t device = wl_gpu_dnn_create(&b, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    wl_gpu_dnn_set(&b, device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, (int64_t)strlen(json), json);
    wl_gpu_dnn_finalize(&b, device, "the description of a device");
    d->device = device;
    *out = d;
    return b.rc;
}

int wl_gpu_dnn_description(const struct wl_gpu_dnn *d, char **json, struct wl_arena *a, struct wl_err *e)
{
    int rc = check_describes(d, a, e);
    if (rc) return rc;
    struct wl_gpu_dnn_build b = { .dnn = d, .arena = a, .e = e };
    cudnnBackendDescriptor_t device = wl_gpu_dnn_create(&b, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    wl_gpu_dnn_set(&b, device, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &d->handle);
    wl_gpu_dnn_finalize(&b, device, "the description of the GPU");
    *json = wl_gpu_dnn_text(&b, device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
    return b.rc;
}
