/* Locked clocks. */
#include "fake_nvml.h"

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, int type, unsigned *mhz)
{
    FAKE_ENTER(d, "GetMaxClockInfo");
    *mhz = fake_max_mhz(type);
    return NVML_SUCCESS;
}

/* 0: unlocked. */
static nvmlReturn_t lock_clock(nvmlDevice_t d, int type, unsigned mhz)
{
    struct fake_limits l = fake_limits_get(d->index);
    if (mhz > fake_max_mhz(type)) return NVML_ERROR_INVALID_ARGUMENT;
    if (type == NVML_CLOCK_MEM)
        l.mem_mhz = mhz;
    else
        l.sm_mhz = mhz;
    fake_limits_put(d->index, &l);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceSetGpuLockedClocks(nvmlDevice_t d, unsigned min, unsigned max)
{
    FAKE_ENTER(d, "SetGpuLockedClocks");
    return min > max ? NVML_ERROR_INVALID_ARGUMENT : lock_clock(d, NVML_CLOCK_SM, max);
}

nvmlReturn_t nvmlDeviceResetGpuLockedClocks(nvmlDevice_t d)
{
    FAKE_ENTER(d, "ResetGpuLockedClocks");
    return lock_clock(d, NVML_CLOCK_SM, 0);
}

nvmlReturn_t nvmlDeviceSetMemoryLockedClocks(nvmlDevice_t d, unsigned min, unsigned max)
{
    FAKE_ENTER(d, "SetMemoryLockedClocks");
    return min > max ? NVML_ERROR_INVALID_ARGUMENT : lock_clock(d, NVML_CLOCK_MEM, max);
}

nvmlReturn_t nvmlDeviceResetMemoryLockedClocks(nvmlDevice_t d)
{
    FAKE_ENTER(d, "ResetMemoryLockedClocks");
    return lock_clock(d, NVML_CLOCK_MEM, 0);
}
