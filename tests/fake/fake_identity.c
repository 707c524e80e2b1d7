/* Facts about a GPU. */
#include "fake_nvml.h"

#include <stdio.h>

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *to, unsigned size)
{
    const struct fake_script *s = &fake.script;
    return fake_put(to, size, s->models[d->index < s->n_models ? d->index : s->n_models - 1]);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *to, unsigned size)
{
    char uuid[64];
    snprintf(uuid, sizeof uuid, "GPU-%08x-0000-4000-8000-fa4e00000000",
             0xa0000000u + 0x100u * (unsigned)fake.script.board + (unsigned)d->index);
    return fake_put(to, size, uuid);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t d, nvmlPciInfo_t *pci)
{
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "0000:%02X:00.0", (unsigned)d->index + 1);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t d, unsigned *number)
{
    *number = (unsigned)fake.script.arch;
    return fake_enter(d, "GetArchitecture");
}

nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t d, char *to, unsigned size)
{
    snprintf(to, size, "92.00.45.00.%02X", (unsigned)d->index);
    return fake_enter(d, "GetVbiosVersion");
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t d, char *to, unsigned size)
{
    snprintf(to, size, "1320521%05d%d", fake.script.board, d->index);
    return fake_enter(d, "GetSerial");
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t d, int *now, int *after_reset)
{
    *now = *after_reset = fake.script.ecc;
    return fake_enter(d, "GetEccMode");
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t d, int *on)
{
    *on = fake.script.persistence;
    return fake_enter(d, "GetPersistenceMode");
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *now, unsigned *after_reset)
{
    *now = *after_reset = (unsigned)fake.script.mig;
    return fake_enter(d, "GetMigMode");
}
