/* Power limits. */
#include "fake_nvml.h"

nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t d, unsigned *mw)
{
    FAKE_ENTER(d, "GetPowerManagementLimit");
    *mw = fake_power_limit_mw(d);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned *mw)
{
    FAKE_ENTER(d, "GetEnforcedPowerLimit");
    *mw = fake_enforced_limit_mw(d);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t d, unsigned *mw)
{
    FAKE_ENTER(d, "GetPowerManagementDefaultLimit");
    *mw = fake.script.limits_mw[2];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t d, unsigned *min, unsigned *max)
{
    FAKE_ENTER(d, "GetPowerManagementLimitConstraints");
    *min = fake.script.limits_mw[0];
    *max = fake.script.limits_mw[1];
    return NVML_SUCCESS;
}

static nvmlReturn_t set_limit(nvmlDevice_t d, bool module, unsigned mw)
{
    const struct fake_script *s = &fake.script;
    const unsigned *range = module ? s->module_limits_mw : s->limits_mw;
    if (mw < range[0] || mw > range[1]) return NVML_ERROR_INVALID_ARGUMENT;
    struct fake_limits l = fake_limits_get(d->index);
    *(module ? &l.module_mw : &l.power_mw) = mw;
    if (!s->ignore) fake_limits_put(d->index, &l);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t d, unsigned mw)
{
    FAKE_ENTER(d, "SetPowerManagementLimit");
    return set_limit(d, false, mw);
}

nvmlReturn_t nvmlDeviceSetPowerManagementLimit_v2(nvmlDevice_t d, nvmlPowerValue_v2_t *value)
{
    FAKE_ENTER(d, "SetPowerManagementLimit_v2");
    if (value->version != NVML_VERSIONED(nvmlPowerValue_v2_t, 2)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    bool module = value->powerScope == NVML_POWER_SCOPE_MODULE;
    if (value->powerScope > NVML_POWER_SCOPE_MODULE) return NVML_ERROR_INVALID_ARGUMENT;
    if (module && fake.script.module_limits_mw[1] == 0) return NVML_ERROR_NOT_SUPPORTED;
    return set_limit(d, module, value->powerValueMw);
}
