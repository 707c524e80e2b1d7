/* Profiling counters of the fake NVML: a sample is the time at which it was taken. */
#include "fake_nvml.h"

#include <math.h>
#include <stdlib.h>

struct nvmlGpmSample_st {
    double t_s;
};

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t d, nvmlGpmSupport_t *support)
{
    if (support->version != NVML_GPM_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    support->isSupportedDevice = !isnan(fake.script.gpm[0]);
    return fake_enter(d, "GpmQueryDeviceSupport");
}

nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *sample)
{
    *sample = calloc(1, sizeof **sample);
    return *sample ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample)
{
    free(sample);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t d, nvmlGpmSample_t sample)
{
    if (fake.script.gpm_denied) return NVML_ERROR_NO_PERMISSION;
    sample->t_s = fake_time_s();
    return fake_enter(d, "GpmSampleGet");
}

static void answer(nvmlGpmMetric_t *m)
{
    const double *shares = fake.script.gpm;
    m->nvmlReturn = NVML_SUCCESS;
    switch (m->metricId) {
    case NVML_GPM_METRIC_SM_UTIL: m->value = shares[0]; break;
    case NVML_GPM_METRIC_SM_OCCUPANCY: m->value = shares[1]; break;
    case NVML_GPM_METRIC_ANY_TENSOR_UTIL: m->value = shares[2]; break;
    case NVML_GPM_METRIC_DRAM_BW_UTIL: m->value = shares[3]; break;
    case NVML_GPM_METRIC_PCIE_TX_PER_SEC:
    case NVML_GPM_METRIC_PCIE_RX_PER_SEC:
    case NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC:
    case NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC: m->value = fake.script.links_mib_s; break;
    default: m->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    }
}

/* Samples that are too close together have no value, as on the GPU. */
nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *get)
{
    if (get->version != NVML_GPM_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (get->sample2->t_s - get->sample1->t_s < 0.099) return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < get->numMetrics; i++) answer(&get->metrics[i]);
    return NVML_SUCCESS;
}
