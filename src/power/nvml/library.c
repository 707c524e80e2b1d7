#include "power/nvml/library.h"

#include "base/library.h"
#include "power/procfs.h"

#include <stdlib.h>
#include <string.h>

#define FN(field) offsetof(struct wl_nvml, field)

static const struct wl_symbol symbols[] = {
    { FN(Init), "nvmlInit_v2", "nvmlInit", true },
    { FN(Shutdown), "nvmlShutdown", NULL, true },
    { FN(SystemGetDriverVersion), "nvmlSystemGetDriverVersion", NULL, true },
    { FN(SystemGetNVMLVersion), "nvmlSystemGetNVMLVersion", NULL, true },
    { FN(DeviceGetCount), "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", true },
    { FN(DeviceGetHandleByIndex), "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", true },
    { FN(DeviceGetName), "nvmlDeviceGetName", NULL, true },
    { FN(DeviceGetUUID), "nvmlDeviceGetUUID", NULL, true },
    { FN(DeviceGetPciInfo_v3), "nvmlDeviceGetPciInfo_v3", NULL, false },
    { FN(DeviceGetPciInfo_v2), "nvmlDeviceGetPciInfo_v2", NULL, false },
    { FN(DeviceGetHandleByUUID), "nvmlDeviceGetHandleByUUID", NULL, false },
    { FN(DeviceGetDeviceHandleFromMigDeviceHandle), "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", NULL, false },
    { FN(DeviceGetFieldValues), "nvmlDeviceGetFieldValues", NULL, false },
    { FN(DeviceGetTotalEnergyConsumption), "nvmlDeviceGetTotalEnergyConsumption", NULL, false },
    { FN(DeviceGetPowerUsage), "nvmlDeviceGetPowerUsage", NULL, false },
    { FN(DeviceGetUtilizationRates), "nvmlDeviceGetUtilizationRates", NULL, false },
    { FN(DeviceGetClockInfo), "nvmlDeviceGetClockInfo", NULL, false },
    { FN(DeviceGetMemoryInfo_v2), "nvmlDeviceGetMemoryInfo_v2", NULL, false },
    { FN(DeviceGetMemoryInfo), "nvmlDeviceGetMemoryInfo", NULL, false },
    { FN(DeviceGetTemperatureV), "nvmlDeviceGetTemperatureV", NULL, false },
    { FN(DeviceGetTemperature), "nvmlDeviceGetTemperature", NULL, false },
    { FN(DeviceGetCurrentClocksEventReasons), "nvmlDeviceGetCurrentClocksEventReasons",
      "nvmlDeviceGetCurrentClocksThrottleReasons", false },
    { FN(DeviceGetSamples), "nvmlDeviceGetSamples", NULL, false },
    { FN(DeviceGetComputeRunningProcesses), "nvmlDeviceGetComputeRunningProcesses_v3",
      "nvmlDeviceGetComputeRunningProcesses_v2", false },
    { FN(DeviceGetProcessUtilization), "nvmlDeviceGetProcessUtilization", NULL, false },
    { FN(DeviceGetArchitecture), "nvmlDeviceGetArchitecture", NULL, false },
    { FN(DeviceGetVbiosVersion), "nvmlDeviceGetVbiosVersion", NULL, false },
    { FN(DeviceGetSerial), "nvmlDeviceGetSerial", NULL, false },
    { FN(DeviceGetEccMode), "nvmlDeviceGetEccMode", NULL, false },
    { FN(DeviceGetPersistenceMode), "nvmlDeviceGetPersistenceMode", NULL, false },
    { FN(DeviceGetMigMode), "nvmlDeviceGetMigMode", NULL, false },
    { FN(GpmQueryDeviceSupport), "nvmlGpmQueryDeviceSupport", NULL, false },
    { FN(GpmSampleAlloc), "nvmlGpmSampleAlloc", NULL, false },
    { FN(GpmSampleFree), "nvmlGpmSampleFree", NULL, false },
    { FN(GpmSampleGet), "nvmlGpmSampleGet", NULL, false },
    { FN(GpmMetricsGet), "nvmlGpmMetricsGet", NULL, false },
    { FN(DeviceGetPowerManagementLimit), "nvmlDeviceGetPowerManagementLimit", NULL, false },
    { FN(DeviceGetPowerManagementDefaultLimit), "nvmlDeviceGetPowerManagementDefaultLimit", NULL, false },
    { FN(DeviceGetPowerManagementLimitConstraints), "nvmlDeviceGetPowerManagementLimitConstraints", NULL, false },
    { FN(DeviceGetEnforcedPowerLimit), "nvmlDeviceGetEnforcedPowerLimit", NULL, false },
    { FN(DeviceSetPowerManagementLimit), "nvmlDeviceSetPowerManagementLimit", NULL, false },
    { FN(DeviceSetPowerManagementLimit_v2), "nvmlDeviceSetPowerManagementLimit_v2", NULL, false },
    { FN(DeviceGetMaxClockInfo), "nvmlDeviceGetMaxClockInfo", NULL, false },
    { FN(DeviceGetSupportedMemoryClocks), "nvmlDeviceGetSupportedMemoryClocks", NULL, false },
    { FN(DeviceSetGpuLockedClocks), "nvmlDeviceSetGpuLockedClocks", NULL, false },
    { FN(DeviceResetGpuLockedClocks), "nvmlDeviceResetGpuLockedClocks", NULL, false },
    { FN(DeviceSetMemoryLockedClocks), "nvmlDeviceSetMemoryLockedClocks", NULL, false },
    { FN(DeviceResetMemoryLockedClocks), "nvmlDeviceResetMemoryLockedClocks", NULL, false },
};

