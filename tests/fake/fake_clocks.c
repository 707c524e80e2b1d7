/* Clocks and their event reasons. */
#include "fake_nvml.h"

#include <math.h>

unsigned fake_max_mhz(int type)
{
    const struct fake_profile *p = fake.script.profile;
    if (fake.world) return (unsigned)lround(type == NVML_CLOCK_MEM ? p->mem_mhz : p->max_mhz);
    return type == NVML_CLOCK_MEM ? 1215 : 1410;
}

static unsigned sm_clock_mhz(nvmlDevice_t d)
{
    if (!fake.world) return (unsigned)lround(fake_list_of(&fake.script.clock_mhz, d->index));
    int64_t now = fake_now_ns();
    return (unsigned)lround(
        fake_clock_mhz(&d->model.profile, fake_input_at(&d->model, now), fake_load_at(&d->model, now)));
}

unsigned long long fake_event_reasons(nvmlDevice_t d)
{
    if (!fake.world) return (unsigned)fake.script.reasons;
    int64_t now = fake_now_ns();
    struct fake_state s = fake_at(&d->model, now), before = fake_at(&d->model, now - 10000000);
    if (fake_load_at(&d->model, now) <= 0) return 0x1;
    return s.capped_s > before.capped_s ? 0x4 : 0;
}

double fake_capped_s(nvmlDevice_t d)
{
    return fake.world ? fake_at(&d->model, fake_now_ns()).capped_s : fake.script.capped * fake_time_s();
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, int type, unsigned *mhz)
{
    FAKE_ENTER(d, "GetClockInfo");
    struct fake_limits l = fake_limits_get(d->index);
    unsigned lock = type == NVML_CLOCK_MEM ? l.mem_mhz : l.sm_mhz;
    if (fake.world && type != NVML_CLOCK_MEM) lock = 0; /* the model's clock is never above it */
    *mhz = lock ? lock : type == NVML_CLOCK_MEM ? fake_max_mhz(type) : sm_clock_mhz(d);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, unsigned long long *bits)
{
    FAKE_ENTER(d, "GetCurrentClocksThrottleReasons");
    *bits = 0x4;
    return NVML_SUCCESS;
}
