/* A fake librocm_smi64.so of ROCm 5: one MI210 with mean power only. */
#include "power/amd/api.h"

#include <stddef.h>
#include <stdio.h>

const char wattlaw_simulated[] = "simulated";

int rsmi_init(uint64_t flags) { return flags == 0 ? 0 : 1; }
int rsmi_shut_down(void) { return 0; }

int rsmi_num_monitor_devices(uint32_t *n)
{
    *n = 1;
    return 0;
}

int rsmi_dev_name_get(uint32_t i, char *name, size_t size)
{
    snprintf(name, size, "AMD Instinct MI210 %u", i);
    return 0;
}

int rsmi_dev_unique_id_get(uint32_t i, uint64_t *id)
{
    *id = 0x6a1b2c3d00000000ull + i;
    return 0;
}

int rsmi_dev_pci_id_get(uint32_t i, uint64_t *bdf)
{
    *bdf = ((uint64_t)0x29 + i) << 8;
    return 0;
}

int rsmi_dev_id_get(uint32_t i, uint16_t *id)
{
    *id = (uint16_t)(0x740f + i);
    return 0;
}

int rsmi_dev_power_ave_get(uint32_t i, uint32_t sensor, uint64_t *uw)
{
    *uw = 187000000 + i + sensor;
    return 0;
}

int rsmi_dev_energy_count_get(uint32_t i, uint64_t *count, float *unit_uj, uint64_t *stamp)
{
    *count = 65536 + i;
    *unit_uj = 15.3f;
    *stamp = 1;
    return 0;
}

int rsmi_dev_temp_metric_get(uint32_t i, uint32_t type, int metric, int64_t *thousandths)
{
    *thousandths = type == RSMI_TEMP_TYPE_JUNCTION ? 55000 : 0;
    return type == RSMI_TEMP_TYPE_JUNCTION && metric == RSMI_TEMP_CURRENT && i == 0 ? 0 : RSMI_STATUS_NOT_SUPPORTED;
}

int rsmi_dev_power_cap_get(uint32_t i, uint32_t sensor, uint64_t *uw)
{
    *uw = 300000000 + i + sensor;
    return 0;
}
