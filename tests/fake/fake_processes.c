/* Processes on a GPU, and its record of utilisation. */
#include "fake_nvml.h"

#include <math.h>
#include <string.h>

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *count, nvmlProcessInfo_t *to)
{
    nvmlReturn_t rc = fake_enter(d, "GetComputeRunningProcesses");
    if (rc != NVML_SUCCESS) return rc;
    bool fits = *count >= fake.script.n_pids;
    *count = fake.script.n_pids;
    if (!fits) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < fake.script.n_pids; i++)
        to[i] = (nvmlProcessInfo_t) { .pid = fake.script.pids[i],
                                      .usedGpuMemory = 1ull << 30,
                                      .gpuInstanceId = 0xffffffff,
                                      .computeInstanceId = 0xffffffff };
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t d, nvmlProcessUtilizationSample_t *to, unsigned *count,
                                             unsigned long long since_us)
{
    nvmlReturn_t rc = fake_enter(d, "GetProcessUtilization");
    if (rc != NVML_SUCCESS) return rc;
    if (fake.script.pid_util.n == 0) return NVML_ERROR_NOT_SUPPORTED;
    const unsigned room = *count;
    const unsigned long long now_us = 1700000000000000ull + (unsigned long long)(fake_time_s() * 1e6);
    *count = 0;
    if (now_us <= since_us) return NVML_ERROR_NOT_FOUND;
    for (unsigned i = 0; i < fake.script.n_pids && i < (unsigned)fake.script.pid_util.n && i < room; i++)
        to[(*count)++] = (nvmlProcessUtilizationSample_t) { .pid = fake.script.pids[i],
                                                            .timeStamp = now_us,
                                                            .smUtil = (unsigned)fake.script.pid_util.v[i] };
    return *count > 0 ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

/* The last ten readings, one per 1/6 s. */
nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t d, int type, unsigned long long since_us, int *value_type,
                                  unsigned *count, nvmlSample_t *to)
{
    enum { KEPT = 10 };
    nvmlReturn_t rc = fake_enter(d, "GetSamples");
    if (rc != NVML_SUCCESS) return rc;
    if (type != NVML_GPU_UTILIZATION_SAMPLES) return NVML_ERROR_NOT_SUPPORTED;
    *value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
    unsigned room = *count, n = 0;
    *count = KEPT;
    if (!to) return NVML_SUCCESS;
    long newest = (long)floor(fmin(fake_time_s(), fake.script.stale_s) * 6);
    for (long k = newest - KEPT + 1; k <= newest && n < room; k++) {
        unsigned long long stamp_us = 1700000000000000ull + (unsigned long long)(k + KEPT) * 166667;
        if (stamp_us > since_us) to[n++] = (nvmlSample_t) { .timeStamp = stamp_us, .sampleValue.uiVal = 50 };
    }
    *count = n;
    return n > 0 ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}
