#include "cuda/cuda.h"

#include <stdlib.h>

#define FN(field, name)                                        \
    {                                                          \
        offsetof(struct wl_cuda, field), "cu" name, NULL, true \
    }
static const struct wl_symbol symbols[] = {
    FN(Init, "Init"),
    FN(GetErrorString, "GetErrorString"),
    { offsetof(struct wl_cuda, DriverGetVersion), "cuDriverGetVersion", NULL, false },
    FN(DeviceGetByPCIBusId, "DeviceGetByPCIBusId"),
    FN(DeviceGetAttribute, "DeviceGetAttribute"),
    FN(DevicePrimaryCtxRetain, "DevicePrimaryCtxRetain"),
    FN(DevicePrimaryCtxRelease, "DevicePrimaryCtxRelease_v2"),
    FN(CtxSetCurrent, "CtxSetCurrent"),
    FN(ModuleLoadData, "ModuleLoadData"),
    FN(ModuleUnload, "ModuleUnload"),
    FN(ModuleGetFunction, "ModuleGetFunction"),
    FN(StreamCreate, "StreamCreate"),
    FN(StreamDestroy, "StreamDestroy_v2"),
    FN(StreamSynchronize, "StreamSynchronize"),
    FN(EventCreate, "EventCreate"),
    FN(EventDestroy, "EventDestroy_v2"),
    FN(EventRecord, "EventRecord"),
    FN(EventSynchronize, "EventSynchronize"),
    FN(EventElapsedTime, "EventElapsedTime"),
    FN(LaunchKernel, "LaunchKernel"),
};

int wl_cuda_open(struct wl_cuda *out, const char *path, struct wl_arena *a, struct wl_err *e)
{
    static const char *const names[] = { "libcuda.so.1", NULL };
    const struct wl_library_spec spec = { .path = path ? path : getenv("CUDA_DRIVER_LIBRARY"),
                                          .names = names,
                                          .symbols = symbols,
                                          .n = sizeof symbols / sizeof *symbols };
    return wl_library_open(&out->library, &spec, out, a, e);
}

int wl_cuda_major(const struct wl_cuda *cuda)
{
    int version; /* 1000 major + 10 minor */
    if (!cuda->DriverGetVersion || cuda->DriverGetVersion(&version) != CUDA_SUCCESS) return 0;
    return version / 1000;
}

int wl_cuda_fail(const struct wl_cuda *cuda, const char *call, CUresult rc, struct wl_err *e)
{
    const char *why = NULL;
    if (cuda->GetErrorString(rc, &why) != CUDA_SUCCESS) why = NULL;
    bool absent = rc == CUDA_ERROR_NO_DEVICE || rc == CUDA_ERROR_INVALID_DEVICE;
    return wl_fail(e, absent ? WL_EUNAVAIL : WL_ELIB, "%s: cu%s: %s (%d)", cuda->library.path, call,
                   why ? why : "unknown error", rc);
}
