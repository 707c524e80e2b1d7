/* nvmlDeviceGetFieldValues: each value has its own return code. */
#include "fake_nvml.h"

#include <math.h>
#include <stdio.h>

/* Starts just below the end of 32 bits, so that a test sees it wrap. */
static const double pcie_before = 4294967296.0 - 1048576;

static double of_scope(unsigned scope, double gpu_w)
{
    double module_w = fake.script.module_w;
    if (module_w <= 0) return gpu_w;
    if (scope == NVML_POWER_SCOPE_MODULE) return gpu_w + module_w;
    return scope == NVML_POWER_SCOPE_MEMORY ? gpu_w / 4 : gpu_w;
}

static void set_count(nvmlFieldValue_t *f, double count)
{
    f->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    f->value.ullVal = (unsigned long long)count;
}

static void answer_scoped_energy(nvmlDevice_t d, nvmlFieldValue_t *f)
{
    double gpu_w = fake_power_mw(d) * 1e-3;
    if (f->scopeId != NVML_POWER_SCOPE_GPU && fake.script.module_w <= 0)
        f->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    else
        set_count(f, fake_energy_j(d) * of_scope(f->scopeId, gpu_w) / gpu_w * 1e3);
}

/* A driver without scopes answers for the GPU. */
static void answer_limit(nvmlDevice_t d, nvmlFieldValue_t *f)
{
    const struct fake_script *s = &fake.script;
    bool module = f->scopeId == NVML_POWER_SCOPE_MODULE && s->module_limits_mw[1] > 0;
    const unsigned *range = module ? s->module_limits_mw : s->limits_mw;
    switch (f->fieldId) {
    case NVML_FI_DEV_POWER_MIN_LIMIT: f->value.uiVal = range[0]; break;
    case NVML_FI_DEV_POWER_MAX_LIMIT: f->value.uiVal = range[1]; break;
    case NVML_FI_DEV_POWER_DEFAULT_LIMIT: f->value.uiVal = range[2]; break;
    case NVML_FI_DEV_POWER_CURRENT_LIMIT:
        f->value.uiVal = module ? fake_module_limit_mw(d) : fake_enforced_limit_mw(d);
        break;
    default: f->value.uiVal = module ? fake_module_limit_mw(d) : fake_power_limit_mw(d);
    }
}

/* As nvml.h says: Ampere (not GA100) and newer. */
static void answer_average(nvmlDevice_t d, nvmlFieldValue_t *f)
{
    if (fake.script.profile && !fake.script.profile->averages)
        f->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    else
        f->value.uiVal = fake_mean_power_mw(d);
}

static void answer_nvlink(nvmlFieldValue_t *f, double bytes)
{
    if (f->scopeId == NVML_ALL_LINKS)
        set_count(f, bytes / 1024);
    else
        f->nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
}

static void answer(nvmlDevice_t d, nvmlFieldValue_t *f)
{
    const struct fake_script *s = &fake.script;
    double t = fake_time_s(), bytes = s->links_mib_s * 1048576 * t;
    switch (f->fieldId) {
    case NVML_FI_DEV_POWER_INSTANT:
        f->value.uiVal = (unsigned)lround(of_scope(f->scopeId, fake_power_mw(d) * 1e-3) * 1e3);
        break;
    case NVML_FI_DEV_POWER_AVERAGE: answer_average(d, f); break;
    case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION: set_count(f, fake_energy_j(d) * 1e3); break;
    case NVML_FI_DEV_POWER_MIN_LIMIT:
    case NVML_FI_DEV_POWER_MAX_LIMIT:
    case NVML_FI_DEV_POWER_DEFAULT_LIMIT:
    case NVML_FI_DEV_POWER_CURRENT_LIMIT:
    case NVML_FI_DEV_POWER_REQUESTED_LIMIT: answer_limit(d, f); break;
    case NVML_FI_DEV_ENERGY: answer_scoped_energy(d, f); break;
    case NVML_FI_DEV_MEMORY_TEMP: f->value.uiVal = (unsigned)lround(s->memory_c); break;
    case NVML_FI_DEV_PERF_POLICY_POWER: set_count(f, fake_capped_s(d) * 1e9); break;
    case NVML_FI_DEV_PERF_POLICY_THERMAL: set_count(f, fake_list_of(&s->thermal, d->index) * t * 1e9); break;
    case NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT:
    case NVML_FI_DEV_PERF_POLICY_RELIABILITY:
    case NVML_FI_DEV_PERF_POLICY_SYNC_BOOST: set_count(f, 0); break;
    case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX:
    case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX: answer_nvlink(f, bytes); break;
    case NVML_FI_DEV_PCIE_COUNT_TX_BYTES:
    case NVML_FI_DEV_PCIE_COUNT_RX_BYTES: f->value.uiVal = (unsigned)fmod(pcie_before + bytes, 4294967296.0); break;
    default: f->nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
    }
}

/* Without faults in the script no time is spent on looking for them: benchmarks of the sampler call this. */
static nvmlReturn_t fault_of(nvmlDevice_t d, unsigned field)
{
    char id[16];
    if (fake.script.n_faults == 0) return NVML_SUCCESS;
    snprintf(id, sizeof id, "%u", field);
    return fake_fault(d, id);
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int n, nvmlFieldValue_t *values)
{
    FAKE_ENTER(d, "GetFieldValues");
    for (int i = 0; i < n; i++) {
        values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        values[i].nvmlReturn = fault_of(d, values[i].fieldId);
        if (values[i].nvmlReturn == NVML_SUCCESS) answer(d, &values[i]);
    }
    return NVML_SUCCESS;
}
