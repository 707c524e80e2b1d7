#include "cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

#define FN(field, name)                                        \
    {                                                          \
        offsetof(struct wl_cuda, field), "cu" name, NULL, true \
    }
#define OPTIONAL(field, name)                                   \
    {                                                           \
        offsetof(struct wl_cuda, field), "cu" name, NULL, false \
    }
static const struct wl_symbol symbols[] = {
    FN(Init, "Init"),
    FN(GetErrorString, "GetErrorString"),
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
    OPTIONAL(DriverGetVersion, "DriverGetVersion"),
    OPTIONAL(DeviceGet, "DeviceGet"),
    OPTIONAL(DeviceGetCount, "DeviceGetCount"),
    OPTIONAL(DeviceGetName, "DeviceGetName"),
    OPTIONAL(DeviceGetUuid, "DeviceGetUuid"),
    OPTIONAL(DeviceGetPCIBusId, "DeviceGetPCIBusId"),
    OPTIONAL(DeviceTotalMem, "DeviceTotalMem_v2"),
    OPTIONAL(MemGetInfo, "MemGetInfo_v2"),
    OPTIONAL(MemAlloc, "MemAlloc_v2"),
    OPTIONAL(MemFree, "MemFree_v2"),
    OPTIONAL(MemHostAlloc, "MemHostAlloc"),
    OPTIONAL(MemFreeHost, "MemFreeHost"),
    OPTIONAL(MemHostRegister, "MemHostRegister_v2"),
    OPTIONAL(MemHostUnregister, "MemHostUnregister"),
    OPTIONAL(MemcpyHtoDAsync, "MemcpyHtoDAsync_v2"),
    OPTIONAL(MemcpyDtoHAsync, "MemcpyDtoHAsync_v2"),
    OPTIONAL(MemcpyDtoDAsync, "MemcpyDtoDAsync_v2"),
    OPTIONAL(MemsetD8Async, "MemsetD8Async"),
    OPTIONAL(FuncSetAttribute, "FuncSetAttribute"),
    OPTIONAL(StreamWaitEvent, "StreamWaitEvent"),
    OPTIONAL(EventRecordWithFlags, "EventRecordWithFlags"),
    OPTIONAL(LaunchHostFunc, "LaunchHostFunc"),
    OPTIONAL(StreamBeginCapture, "StreamBeginCapture_v2"),
    OPTIONAL(StreamEndCapture, "StreamEndCapture"),
    OPTIONAL(GraphInstantiateWithFlags, "GraphInstantiateWithFlags"),
    OPTIONAL(GraphLaunch, "GraphLaunch"),
    OPTIONAL(GraphExecDestroy, "GraphExecDestroy"),
    OPTIONAL(GraphDestroy, "GraphDestroy"),
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

static const char *missing_function(const struct wl_cuda *cuda)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *function;
        memcpy(&function, (const char *)cuda + symbols[i].at, sizeof function);
        if (!function) return symbols[i].name;
    }
    return NULL;
}

int wl_cuda_trains(const struct wl_cuda *cuda, struct wl_err *e)
{
    enum { LEAST = 12000 };
    int version = 0;
    if (cuda->DriverGetVersion) WL_CUDA_CALL(cuda, DriverGetVersion, &version);
    if (version < LEAST)
        return wl_fail(e, WL_EUNAVAIL,
                       "%s: the driver serves CUDA %d.%d, training needs %d.%d: install NVIDIA's driver 525 or a newer "
                       "one",
                       cuda->library.path, version / 1000, version / 10 % 100, LEAST / 1000, LEAST / 10 % 100);
    const char *missing = missing_function(cuda);
    return missing ? wl_fail(e, WL_ELIB, "%s has no %s, which training needs", cuda->library.path, missing) : 0;
}

/* What to do about errors that are not ours. */
static const struct {
    CUresult rc;
    enum wl_code code;
    const char *advice;
} faults[] = {
    { CUDA_ERROR_OUT_OF_MEMORY, WL_ENOMEM, "" },
    { CUDA_ERROR_NO_DEVICE, WL_EUNAVAIL, "" },
    { CUDA_ERROR_INVALID_DEVICE, WL_EUNAVAIL, "" },
    { CUDA_ERROR_ECC_UNCORRECTABLE, WL_ELIB,
      ": the GPU's memory has an error; reset it (nvidia-smi --gpu-reset) or the machine" },
    { CUDA_ERROR_NVLINK_UNCORRECTABLE, WL_ELIB, ": a link between GPUs has failed" },
    { CUDA_ERROR_ILLEGAL_ADDRESS, WL_ELIB, ": a kernel reached beyond its memory, which is a defect of this program" },
    { CUDA_ERROR_LAUNCH_FAILED, WL_ELIB, ": the GPU has failed; the kernel's log says why (dmesg, \"Xid\")" },
    { CUDA_ERROR_SYSTEM_NOT_READY, WL_EUNAVAIL, ": a service of the driver is not running (nvidia-fabricmanager)" },
    { CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, WL_EUNAVAIL,
      ": libcuda and the kernel's module are of two versions; restart the machine after an update of the driver" },
    { CUDA_ERROR_UNKNOWN, WL_ELIB,
      ": the GPU may have fallen off the bus; the kernel's log says why (dmesg, \"Xid\")" },
};

int wl_cuda_fail(const struct wl_cuda *cuda, const char *call, CUresult rc, struct wl_err *e)
{
    const char *why = NULL, *advice = "";
    enum wl_code code = WL_ELIB;
    if (cuda->GetErrorString(rc, &why) != CUDA_SUCCESS) why = NULL;
    for (size_t i = 0; i < WL_COUNT(faults); i++)
        if (faults[i].rc == rc) code = faults[i].code, advice = faults[i].advice;
    return wl_fail(e, code, "%s: cu%s: %s (%d)%s", cuda->library.path, call, why ? why : "unknown error", rc, advice);
}
