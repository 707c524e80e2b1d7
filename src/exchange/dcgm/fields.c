/* Which of DCGM's fields are read. Those in bytes a second and those whose unit changed between versions (times of
 * violations: us, ns) are not. */
#include "exchange/dcgm/internal.h"

/* Ratios of profiling counters go from 0 to 1; GPU_UTIL has a newer name that says ratio and stays in %. */
static const struct wl_dcgm_field fields[] = {
    { "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS", "POWER", "power_w", "W", "driver", 1,
      .counter = false },
    { "DCGM_FI_DEV_POWER_USAGE_INSTANT", "DCGM_FI_DEV_BOARD_POWER_RAW_WATTS", "POWINST", "power_w", "W", "instant", 1,
      .counter = false },
    { "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", NULL, "TOTEC", "energy_j", "J", "", 1e-3, .counter = true }, /* mJ */
    { "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO", "GPUTL", "sm_util_pct", "%", "", 1, .pct = true,
      .per_instance = true },
    { "DCGM_FI_DEV_MEM_COPY_UTIL", NULL, "MCUTL", "mem_util_pct", "%", "", 1, .pct = true, .per_instance = true },
    { "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO", "SMACT", "sm_active_pct", "%", "", 100, .pct = true,
      .per_instance = true },
    { "DCGM_FI_PROF_SM_OCCUPANCY", "DCGM_FI_PROF_SM_OCCUPANCY_RATIO", "SMOCC", "sm_occupancy_pct", "%", "", 100,
      .pct = true, .per_instance = true },
    { "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_TENSOR_UTIL_RATIO", "TENSO", "tensor_active_pct", "%", "", 100,
      .pct = true, .per_instance = true },
    { "DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_PROF_DRAM_UTIL_RATIO", "DRAMA", "dram_active_pct", "%", "", 100, .pct = true,
      .per_instance = true },
    { "DCGM_FI_DEV_SM_CLOCK", NULL, "SMCLK", "sm_clock_mhz", "MHz", "", 1, .counter = false },
    { "DCGM_FI_DEV_MEM_CLOCK", NULL, "MMCLK", "mem_clock_mhz", "MHz", "", 1, .counter = false },
    { "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS", "TMPTR", "temperature_c", "°C", "", 1, .counter = false },
    { "DCGM_FI_DEV_MEMORY_TEMP", "DCGM_FI_DEV_MEMORY_TEMP_CELSIUS", "MMTMP", "mem_temperature_c", "°C", "", 1,
      .counter = false },
    { "DCGM_FI_DEV_FB_USED", NULL, "FBUSD", "mem_used_bytes", "B", "", 1048576, .per_instance = true }, /* MiB */
};

const struct wl_dcgm_field *wl_dcgm_field_named(const char *metric)
{
    for (size_t i = 0; i < WL_COUNT(fields); i++)
        if (wl_str_eq(metric, fields[i].name) || (fields[i].newer && wl_str_eq(metric, fields[i].newer)))
            return &fields[i];
    return NULL;
}

const struct wl_dcgm_field *wl_dcgm_field_of_column(const char *column)
{
    for (size_t i = 0; i < WL_COUNT(fields); i++)
        if (wl_str_eq(column, fields[i].column)) return &fields[i];
    return NULL;
}
