/* Locked clocks. */
#include "fake_nvml.h"

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, int type, unsigned *mhz)
{
    FAKE_ENTER(d, "GetMaxClockInfo");
    *mhz = fake_max_mhz(type);
    return NVML_SUCCESS;
}

/* The memory clocks: maximum, two thirds of it, or nearly idle. */
enum { MEMORY_CLOCKS = 3, MEMORY_RESTS_MHZ = 405 };

static void memory_clocks(unsigned mhz[MEMORY_CLOCKS])
{
    mhz[0] = fake_max_mhz(NVML_CLOCK_MEM);
    mhz[1] = 2 * mhz[0] / 3;
    mhz[2] = MEMORY_RESTS_MHZ;
}

nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t d, unsigned *n, unsigned *mhz)
{
    FAKE_ENTER(d, "GetSupportedMemoryClocks");
    unsigned room = *n;
    *n = MEMORY_CLOCKS;
    if (room < MEMORY_CLOCKS) return NVML_ERROR_INSUFFICIENT_SIZE;
    memory_clocks(mhz);
    return NVML_SUCCESS;
}

static bool runs_at(int type, unsigned mhz)
{
    unsigned clocks[MEMORY_CLOCKS];
    memory_clocks(clocks);
    for (int i = 0; i < MEMORY_CLOCKS; i++)
        if (clocks[i] == mhz) return true;
    return mhz == 0 || (type != NVML_CLOCK_MEM && mhz <= fake_max_mhz(type));
}

/* 0: unlocked. */
static nvmlReturn_t lock_clock(nvmlDevice_t d, int type, unsigned mhz)
{
    struct fake_limits l = fake_limits_get(d->index);
    if (!runs_at(type, mhz)) return NVML_ERROR_INVALID_ARGUMENT;
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
