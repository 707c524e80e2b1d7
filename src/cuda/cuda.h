/* The CUDA driver, opened at run time: the functions that we use. */
#ifndef WL_CUDA_CUDA_H
#define WL_CUDA_CUDA_H

#include "base/library.h"
#include "cuda/api.h"

/* Functions by their names in the library, without "cu" and the version suffix. */
struct wl_cuda {
    struct wl_library library;
    CUresult (*Init)(unsigned flags);
    CUresult (*GetErrorString)(CUresult, const char **);
    CUresult (*DeviceGetByPCIBusId)(CUdevice *, const char *);
    CUresult (*DeviceGetAttribute)(int *, int attribute, CUdevice);
    CUresult (*DevicePrimaryCtxRetain)(CUcontext *, CUdevice);
    CUresult (*DevicePrimaryCtxRelease)(CUdevice);
    CUresult (*CtxSetCurrent)(CUcontext);
    CUresult (*ModuleLoadData)(CUmodule *, const void *image);
    CUresult (*ModuleUnload)(CUmodule);
    CUresult (*ModuleGetFunction)(CUfunction *, CUmodule, const char *);
    CUresult (*StreamCreate)(CUstream *, unsigned flags);
    CUresult (*StreamDestroy)(CUstream);
    CUresult (*StreamSynchronize)(CUstream);
    CUresult (*EventCreate)(CUevent *, unsigned flags);
    CUresult (*EventDestroy)(CUevent);
    CUresult (*EventRecord)(CUevent, CUstream);
    CUresult (*EventSynchronize)(CUevent);
    CUresult (*EventElapsedTime)(float *ms, CUevent from, CUevent to);
    CUresult (*LaunchKernel)(CUfunction, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared_bytes, CUstream, void **parameters, void **extra);

    /* For training; NULL where the driver lacks one (wl_cuda_trains). */
    CUresult (*DriverGetVersion)(int *);
    CUresult (*DeviceGet)(CUdevice *, int);
    CUresult (*DeviceGetCount)(int *);
    CUresult (*DeviceGetName)(char *, int, CUdevice);
    CUresult (*DeviceGetUuid)(CUuuid *, CUdevice);
    CUresult (*DeviceGetPCIBusId)(char *, int, CUdevice);
    CUresult (*DeviceTotalMem)(size_t *, CUdevice);
    CUresult (*MemGetInfo)(size_t *free, size_t *total);
    CUresult (*MemAlloc)(CUdeviceptr *, size_t);
    CUresult (*MemFree)(CUdeviceptr);
    CUresult (*MemHostAlloc)(void **, size_t, unsigned flags);
    CUresult (*MemFreeHost)(void *);
    CUresult (*MemHostRegister)(void *, size_t, unsigned flags);
    CUresult (*MemHostUnregister)(void *);
    CUresult (*MemcpyHtoDAsync)(CUdeviceptr, const void *, size_t, CUstream);
    CUresult (*MemcpyDtoHAsync)(void *, CUdeviceptr, size_t, CUstream);
    CUresult (*MemcpyDtoDAsync)(CUdeviceptr, CUdeviceptr, size_t, CUstream);
    CUresult (*MemsetD8Async)(CUdeviceptr, unsigned char, size_t, CUstream);
    CUresult (*FuncSetAttribute)(CUfunction, int attribute, int value);
    CUresult (*StreamWaitEvent)(CUstream, CUevent, unsigned flags);
    CUresult (*EventRecordWithFlags)(CUevent, CUstream, unsigned flags);
    CUresult (*LaunchHostFunc)(CUstream, CUhostFn *, void *);
    CUresult (*StreamBeginCapture)(CUstream, int mode);
    CUresult (*StreamEndCapture)(CUstream, CUgraph *);
    CUresult (*GraphInstantiateWithFlags)(CUgraphExec *, CUgraph, unsigned long long flags);
    CUresult (*GraphLaunch)(CUgraphExec, CUstream);
    CUresult (*GraphExecDestroy)(CUgraphExec);
    CUresult (*GraphDestroy)(CUgraph);
};

/* Opens libcuda: `path`, else $CUDA_DRIVER_LIBRARY, else libcuda.so.1. Closed with the arena. WL_EUNAVAIL: not found;
 * WL_ELIB: a function is missing. */
int wl_cuda_open(struct wl_cuda *out, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The major version of CUDA that the driver serves; 0: not known. */
int wl_cuda_major(const struct wl_cuda *cuda);

/* Has the driver what training needs? It is asked for after cuInit. WL_EUNAVAIL: it is older than CUDA 12.0; WL_ELIB: a
 * function is missing. */
int wl_cuda_trains(const struct wl_cuda *cuda, struct wl_err *e) WL_MUST_CHECK;

/* The error of a failed call, with CUDA's text: WL_EUNAVAIL if there is no such GPU, WL_ENOMEM, else WL_ELIB. */
int wl_cuda_fail(const struct wl_cuda *cuda, const char *call, CUresult rc, struct wl_err *e);

/* Calls a function of the driver, in a function that returns a code and has a `struct wl_err *e`. */
#define WL_CUDA_CALL(cuda, name, ...)                                        \
    do {                                                                     \
        CUresult rc_ = (cuda)->name(__VA_ARGS__);                            \
        if (rc_ != CUDA_SUCCESS) return wl_cuda_fail((cuda), #name, rc_, e); \
    } while (0)

#endif
