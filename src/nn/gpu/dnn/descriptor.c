#include "nn/gpu/dnn/internal.h"

struct owned {
    const struct wl_gpu_dnn *dnn;
    cudnnBackendDescriptor_t descriptor;
};

static void destroy(void *owned)
{
    const struct owned *o = owned;
    o->dnn->BackendDestroyDescriptor(o->descriptor);
}

static void fail(struct wl_gpu_dnn_build *b, const char *what, cudnnStatus_t status)
{
    if (status) b->rc = wl_gpu_dnn_fail(b->dnn, what, status, b->e);
}

cudnnBackendDescriptor_t wl_gpu_dnn_create(struct wl_gpu_dnn_build *b, int type)
{
    struct owned *o = wl_new(b->arena, struct owned);
    o->dnn = b->dnn;
    if (b->rc) return NULL;
    fail(b, "a descriptor", b->dnn->BackendCreateDescriptor(type, &o->descriptor));
    if (!b->rc) wl_defer(b->arena, destroy, o);
    return o->descriptor;
}

void wl_gpu_dnn_set(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, int name, int type, int64_t n,
                    const void *v)
{
    if (!b->rc) fail(b, "an attribute", b->dnn->BackendSetAttribute(d, name, type, n, v));
}

void wl_gpu_dnn_finalize(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, const char *what)
{
    if (!b->rc) fail(b, what, b->dnn->BackendFinalize(d));
}

void wl_gpu_dnn_set_one(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, int name, int type, int v)
{
    wl_gpu_dnn_set(b, d, name, type, 1, &v);
}

void wl_gpu_dnn_set_int64(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, int name, int64_t v)
{
    wl_gpu_dnn_set(b, d, name, CUDNN_TYPE_INT64, 1, &v);
}

void wl_gpu_dnn_set_descriptor(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, int name,
                               cudnnBackendDescriptor_t v)
{
    wl_gpu_dnn_set(b, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &v);
}

void wl_gpu_dnn_set_device(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, int handle_name, int device_name)
{
    if (b->dnn->device)
        wl_gpu_dnn_set_descriptor(b, d, device_name, b->dnn->device);
    else
        wl_gpu_dnn_set(b, d, handle_name, CUDNN_TYPE_HANDLE, 1, &b->dnn->handle);
}

int64_t wl_gpu_dnn_get(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, int name, int type, int64_t room,
                       void *v)
{
    int64_t n = 0;
    if (!b->rc) fail(b, "an attribute", b->dnn->BackendGetAttribute(d, name, type, room, &n, v));
    return b->rc ? 0 : n;
}

char *wl_gpu_dnn_text(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, int name)
{
    const int64_t n = wl_gpu_dnn_get(b, d, name, CUDNN_TYPE_CHAR, 0, NULL);
    char *text = wl_alloc(b->arena, (size_t)n + 1);
    wl_gpu_dnn_get(b, d, name, CUDNN_TYPE_CHAR, n, text);
    return text;
}
