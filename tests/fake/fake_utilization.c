/* Utilisation, memory, temperature. */
#include "fake_nvml.h"

#include <math.h>

/* Share of the last second for which a simulated GPU was busy, %. */
static unsigned busy_pct(nvmlDevice_t d)
{
    if (!fake.world) return (unsigned)lround(fake_list_of(&fake.script.busy_pct, d->index));
    int64_t now = fake_now_ns();
    double busy_s = fake_at(&d->model, now).busy_s - fake_at(&d->model, now - 1000000000).busy_s;
    return (unsigned)lround(100 * fmin(1, busy_s));
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *u)
{
    FAKE_ENTER(d, "GetUtilizationRates");
    unsigned pct = busy_pct(d);
    *u = (nvmlUtilization_t) { .gpu = pct, .memory = pct / 2 };
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *m)
{
    FAKE_ENTER(d, "GetMemoryInfo");
    *m = (nvmlMemory_t) { .total = 40ull << 30, .free = 32ull << 30, .used = 8ull << 30 };
    return NVML_SUCCESS;
}

unsigned fake_temperature_c(nvmlDevice_t d, unsigned usual_c)
{
    if (fake.world) return (unsigned)lround(fake_at(&d->model, fake_now_ns()).temperature_c);
    const struct fake_list *l = &fake.script.temperature_c;
    return l->n > 0 ? (unsigned)lround(fake_list_of(l, d->index)) : usual_c;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, int sensor, unsigned *celsius)
{
    FAKE_ENTER(d, "GetTemperature");
    *celsius = sensor == NVML_TEMPERATURE_GPU ? fake_temperature_c(d, 50) : 0;
    return NVML_SUCCESS;
}
