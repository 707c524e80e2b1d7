/* The part of NVML's binary interface that we use, so that no CUDA header is needed to build.
 * Source: nvml.h of API version 13 (NVIDIA/go-nvml, gen/nvml/nvml.h). Names are NVML's own. */
#ifndef WL_POWER_NVML_API_H
#define WL_POWER_NVML_API_H

#include <stdint.h>

typedef struct nvmlDevice_st *nvmlDevice_t;

enum nvmlReturn {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_TIMEOUT = 10,
    NVML_ERROR_LIBRARY_NOT_FOUND = 12,
    NVML_ERROR_FUNCTION_NOT_FOUND = 13,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_RESET_REQUIRED = 16,
    NVML_ERROR_OPERATING_SYSTEM = 17, /* blocked by a cgroup: not our GPU */
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
    NVML_ERROR_FREQ_NOT_SUPPORTED = 24,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_ERROR_DEPRECATED = 26,
    NVML_ERROR_UNKNOWN = 999,
};
typedef int nvmlReturn_t; /* enum nvmlReturn, or a code that came later */

#define NVML_VERSIONED(type, version) ((unsigned)(sizeof(type) | (unsigned)(version) << 24))

enum { NVML_NAME_SIZE = 96, NVML_UUID_SIZE = 96, NVML_VERSION_SIZE = 80 };

/* nvmlDeviceGetPciInfo_v3. The _v2 call fills the first 52 bytes, whose busIdLegacy is the bus id. */
typedef struct {
    char busIdLegacy[16];
    unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} nvmlPciInfo_t;

typedef struct {
    unsigned gpu, memory; /* % */
} nvmlUtilization_t;

typedef struct {
    unsigned long long total, free, used; /* bytes; used includes what the driver reserves */
} nvmlMemory_t;

