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

nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t d, unsigned mw)
{
    const struct fake_script *s = &fake.script;
    FAKE_ENTER(d, "SetPowerManagementLimit");
    if (mw < s->limits_mw[0] || mw > s->limits_mw[1]) return NVML_ERROR_INVALID_ARGUMENT;
    struct fake_limits l = fake_limits_get(d->index);
    l.power_mw = mw;
    if (!s->ignore) fake_limits_put(d->index, &l);
    return NVML_SUCCESS;
}