const char *wl_nvml_error_text(nvmlReturn_t code)
{
    switch (code) {
    case NVML_SUCCESS: return "NVML: success";
    case NVML_ERROR_UNINITIALIZED: return "NVML: not initialised";
    case NVML_ERROR_INVALID_ARGUMENT: return "NVML: invalid argument";
    case NVML_ERROR_NOT_SUPPORTED: return "NVML: not supported by this GPU";
    case NVML_ERROR_NO_PERMISSION: return "NVML: no permission";
    case NVML_ERROR_NOT_FOUND: return "NVML: not found";
    case NVML_ERROR_INSUFFICIENT_SIZE: return "NVML: insufficient size";
    case NVML_ERROR_DRIVER_NOT_LOADED: return "NVML: the driver is not loaded";
    case NVML_ERROR_TIMEOUT: return "NVML: timeout";
    case NVML_ERROR_LIBRARY_NOT_FOUND: return "NVML: a library of the driver is missing";
    case NVML_ERROR_FUNCTION_NOT_FOUND: return "NVML: the driver lacks this function";
    case NVML_ERROR_GPU_IS_LOST: return "NVML: GPU is lost";
    case NVML_ERROR_RESET_REQUIRED: return "NVML: the GPU needs a reset";
    case NVML_ERROR_OPERATING_SYSTEM: return "NVML: the GPU is blocked by the operating system (cgroup)";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "NVML: library and kernel module have different versions";
    case NVML_ERROR_FREQ_NOT_SUPPORTED: return "NVML: frequency not supported";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH: return "NVML: the driver does not support this version of a struct";
    case NVML_ERROR_DEPRECATED: return "NVML: deprecated";
    default: return "NVML: unknown error";
    }
}

static void shut_down(void *lib) { ((struct wl_nvml *)lib)->Shutdown(); }

/* Why the library was not found. */
static int not_found(const char *root, const char *why, struct wl_arena *a, const char **fix, struct wl_err *e)
{
    if (wl_is_dir(wl_strf(a, "%s/proc/driver/nvidia", root))) {
        *fix = "sudo apt install libnvidia-ml1 (the version of the driver), or --nvml-library PATH";
        return wl_fail(e, WL_EUNAVAIL, "the NVIDIA driver is loaded but its library is not found: %s", why);
    }
    if (wl_pci_has_gpu(root, "0x10de", a)) {
        *fix = "sudo apt install nvidia-driver, then sudo modprobe nvidia";
        return wl_fail(e, WL_EUNAVAIL, "there is an NVIDIA GPU on the PCI bus, but no driver: %s", why);
    }
    return wl_fail(e, WL_EUNAVAIL, "no NVIDIA GPU on the PCI bus and no NVIDIA driver (%s)", why);
}

static int open_library(struct wl_nvml *lib, const struct wl_power_opts *o, struct wl_arena *a, const char **fix,
                        struct wl_err *e)
{
    static const char *const names[] = { "libnvidia-ml.so.1", "libnvidia-ml.so", NULL };
    const struct wl_library_spec spec = { .path = o->nvml_library ? o->nvml_library : getenv("NVML_LIBRARY"),
                                          .names = names,
                                          .symbols = symbols,
                                          .n = WL_COUNT(symbols),
                                          .simulated_symbol = "wattlaw_simulated_nvml" };
    struct wl_library opened = { 0 };
    int rc = wl_library_open(&opened, &spec, lib, a, e);
    if (rc == WL_EUNAVAIL && spec.path)
        *fix = "name the library of the driver: --nvml-library PATH, or unset NVML_LIBRARY";
    else if (rc == WL_EUNAVAIL)
        rc = not_found(o->root, wl_strdup(a, e->msg), a, fix, e);
    lib->path = opened.path;
    lib->simulated = opened.simulated;
    return rc;
}

static int initialise(struct wl_nvml *lib, const char **fix, struct wl_err *e)
{
    nvmlReturn_t rc = lib->Init();
    if (rc == NVML_SUCCESS) return 0;
    if (rc == NVML_ERROR_DRIVER_NOT_LOADED) *fix = "sudo modprobe nvidia";
    if (rc == NVML_ERROR_LIB_RM_VERSION_MISMATCH)
        *fix = "reboot, or unload and load the nvidia modules: the driver was updated under a running kernel module";
    if (rc == NVML_ERROR_NO_PERMISSION) *fix = "sudo chmod a+rw /dev/nvidiactl /dev/nvidia[0-9]*";
    int code = rc == NVML_ERROR_NO_PERMISSION ? WL_EPERM : rc == NVML_ERROR_DRIVER_NOT_LOADED ? WL_EUNAVAIL : WL_ELIB;
    return wl_fail(e, code, "%s: nvmlInit: %s", lib->path, wl_nvml_error_text(rc));
}

int wl_nvml_library_open(struct wl_nvml *lib, const struct wl_power_opts *opts, struct wl_arena *a, const char **fix,
                         struct wl_err *e)
{
    int code = open_library(lib, opts, a, fix, e);
    if (code == 0) code = initialise(lib, fix, e);
    if (code < 0) return code;
    wl_defer(a, shut_down, lib);
    if (lib->SystemGetDriverVersion(lib->driver, sizeof lib->driver) != NVML_SUCCESS)
        memcpy(lib->driver, "?", sizeof "?");
    if (lib->SystemGetNVMLVersion(lib->version, sizeof lib->version) != NVML_SUCCESS)
        memcpy(lib->version, "?", sizeof "?");
    return 0;
}
