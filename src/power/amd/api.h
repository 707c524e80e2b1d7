/* The part of AMD's two management libraries that we use, so that no ROCm header is needed to build.
 * Sources: rocm_smi.h of ROCm 5.2 and 6.x; amdsmi.h of ROCm 7.0 (library 26; the same up to power_limit from library 25
 * on, ROCm 6.4; before that the power structure was another). Names are AMD's own. */
#ifndef WL_POWER_AMD_API_H
#define WL_POWER_AMD_API_H

#include <stdint.h>

/* ---- libamd_smi.so ---- */

typedef void *amdsmi_socket_handle;
typedef void *amdsmi_processor_handle;

enum { AMDSMI_INIT_AMD_GPUS = 1 << 1 };
enum {
    AMDSMI_STATUS_SUCCESS = 0,
    AMDSMI_STATUS_NOT_SUPPORTED = 2,
    AMDSMI_STATUS_NO_PERM = 10,
    AMDSMI_STATUS_BUSY = 30,
    AMDSMI_STATUS_NOT_FOUND = 31,
    AMDSMI_STATUS_DRIVER_NOT_LOADED = 34,
};
enum { AMDSMI_CLK_TYPE_GFX = 0, AMDSMI_CLK_TYPE_MEM = 4 };
enum { AMDSMI_TEMPERATURE_TYPE_HOTSPOT = 1, AMDSMI_TEMPERATURE_TYPE_VRAM = 2 };
enum { AMDSMI_TEMP_CURRENT = 0, AMDSMI_MEM_TYPE_VRAM = 0 };
enum { AMDSMI_UUID_SIZE = 38 };

typedef struct {
    uint32_t major, minor, release; /* libraries before 25 have the year in front: 23 or 24 */
    const char *build;
    uint64_t room[2]; /* for the longer structure of those */
} amdsmi_version_t;

typedef struct {
    uint64_t socket_power;
    uint32_t current_socket_power, average_socket_power; /* W; beyond 65534: not supported */
    uint64_t gfx_voltage, soc_voltage, mem_voltage;
    uint32_t power_limit;
    uint64_t reserved[18];
} amdsmi_power_info_t;

typedef struct {
    uint64_t power_cap, default_power_cap, dpm_cap, min_power_cap, max_power_cap; /* uW */
    uint64_t reserved[3];
} amdsmi_power_cap_info_t;

typedef struct {
    uint32_t clk, min_clk, max_clk; /* MHz */
    uint8_t clk_locked, clk_deep_sleep;
    uint32_t reserved[4];
} amdsmi_clk_info_t;

typedef struct {
    uint32_t gfx_activity, umc_activity, mm_activity; /* % */
    uint32_t reserved[13];
} amdsmi_engine_usage_t;

typedef struct {
    char market_name[256];
    uint32_t vendor_id;
    char vendor_name[256];
    uint32_t subvendor_id;
    uint64_t device_id;
    uint32_t rev_id;
    char asic_serial[256];
    uint32_t oam_id, num_of_compute_units;
    uint64_t target_graphics_version;
    uint32_t subsystem_id;
    uint32_t reserved[21];
} amdsmi_asic_info_t;

_Static_assert(sizeof(amdsmi_power_info_t) == 192, "amdsmi_power_info_t of ROCm 7.0");
_Static_assert(sizeof(amdsmi_power_cap_info_t) == 64, "amdsmi_power_cap_info_t of ROCm 7.0");
_Static_assert(sizeof(amdsmi_clk_info_t) == 32, "amdsmi_clk_info_t of ROCm 7.0");
_Static_assert(sizeof(amdsmi_engine_usage_t) == 64, "amdsmi_engine_usage_t of ROCm 7.0");
_Static_assert(sizeof(amdsmi_asic_info_t) == 896, "amdsmi_asic_info_t of ROCm 7.0");

/* ---- librocm_smi64.so: devices are numbered from 0 ---- */

enum { RSMI_STATUS_SUCCESS = 0, RSMI_STATUS_NOT_SUPPORTED = 2, RSMI_STATUS_PERMISSION = 4, RSMI_STATUS_BUSY = 16 };
enum { RSMI_AVERAGE_POWER = 0, RSMI_CURRENT_POWER = 1 };
enum { RSMI_TEMP_TYPE_JUNCTION = 1, RSMI_TEMP_TYPE_MEMORY = 2, RSMI_TEMP_CURRENT = 0, RSMI_MEM_TYPE_VRAM = 0 };

#endif
