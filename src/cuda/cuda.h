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
    CUresult (*DriverGetVersion)(int *); /* (optional) */
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
};

/* Opens libcuda: `path`, else $CUDA_DRIVER_LIBRARY, else libcuda.so.1. Closed with the arena. WL_EUNAVAIL: not found;
 * WL_ELIB: a function is missing. */
int wl_cuda_open(struct wl_cuda *out, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The major version of CUDA that the driver serves; 0: not known. */
int wl_cuda_major(const struct wl_cuda *cuda);

/* The error of a failed call, with CUDA's text: WL_EUNAVAIL if there is no such GPU, else WL_ELIB. */
int wl_cuda_fail(const struct wl_cuda *cuda, const char *call, CUresult rc, struct wl_err *e);

/* Calls a function of the driver, in a function that returns a code and has a `struct wl_err *e`. */
#define WL_CUDA_CALL(cuda, name, ...)                                        \
    do {                                                                     \
        CUresult rc_ = (cuda)->name(__VA_ARGS__);                            \
        if (rc_ != CUDA_SUCCESS) return wl_cuda_fail((cuda), #name, rc_, e); \
    } while (0)

#endif
