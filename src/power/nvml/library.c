#include "power/nvml/library.h"

#include "base/library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Symbols by preference; the first that the library has is taken. */
struct symbol {
    size_t at;
    const char *names[2];
    bool required;
};
#define FN(field) offsetof(struct wl_nvml, field)

static const struct symbol symbols[] = {
    { FN(Init), { "nvmlInit_v2", "nvmlInit" }, true },
    { FN(Shutdown), { "nvmlShutdown" }, true },
    { FN(SystemGetDriverVersion), { "nvmlSystemGetDriverVersion" }, true },
    { FN(SystemGetNVMLVersion), { "nvmlSystemGetNVMLVersion" }, true },
    { FN(DeviceGetCount), { "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount" }, true },
    { FN(DeviceGetHandleByIndex), { "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex" }, true },
    { FN(DeviceGetName), { "nvmlDeviceGetName" }, true },
    { FN(DeviceGetUUID), { "nvmlDeviceGetUUID" }, true },
    { FN(DeviceGetPciInfo_v3), { "nvmlDeviceGetPciInfo_v3" }, false },
    { FN(DeviceGetPciInfo_v2), { "nvmlDeviceGetPciInfo_v2" }, false },
    { FN(DeviceGetHandleByUUID), { "nvmlDeviceGetHandleByUUID" }, false },
    { FN(DeviceGetDeviceHandleFromMigDeviceHandle), { "nvmlDeviceGetDeviceHandleFromMigDeviceHandle" }, false },
    { FN(DeviceGetFieldValues), { "nvmlDeviceGetFieldValues" }, false },
    { FN(DeviceGetTotalEnergyConsumption), { "nvmlDeviceGetTotalEnergyConsumption" }, false },
    { FN(DeviceGetPowerUsage), { "nvmlDeviceGetPowerUsage" }, false },
    { FN(DeviceGetUtilizationRates), { "nvmlDeviceGetUtilizationRates" }, false },
    { FN(DeviceGetClockInfo), { "nvmlDeviceGetClockInfo" }, false },
    { FN(DeviceGetMemoryInfo_v2), { "nvmlDeviceGetMemoryInfo_v2" }, false },
    { FN(DeviceGetMemoryInfo), { "nvmlDeviceGetMemoryInfo" }, false },
    { FN(DeviceGetTemperatureV), { "nvmlDeviceGetTemperatureV" }, false },
    { FN(DeviceGetTemperature), { "nvmlDeviceGetTemperature" }, false },
    { FN(DeviceGetCurrentClocksEventReasons),
      { "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons" },
      false },
    { FN(DeviceGetSamples), { "nvmlDeviceGetSamples" }, false },
    { FN(DeviceGetComputeRunningProcesses),
      { "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2" },
      false },
    { FN(DeviceGetArchitecture), { "nvmlDeviceGetArchitecture" }, false },
    { FN(DeviceGetVbiosVersion), { "nvmlDeviceGetVbiosVersion" }, false },
    { FN(DeviceGetSerial), { "nvmlDeviceGetSerial" }, false },
    { FN(DeviceGetEccMode), { "nvmlDeviceGetEccMode" }, false },
    { FN(DeviceGetPersistenceMode), { "nvmlDeviceGetPersistenceMode" }, false },
    { FN(DeviceGetMigMode), { "nvmlDeviceGetMigMode" }, false },
    { FN(GpmQueryDeviceSupport), { "nvmlGpmQueryDeviceSupport" }, false },
    { FN(GpmSampleAlloc), { "nvmlGpmSampleAlloc" }, false },
    { FN(GpmSampleFree), { "nvmlGpmSampleFree" }, false },
    { FN(GpmSampleGet), { "nvmlGpmSampleGet" }, false },
    { FN(GpmMetricsGet), { "nvmlGpmMetricsGet" }, false },
    { FN(DeviceGetPowerManagementLimit), { "nvmlDeviceGetPowerManagementLimit" }, false },
    { FN(DeviceGetPowerManagementDefaultLimit), { "nvmlDeviceGetPowerManagementDefaultLimit" }, false },
    { FN(DeviceGetPowerManagementLimitConstraints), { "nvmlDeviceGetPowerManagementLimitConstraints" }, false },
    { FN(DeviceGetEnforcedPowerLimit), { "nvmlDeviceGetEnforcedPowerLimit" }, false },
    { FN(DeviceSetPowerManagementLimit), { "nvmlDeviceSetPowerManagementLimit" }, false },
    { FN(DeviceSetPowerManagementLimit_v2), { "nvmlDeviceSetPowerManagementLimit_v2" }, false },
    { FN(DeviceGetMaxClockInfo), { "nvmlDeviceGetMaxClockInfo" }, false },
    { FN(DeviceGetSupportedMemoryClocks), { "nvmlDeviceGetSupportedMemoryClocks" }, false },
    { FN(DeviceSetGpuLockedClocks), { "nvmlDeviceSetGpuLockedClocks" }, false },
    { FN(DeviceResetGpuLockedClocks), { "nvmlDeviceResetGpuLockedClocks" }, false },
    { FN(DeviceSetMemoryLockedClocks), { "nvmlDeviceSetMemoryLockedClocks" }, false },
    { FN(DeviceResetMemoryLockedClocks), { "nvmlDeviceResetMemoryLockedClocks" }, false },
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
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "NVML: library and kernel module are of different versions";
    case NVML_ERROR_FREQ_NOT_SUPPORTED: return "NVML: frequency not supported";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH: return "NVML: the driver does not know this version of a struct";
    case NVML_ERROR_DEPRECATED: return "NVML: deprecated";
    default: return "NVML: unknown error";
    }
}

