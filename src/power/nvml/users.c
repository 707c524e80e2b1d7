#include "power/nvml/users.h"

#include "power/nvml/library.h"

#include <math.h>

/* NVML_VALUE_NOT_AVAILABLE of a process's memory. */
static const unsigned long long not_available = ~0ull;

/* Time-slicing shares a GPU's busy time. A share above 100 %, and what is not newer than before, are drivers' errors
 * (nvtop issue 110). A process that has used the GPU at some time and not since then has 0 %. */
static void add_utilization(const struct wl_gpus *g, size_t i, struct wl_gpu_users_state *state,
                            struct wl_gpu_user *out, size_t n)
{
    const struct wl_nvml *lib = &g->lib->nvml;
    nvmlProcessUtilizationSample_t samples[WL_GPU_USERS_MAX];
    unsigned count = WL_GPU_USERS_MAX;
    const unsigned long long since_us = state->newest_us;
    if (!lib->DeviceGetProcessUtilization) return;
    nvmlReturn_t rc = lib->DeviceGetProcessUtilization(g->lib->handles[i], samples, &count, since_us);
    if (rc == NVML_ERROR_NOT_FOUND) count = 0;
    if (rc != NVML_SUCCESS && rc != NVML_ERROR_NOT_FOUND) return;
    for (size_t k = 0; k < n; k++) out[k].util_pct = 0;
    for (unsigned s = 0; s < count && s < WL_GPU_USERS_MAX; s++) {
        if (samples[s].smUtil > 100 || samples[s].timeStamp <= since_us) continue;
        if (samples[s].timeStamp > state->newest_us) state->newest_us = samples[s].timeStamp;
        for (size_t k = 0; k < n; k++)
            if (out[k].pid == (int64_t)samples[s].pid) out[k].util_pct = samples[s].smUtil;
    }
}

int wl_gpu_users(const struct wl_gpus *g, size_t i, struct wl_gpu_users_state *state,
                 struct wl_gpu_user out[WL_GPU_USERS_MAX], struct wl_err *e)
{
    const struct wl_nvml *lib = &g->lib->nvml;
    nvmlProcessInfo_t found[WL_GPU_USERS_MAX];
    unsigned count = WL_GPU_USERS_MAX;
    if (!lib->DeviceGetComputeRunningProcesses)
        return wl_fail(e, WL_EUNAVAIL, "the driver does not list the processes of a GPU");
    nvmlReturn_t rc = lib->DeviceGetComputeRunningProcesses(g->lib->handles[i], &count, found);
    if (rc != NVML_SUCCESS) return wl_fail(e, WL_EUNAVAIL, "%s", wl_nvml_error_text(rc));
    const size_t n = count < WL_GPU_USERS_MAX ? count : WL_GPU_USERS_MAX;
    for (size_t k = 0; k < n; k++) {
        const bool known = found[k].usedGpuMemory != not_available;
        out[k] = (struct wl_gpu_user) { .pid = found[k].pid,
                                        .memory_bytes = known ? (double)found[k].usedGpuMemory : NAN,
                                        .util_pct = NAN };
    }
    add_utilization(g, i, state, out, n);
    return (int)n;
}
