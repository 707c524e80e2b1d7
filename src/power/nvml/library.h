/* libnvidia-ml.so opened at run time. */
#ifndef WL_POWER_NVML_LIBRARY_H
#define WL_POWER_NVML_LIBRARY_H

#include "power/nvml/api.h"
#include "power/nvml/limits.h"

/* Functions by their names without "nvml"; those from `optional` on may be NULL. */
struct wl_nvml {
    const char *path; /* what was opened */
    char driver[NVML_VERSION_SIZE], version[NVML_VERSION_SIZE];
    bool simulated; /* exports wattlaw_simulated_nvml */

    nvmlReturn_t (*Init)(void);
    nvmlReturn_t (*Shutdown)(void);
    nvmlReturn_t (*SystemGetDriverVersion)(char *, unsigned);
    nvmlReturn_t (*SystemGetNVMLVersion)(char *, unsigned);
    nvmlReturn_t (*DeviceGetCount)(unsigned *);
    nvmlReturn_t (*DeviceGetHandleByIndex)(unsigned, nvmlDevice_t *);
    nvmlReturn_t (*DeviceGetName)(nvmlDevice_t, char *, unsigned);
    nvmlReturn_t (*DeviceGetUUID)(nvmlDevice_t, char *, unsigned);

    /* optional */
    nvmlReturn_t (*DeviceGetPciInfo_v3)(nvmlDevice_t, nvmlPciInfo_t *);
    nvmlReturn_t (*DeviceGetPciInfo_v2)(nvmlDevice_t, nvmlPciInfo_t *);
    nvmlReturn_t (*DeviceGetHandleByUUID)(const char *, nvmlDevice_t *);
    nvmlReturn_t (*DeviceGetDeviceHandleFromMigDeviceHandle)(nvmlDevice_t, nvmlDevice_t *);
    nvmlReturn_t (*DeviceGetFieldValues)(nvmlDevice_t, int, nvmlFieldValue_t *);
    nvmlReturn_t (*DeviceGetTotalEnergyConsumption)(nvmlDevice_t, unsigned long long *);
    nvmlReturn_t (*DeviceGetPowerUsage)(nvmlDevice_t, unsigned *);
    nvmlReturn_t (*DeviceGetUtilizationRates)(nvmlDevice_t, nvmlUtilization_t *);
    nvmlReturn_t (*DeviceGetClockInfo)(nvmlDevice_t, int, unsigned *);
    nvmlReturn_t (*DeviceGetMemoryInfo_v2)(nvmlDevice_t, nvmlMemory_v2_t *);
    nvmlReturn_t (*DeviceGetMemoryInfo)(nvmlDevice_t, nvmlMemory_t *);
    nvmlReturn_t (*DeviceGetTemperatureV)(nvmlDevice_t, nvmlTemperature_t *);
    nvmlReturn_t (*DeviceGetTemperature)(nvmlDevice_t, int, unsigned *);
    nvmlReturn_t (*DeviceGetCurrentClocksEventReasons)(nvmlDevice_t, unsigned long long *);

    nvmlReturn_t (*DeviceGetSamples)(nvmlDevice_t, int type, unsigned long long since_us, int *value_type,
                                     unsigned *count, nvmlSample_t *);
    nvmlReturn_t (*DeviceGetComputeRunningProcesses)(nvmlDevice_t, unsigned *count, nvmlProcessInfo_t *);
    nvmlReturn_t (*DeviceGetProcessUtilization)(nvmlDevice_t, nvmlProcessUtilizationSample_t *, unsigned *count,
                                                unsigned long long since_us);

    /* optional: what the GPU is */
    nvmlReturn_t (*DeviceGetArchitecture)(nvmlDevice_t, unsigned *);
    nvmlReturn_t (*DeviceGetVbiosVersion)(nvmlDevice_t, char *, unsigned);
    nvmlReturn_t (*DeviceGetSerial)(nvmlDevice_t, char *, unsigned);
    nvmlReturn_t (*DeviceGetEccMode)(nvmlDevice_t, int *now, int *after_reset);
    nvmlReturn_t (*DeviceGetPersistenceMode)(nvmlDevice_t, int *);
    nvmlReturn_t (*DeviceGetMigMode)(nvmlDevice_t, unsigned *now, unsigned *after_reset);