typedef struct {
    unsigned version; /* NVML_VERSIONED(nvmlMemory_v2_t, 2) */
    unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;

typedef struct {
    unsigned version; /* NVML_VERSIONED(nvmlTemperature_t, 1) */
    int sensorType;   /* 0: GPU die */
    int temperature;  /* degrees Celsius */
} nvmlTemperature_t;

/* nvmlValueType_t */
enum {
    NVML_VALUE_TYPE_DOUBLE = 0,
    NVML_VALUE_TYPE_UNSIGNED_INT = 1,
    NVML_VALUE_TYPE_UNSIGNED_LONG = 2,
    NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3,
    NVML_VALUE_TYPE_SIGNED_LONG_LONG = 4,
    NVML_VALUE_TYPE_SIGNED_INT = 5,
    NVML_VALUE_TYPE_UNSIGNED_SHORT = 6,
};

typedef union {
    double dVal;
    int siVal;
    unsigned uiVal;
    unsigned long ulVal;
    unsigned long long ullVal;
    signed long long sllVal;
    unsigned short usVal;
} nvmlValue_t;

typedef struct {
    unsigned fieldId, scopeId;
    long long timestamp, latencyUsec; /* us since 1970; us */
    int valueType;
    nvmlReturn_t nvmlReturn;
    nvmlValue_t value;
} nvmlFieldValue_t;

/* Field ids. Times in which the clock was held down are ns since the driver was loaded. */
enum {
    NVML_FI_DEV_PERF_POLICY_POWER = 74,
    NVML_FI_DEV_PERF_POLICY_THERMAL = 75,
    NVML_FI_DEV_PERF_POLICY_SYNC_BOOST = 76,
    NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT = 77,
    NVML_FI_DEV_PERF_POLICY_RELIABILITY = 79,
    NVML_FI_DEV_MEMORY_TEMP = 82,                /* degrees Celsius */
    NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION = 83,   /* mJ since the driver was loaded */
    NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX = 138, /* KiB; the scope is a link or all of them */
    NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX = 139,
    NVML_FI_DEV_POWER_AVERAGE = 185,   /* mW, mean of 1 s; Ampere (not GA100) and newer */
    NVML_FI_DEV_POWER_INSTANT = 186,   /* mW */
    NVML_FI_DEV_POWER_MIN_LIMIT = 187, /* mW, of a power scope, as 188 to 190 and 192 */
    NVML_FI_DEV_POWER_MAX_LIMIT = 188,
    NVML_FI_DEV_POWER_DEFAULT_LIMIT = 189,
    NVML_FI_DEV_POWER_CURRENT_LIMIT = 190, /* enforced: the lowest of all, those set out of band among them */
    NVML_FI_DEV_ENERGY = 191,              /* as 83, with a power scope */
    NVML_FI_DEV_POWER_REQUESTED_LIMIT = 192,
    NVML_FI_DEV_PCIE_COUNT_TX_BYTES = 197, /* starts over at the end of its type */
    NVML_FI_DEV_PCIE_COUNT_RX_BYTES = 198,
    NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN = 269,
    NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN = 270,
    NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN = 271,
};

/* scopeId of power and energy fields; of NVLink fields all links together */
enum { NVML_POWER_SCOPE_GPU = 0, NVML_POWER_SCOPE_MODULE = 1, NVML_POWER_SCOPE_MEMORY = 2 };
typedef unsigned char nvmlPowerScopeType_t;

/* nvmlDeviceSetPowerManagementLimit_v2. The header's remark that the version must be 1 is not what its macro says. */
typedef struct {
    unsigned version; /* NVML_VERSIONED(nvmlPowerValue_v2_t, 2) */
    nvmlPowerScopeType_t powerScope;
    unsigned powerValueMw;
} nvmlPowerValue_v2_t;
_Static_assert(NVML_VERSIONED(nvmlPowerValue_v2_t, 2) == 0x200000c, "12 bytes, as NVML's own bindings say");
#define NVML_ALL_LINKS 0xffffffffu

/* nvmlSamplingType_t */
enum { NVML_GPU_UTILIZATION_SAMPLES = 1 };

typedef struct {
    unsigned long long timeStamp; /* us since 1970 */
    nvmlValue_t sampleValue;
} nvmlSample_t;

/* nvmlDeviceGetComputeRunningProcesses_v3 and _v2; the plain call leaves out the last two. */
typedef struct {
    unsigned pid;
    unsigned long long usedGpuMemory; /* bytes */
    unsigned gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;

/* nvmlProcessUtilizationSample_t: of a process since the time stamp that the caller gave. */
typedef struct {
    unsigned pid;
    unsigned long long timeStamp;               /* us since 1970 */
    unsigned smUtil, memUtil, encUtil, decUtil; /* % */
} nvmlProcessUtilizationSample_t;

/* ---- GPM: profiling counters of Hopper and newer ---- */

typedef struct nvmlGpmSample_st *nvmlGpmSample_t;

/* nvmlGpmMetricId_t: shares in %, rates in MiB/s */
enum {
    NVML_GPM_METRIC_SM_UTIL = 2,
    NVML_GPM_METRIC_SM_OCCUPANCY = 3,
    NVML_GPM_METRIC_ANY_TENSOR_UTIL = 5,
    NVML_GPM_METRIC_DRAM_BW_UTIL = 10,
    NVML_GPM_METRIC_PCIE_TX_PER_SEC = 20,
    NVML_GPM_METRIC_PCIE_RX_PER_SEC = 21,
    NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC = 60,
    NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC = 61,
    NVML_GPM_METRIC_MAX = 333, /* grows from header to header; the library looks at numMetrics of them */
};

typedef struct {
    unsigned metricId;
    nvmlReturn_t nvmlReturn;
    double value;
    struct {
        char *shortName, *longName, *unit;
    } metricInfo;
} nvmlGpmMetric_t;

typedef struct {
    unsigned version; /* NVML_GPM_VERSION */
    unsigned numMetrics;
    nvmlGpmSample_t sample1, sample2;
    nvmlGpmMetric_t metrics[NVML_GPM_METRIC_MAX];
} nvmlGpmMetricsGet_t;

typedef struct {
    unsigned version; /* NVML_GPM_VERSION */
    unsigned isSupportedDevice;
} nvmlGpmSupport_t;

enum { NVML_GPM_VERSION = 1 };

/* nvmlClockType_t */
enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };

/* nvmlTemperatureSensors_t */
enum { NVML_TEMPERATURE_GPU = 0 };

#endif
