/* The part of Level Zero's sysman interface that we use, so that no header of it is needed to build.
 * Source: ze_api.h and zes_api.h of oneapi-src/level-zero, version 1.32. Names are Level Zero's own. */
#ifndef WL_POWER_INTEL_API_H
#define WL_POWER_INTEL_API_H

#include <stdint.h>

typedef struct ze_handle *ze_handle_t; /* driver, device, power domain ... */

enum {
    ZE_RESULT_SUCCESS = 0,
    ZE_RESULT_ERROR_DEVICE_LOST = 0x70000001,
    ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS = 0x70010000,
    ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE = 0x70020000,
    ZE_RESULT_ERROR_UNINITIALIZED = 0x78000001,
    ZE_RESULT_ERROR_UNSUPPORTED_FEATURE = 0x78000003,
};

/* zes_structure_type_t */
enum {
    ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES = 0x1,
    ZES_STRUCTURE_TYPE_PCI_PROPERTIES = 0x2,
    ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES = 0x5,
    ZES_STRUCTURE_TYPE_FREQ_PROPERTIES = 0x9,
    ZES_STRUCTURE_TYPE_POWER_PROPERTIES = 0xd,
    ZES_STRUCTURE_TYPE_FREQ_STATE = 0x1b,
};

enum { ZES_ENGINE_GROUP_ALL = 0, ZES_ENGINE_GROUP_COMPUTE_ALL = 1 };
enum { ZES_FREQ_DOMAIN_GPU = 0, ZES_FREQ_DOMAIN_MEMORY = 1 };

typedef struct {
    int stype;
    void *pNext;
    int type;
    uint32_t vendorId, deviceId, flags, subdeviceId, coreClockRate;
    uint64_t maxMemAllocSize;
    uint32_t maxHardwareContexts, maxCommandQueuePriority, numThreadsPerEU, physicalEUSimdWidth, numEUsPerSubslice,
        numSubslicesPerSlice, numSlices;
    uint64_t timerResolution;
    uint32_t timestampValidBits, kernelTimestampValidBits;
    uint8_t uuid[16];
    char name[256];
} ze_device_properties_t;

typedef struct {
    int stype;
    void *pNext;
    ze_device_properties_t core;
    uint32_t numSubdevices;
    char serialNumber[64], boardNumber[64], brandName[64], modelName[64], vendorName[64], driverVersion[64];
} zes_device_properties_t;

typedef struct {
    int stype;
    void *pNext;
    struct {
        uint32_t domain, bus, device, function;
    } address;
    struct {
        int32_t gen, width;
        int64_t maxBandwidth;
    } maxSpeed;
    uint8_t haveBandwidthCounters, havePacketCounters, haveReplayCounters;
} zes_pci_properties_t;

typedef struct {
    int stype;
    void *pNext;
    uint8_t onSubdevice;
    uint32_t subdeviceId;
    uint8_t canControl, isEnergyThresholdSupported;
    int32_t defaultLimit, minLimit, maxLimit; /* mW; -1: not known */
} zes_power_properties_t;

typedef struct {
    uint64_t energy, timestamp; /* uJ, us */
} zes_power_energy_counter_t;

typedef struct {
    uint8_t enabled;
    int32_t power, interval; /* mW, ms */
} zes_power_sustained_limit_t;

typedef struct {
    int stype;
    void *pNext;
    int type;
    uint8_t onSubdevice;
    uint32_t subdeviceId;
} zes_engine_properties_t;

typedef struct {
    uint64_t activeTime, timestamp; /* of one unit: their differences form a share */
} zes_engine_stats_t;

typedef struct {
    int stype;
    void *pNext;
    int type;
    uint8_t onSubdevice;
    uint32_t subdeviceId;
    uint8_t canControl, isThrottleEventSupported;
    double min, max; /* MHz */
} zes_freq_properties_t;

typedef struct {
    int stype;
    const void *pNext;
    double currentVoltage, request, tdp, efficient, actual; /* V; MHz, negative: not known */
    uint32_t throttleReasons;
} zes_freq_state_t;

_Static_assert(sizeof(ze_device_properties_t) == 368, "ze_device_properties_t of Level Zero 1.32");
_Static_assert(sizeof(zes_device_properties_t) == 776, "zes_device_properties_t of Level Zero 1.32");
_Static_assert(sizeof(zes_pci_properties_t) == 56, "zes_pci_properties_t of Level Zero 1.32");
_Static_assert(sizeof(zes_power_properties_t) == 40, "zes_power_properties_t of Level Zero 1.32");
_Static_assert(sizeof(zes_freq_properties_t) == 48, "zes_freq_properties_t of Level Zero 1.32");
_Static_assert(sizeof(zes_freq_state_t) == 64, "zes_freq_state_t of Level Zero 1.32");

#endif