    /* optional: GPM */
    nvmlReturn_t (*GpmQueryDeviceSupport)(nvmlDevice_t, nvmlGpmSupport_t *);
    nvmlReturn_t (*GpmSampleAlloc)(nvmlGpmSample_t *);
    nvmlReturn_t (*GpmSampleFree)(nvmlGpmSample_t);
    nvmlReturn_t (*GpmSampleGet)(nvmlDevice_t, nvmlGpmSample_t);
    nvmlReturn_t (*GpmMetricsGet)(nvmlGpmMetricsGet_t *);

    /* optional: limits (mW, MHz) */
    nvmlReturn_t (*DeviceGetPowerManagementLimit)(nvmlDevice_t, unsigned *);
    nvmlReturn_t (*DeviceGetPowerManagementDefaultLimit)(nvmlDevice_t, unsigned *);
    nvmlReturn_t (*DeviceGetPowerManagementLimitConstraints)(nvmlDevice_t, unsigned *min, unsigned *max);
    nvmlReturn_t (*DeviceGetEnforcedPowerLimit)(nvmlDevice_t, unsigned *);
    nvmlReturn_t (*DeviceSetPowerManagementLimit)(nvmlDevice_t, unsigned);
    nvmlReturn_t (*DeviceSetPowerManagementLimit_v2)(nvmlDevice_t, nvmlPowerValue_v2_t *);
    nvmlReturn_t (*DeviceGetMaxClockInfo)(nvmlDevice_t, int, unsigned *);
    nvmlReturn_t (*DeviceGetSupportedMemoryClocks)(nvmlDevice_t, unsigned *n, unsigned *mhz);
    nvmlReturn_t (*DeviceSetGpuLockedClocks)(nvmlDevice_t, unsigned min, unsigned max);
    nvmlReturn_t (*DeviceResetGpuLockedClocks)(nvmlDevice_t);
    nvmlReturn_t (*DeviceSetMemoryLockedClocks)(nvmlDevice_t, unsigned min, unsigned max);
    nvmlReturn_t (*DeviceResetMemoryLockedClocks)(nvmlDevice_t);
};

/* Opens the library (opts->nvml_library, else $NVML_LIBRARY, else libnvidia-ml.so.1, else libnvidia-ml.so), finds the
 * symbols and initialises it; shut down with the arena. WL_EUNAVAIL, WL_EPERM or WL_ELIB with the exact reason; *fix is
 * the command that helps, or NULL. */
int wl_nvml_library_open(struct wl_nvml *lib, const struct wl_power_opts *opts, struct wl_arena *a, const char **fix,
                         struct wl_err *e) WL_MUST_CHECK;

/* A code's meaning, static text: "NVML: GPU is lost". */
const char *wl_nvml_error_text(nvmlReturn_t code);

/* The private part of struct wl_gpus. */
struct wl_gpu_lib {
    struct wl_nvml nvml;
    nvmlDevice_t *handles; /* [n] */
};

/* ---- devices.c ---- */

struct wl_nvml_gpu {
    nvmlDevice_t handle;
    struct wl_device device; /* texts in the arena; `sensor` is not set */
};
struct wl_nvml_gpus {
    struct wl_nvml_gpu *v;
    size_t n;
    const char *note; /* a remark on the choice for the user, or NULL */
};

/* The GPUs to measure, in NVML's order; at least one, else WL_EUNAVAIL. */
int wl_nvml_devices_visible(const struct wl_nvml *lib, const char *visible, struct wl_nvml_gpus *out,
                            struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* All usable GPUs, whatever CUDA_VISIBLE_DEVICES says; otherwise as wl_nvml_devices_visible. */
int wl_nvml_devices_all(const struct wl_nvml *lib, struct wl_nvml_gpus *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

#endif
