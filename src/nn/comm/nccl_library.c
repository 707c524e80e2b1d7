#include "nn/comm/nccl_api.h"

#include "base/base.h"
#include "cuda/libraries.h"

#define FN(name, required)                                               \
    {                                                                    \
        offsetof(struct wl_nccl_api, name), "nccl" #name, NULL, required \
    }
static const struct wl_symbol symbols[] = {
    FN(GetVersion, true),  FN(GetUniqueId, true),    FN(CommInitRank, true),
    FN(CommDestroy, true), FN(CommAbort, true),      FN(CommGetAsyncError, true),
    FN(AllReduce, true),   FN(GetErrorString, true), FN(GetLastError, false),
};

int wl_nccl_open(struct wl_nccl_api *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_gpu_library spec = wl_gpu_library_of(WL_GPU_NCCL, 0, symbols, WL_COUNT(symbols));
    int code = 0, rc = wl_gpu_library_open(&out->library, &spec, 0, out, a, e);
    if (rc) return rc;
    const ncclResult_t asked = out->GetVersion(&code);
    if (asked) return wl_nccl_fail(out, NULL, "GetVersion", asked, e);
    out->version = wl_gpu_library_version(WL_GPU_NCCL, (size_t)code);
    return wl_gpu_library_check(&spec, &out->library, out->version, e);
}

int wl_nccl_fail(const struct wl_nccl_api *api, ncclComm_t comm, const char *call, ncclResult_t rc, struct wl_err *e)
{
    const char *detail = api->GetLastError ? api->GetLastError(comm) : NULL;
    const bool says = detail && *detail;
    return wl_fail(e, WL_ELIB, "%s: nccl%s: %s (%d)%s%s", api->library.path, call, api->GetErrorString(rc), (int)rc,
                   says ? ": " : "", says ? detail : "");
}
