#include "nn/comm/nccl_api.h"

#include "base/base.h"
#include "cuda/library.h"

#define FN(name, required)                                               \
    {                                                                    \
        offsetof(struct wl_nccl_api, name), "nccl" #name, NULL, required \
    }
static const struct wl_symbol symbols[] = {
    FN(GetVersion, true),  FN(GetUniqueId, true),    FN(CommInitRank, true),
    FN(CommDestroy, true), FN(CommAbort, true),      FN(CommGetAsyncError, true),
    FN(AllReduce, true),   FN(GetErrorString, true), FN(GetLastError, false),
};

/* 2.16 is the first for CUDA 12. The library brings what it needs of CUDA, so that any file serves. */
static const struct wl_gpu_file files[] = { { "libnccl.so.2", 0, "nvidia-nccl-cu13 (for CUDA 12 -cu12)", 21600 },
                                            { 0 } };
static const struct wl_gpu_library spec = { "NCCL", files, symbols, WL_COUNT(symbols) };

/* 2.8 and older count as major * 1000 + minor * 100 + patch. */
static int version_of(int code) { return code < 10000 ? code / 1000 * 10000 + code % 1000 : code; }

int wl_nccl_open(struct wl_nccl_api *out, struct wl_arena *a, struct wl_err *e)
{
    int code = 0, rc = wl_gpu_library_open(&out->library, &spec, 0, out, a, e);
    if (rc) return rc;
    const ncclResult_t asked = out->GetVersion(&code);
    if (asked) return wl_nccl_fail(out, NULL, "GetVersion", asked, e);
    out->version = version_of(code);
    return wl_gpu_library_check(&spec, &out->library, out->version, e);
}

int wl_nccl_fail(const struct wl_nccl_api *api, ncclComm_t comm, const char *call, ncclResult_t rc, struct wl_err *e)
{
    const char *detail = api->GetLastError ? api->GetLastError(comm) : NULL;
    const bool says = detail && *detail;
    return wl_fail(e, WL_ELIB, "%s: nccl%s: %s (%d)%s%s", api->library.path, call, api->GetErrorString(rc), (int)rc,
                   says ? ": " : "", says ? detail : "");
}