static void close_library(void *handle) { dlclose(handle); }

static void shut_down(void *lib) { ((struct wl_nvml *)lib)->Shutdown(); }

/* The library was not found: which of the three common reasons is it? */
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

/* A library that was named outright is the only one tried. */
static void *open_library(struct wl_nvml *lib, const struct wl_power_opts *o, struct wl_arena *a, const char **fix,
                          struct wl_err *e)
{
    const char *named = o->nvml_library ? o->nvml_library : getenv("NVML_LIBRARY");
    const char *const tries[] = { named ? named : "libnvidia-ml.so.1", named ? NULL : "libnvidia-ml.so" };
    const char *why = NULL;
    for (size_t i = 0; i < WL_COUNT(tries) && tries[i]; i++) {
        void *handle = dlopen(tries[i], RTLD_NOW | RTLD_LOCAL);
        if (handle) {
            lib->path = wl_strdup(a, tries[i]);
            return handle;
        }
        const char *text = dlerror();
        if (!why) why = wl_strdup(a, text ? text : tries[i]);
    }
    if (named) {
        *fix = "name the library of the driver: --nvml-library PATH, or unset NVML_LIBRARY";
        wl_fail(e, WL_EUNAVAIL, "%s", why);
    } else {
        not_found(o->root, why, a, fix, e);
    }
    return NULL;
}

static int find_symbols(struct wl_nvml *lib, void *handle, struct wl_err *e)
{
    for (size_t i = 0; i < WL_COUNT(symbols); i++) {
        const struct symbol *s = &symbols[i];
        void *found = dlsym(handle, s->names[0]);
        if (!found && s->names[1]) found = dlsym(handle, s->names[1]);
        if (!found && s->required) return wl_fail(e, WL_ELIB, "%s has no %s", lib->path, s->names[0]);
        memcpy((char *)lib + s->at, &found, sizeof found);
    }
    lib->simulated = dlsym(handle, "wattlaw_simulated_nvml") != NULL;
    return 0;
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
    void *handle = open_library(lib, opts, a, fix, e);
    if (!handle) return WL_EUNAVAIL;
    wl_defer(a, close_library, handle);
    int code = find_symbols(lib, handle, e);
    if (code == 0) code = initialise(lib, fix, e);
    if (code < 0) return code;
    wl_defer(a, shut_down, lib);
    if (lib->SystemGetDriverVersion(lib->driver, sizeof lib->driver) != NVML_SUCCESS)
        memcpy(lib->driver, "?", sizeof "?");
    if (lib->SystemGetNVMLVersion(lib->version, sizeof lib->version) != NVML_SUCCESS)
        memcpy(lib->version, "?", sizeof "?");
    return 0;
}
