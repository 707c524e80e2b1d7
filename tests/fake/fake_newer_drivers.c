/* Calls that drivers of 2018 did not have, except fields and power limits. */
#include "fake_nvml.h"

#include <stdio.h>

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t d, nvmlPciInfo_t *pci);

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *pci)
{
    nvmlDeviceGetPciInfo_v2(d, pci);
    snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", (unsigned)d->index + 1);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t d, unsigned long long *mj)
{
    FAKE_ENTER(d, "GetTotalEnergyConsumption");
    *mj = (unsigned long long)(fake_energy_j(d) * 1e3);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *m)
{
    FAKE_ENTER(d, "GetMemoryInfo_v2");
    if (m->version != NVML_VERSIONED(nvmlMemory_v2_t, 2)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    m->total = 40ull << 30;
    m->reserved = 1ull << 29;
    m->used = 7ull << 30;
    m->free = m->total - m->reserved - m->used;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t d, nvmlTemperature_t *t)
{
    FAKE_ENTER(d, "GetTemperatureV");
    if (t->version != NVML_VERSIONED(nvmlTemperature_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    t->temperature = (int)fake_temperature_c(d, 51);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t d, unsigned long long *bits)
{
    FAKE_ENTER(d, "GetCurrentClocksEventReasons");
    *bits = fake_event_reasons(d);
    return NVML_SUCCESS;
}
