#include "fake_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_device fake_device;

void fake_device_reset(void)
{
    fake_device = (struct fake_device) { .arch = 7, .ecc = 1, .persistence = 1, .memory_c = 60, .stale_s = HUGE_VAL };
    fake_device.gpm[0] = NAN;
}

static void set_pids(const char *v)
{
    fake_device.n_pids = 0;
    for (char *end; fake_device.n_pids < 8; v = end + 1) {
        fake_device.pids[fake_device.n_pids++] = (unsigned)strtoul(v, &end, 10);
        if (*end != ',') return;
    }
}

static void set_gpm(const char *v)
{
    double *g = fake_device.gpm;
    fake_device.gpm_denied = strcmp(v, "denied") == 0;
    if (fake_device.gpm_denied)
        g[0] = 0;
    else if (sscanf(v, "%lf:%lf:%lf:%lf", &g[0], &g[1], &g[2], &g[3]) != 4)
        fprintf(stderr, "fake nvml: gpm=%s is not of the form SM:OCCUPANCY:TENSOR:DRAM\n", v);
}

bool fake_device_set(const char *key, const char *value)
{
    const struct {
        const char *key;
        double *real;
        int *whole;
    } keys[] = {
        { "arch", NULL, &fake_device.arch },
        { "ecc", NULL, &fake_device.ecc },
        { "persistence", NULL, &fake_device.persistence },
        { "mig", NULL, &fake_device.mig },
        { "capped", &fake_device.capped, NULL },
        { "thermal", &fake_device.thermal, NULL },
        { "module_w", &fake_device.module_w, NULL },
        { "memory_c", &fake_device.memory_c, NULL },
        { "links_mib_s", &fake_device.links_mib_s, NULL },
        { "stale_s", &fake_device.stale_s, NULL },
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(key, keys[i].key) != 0) continue;
        if (keys[i].real) *keys[i].real = atof(value);
        if (keys[i].whole) *keys[i].whole = atoi(value);
        return true;
    }
    if (strcmp(key, "pids") == 0)
        set_pids(value);
    else if (strcmp(key, "gpm") == 0)
        set_gpm(value);
    else
        return false;
    return true;
}

/* ---- Fields ---- */

/* Below 32 bits' end at the start, so that a test sees it start over. */
static const double pcie_before = 4294967296.0 - 1048576;

static double power_of_scope(unsigned scope, double watts)
{
    if (fake_device.module_w <= 0) return watts;
    if (scope == NVML_POWER_SCOPE_MODULE) return watts + fake_device.module_w;
    return scope == NVML_POWER_SCOPE_MEMORY ? watts / 4 : watts;
}

static void set_count(nvmlFieldValue_t *f, double count)
{
    f->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    f->value.ullVal = (unsigned long long)count;
}

void fake_device_field(nvmlDevice_t d, nvmlFieldValue_t *f, double watts, double joules)
{
    double t = fake_time_s(), moved = fake_device.links_mib_s * 1048576 * t;
    switch (f->fieldId) {
    case NVML_FI_DEV_POWER_INSTANT: f->value.uiVal = (unsigned)lround(power_of_scope(f->scopeId, watts) * 1e3); break;
    case NVML_FI_DEV_ENERGY: {
        double share = power_of_scope(f->scopeId, watts) / watts;
        if (f->scopeId != NVML_POWER_SCOPE_GPU && fake_device.module_w <= 0)
            f->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
        else
            set_count(f, joules * share * 1e3);
        break;
    }
    case NVML_FI_DEV_MEMORY_TEMP: f->value.uiVal = (unsigned)lround(fake_device.memory_c); break;
    case NVML_FI_DEV_PERF_POLICY_POWER: set_count(f, fake_capped_s(d) * 1e9); break;
    case NVML_FI_DEV_PERF_POLICY_THERMAL: set_count(f, fake_device.thermal * t * 1e9); break;
    case NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT:
    case NVML_FI_DEV_PERF_POLICY_RELIABILITY:
    case NVML_FI_DEV_PERF_POLICY_SYNC_BOOST: set_count(f, 0); break;
    case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX:
    case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX:
        if (f->scopeId == NVML_ALL_LINKS)
            set_count(f, moved / 1024);
        else
            f->nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
        break;
    case NVML_FI_DEV_PCIE_COUNT_TX_BYTES:
    case NVML_FI_DEV_PCIE_COUNT_RX_BYTES:
        f->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        f->value.uiVal = (unsigned)fmod(pcie_before + moved, 4294967296.0);
        break;
    default: f->nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
    }
}

/* ---- What the GPU is ---- */

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t d, unsigned *number)
{
    *number = (unsigned)fake_device.arch;
    return fake_enter(d, "GetArchitecture");
}

nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t d, char *to, unsigned size)
{
    snprintf(to, size, "92.00.45.00.%02X", (unsigned)fake_number(d));
    return fake_enter(d, "GetVbiosVersion");
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t d, char *to, unsigned size)
{
    snprintf(to, size, "132052100000%d", fake_number(d));
    return fake_enter(d, "GetSerial");
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t d, int *now, int *after_reset)
{
    *now = *after_reset = fake_device.ecc;
    return fake_enter(d, "GetEccMode");
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t d, int *on)
{
    *on = fake_device.persistence;
    return fake_enter(d, "GetPersistenceMode");
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *now, unsigned *after_reset)
{
    *now = *after_reset = (unsigned)fake_device.mig;
    return fake_enter(d, "GetMigMode");
}
