#include "power/quantity.h"

/* Names, units and poll intervals, in the order of the enums. Drivers average utilisation over 1/6 s to 1 s; profiling
 * shares and CPU time are averaged between two readings, so that a longer interval hides nothing; of a counter only its
 * difference over a window is used. Power and energy are interpolated at the edges of windows. */
static const struct {
    const char *name, *unit;
    bool counts;
    enum wl_poll_interval poll_interval;
} quantities[WL_QUANTITIES] = {
    [WL_POWER] = { "power_w", "W", false, WL_POLL_EVERY_TICK },
    [WL_POWER_AVERAGE] = { "power_average_w", "W", false, WL_POLL_EVERY_TICK },
    [WL_ENERGY] = { "energy_j", "J", true, WL_POLL_EVERY_TICK },
    [WL_SM_UTIL] = { "sm_util_pct", "%", false, WL_POLL_HALF_SECOND },
    [WL_MEM_UTIL] = { "mem_util_pct", "%", false, WL_POLL_HALF_SECOND },
    [WL_SM_ACTIVE] = { "sm_active_pct", "%", false, WL_POLL_HALF_SECOND },
    [WL_SM_OCCUPANCY] = { "sm_occupancy_pct", "%", false, WL_POLL_HALF_SECOND },
    [WL_TENSOR_ACTIVE] = { "tensor_active_pct", "%", false, WL_POLL_HALF_SECOND },
    [WL_DRAM_ACTIVE] = { "dram_active_pct", "%", false, WL_POLL_HALF_SECOND },
    [WL_SM_CLOCK] = { "sm_clock_mhz", "MHz", false, WL_POLL_HALF_SECOND },
    [WL_MEM_CLOCK] = { "mem_clock_mhz", "MHz", false, WL_POLL_HALF_SECOND },
    [WL_MEM_USED] = { "mem_used_bytes", "B", false, WL_POLL_SECOND },
    [WL_TEMPERATURE] = { "temperature_c", "°C", false, WL_POLL_SECOND },
    [WL_MEM_TEMPERATURE] = { "mem_temperature_c", "°C", false, WL_POLL_SECOND },
    [WL_POWER_CAPPED] = { "power_capped_s", "s", true, WL_POLL_SECOND },
    [WL_THERMAL_CAPPED] = { "thermal_capped_s", "s", true, WL_POLL_SECOND },
    [WL_HW_THERMAL_CAPPED] = { "hw_thermal_capped_s", "s", true, WL_POLL_SECOND },
    [WL_POWER_BRAKED] = { "power_braked_s", "s", true, WL_POLL_SECOND },
    [WL_BOARD_LIMITED] = { "board_limited_s", "s", true, WL_POLL_SECOND },
    [WL_RELIABILITY_LIMITED] = { "reliability_limited_s", "s", true, WL_POLL_SECOND },
    [WL_SYNC_BOOSTED] = { "sync_boosted_s", "s", true, WL_POLL_SECOND },
    [WL_NVLINK_TX] = { "nvlink_tx_bytes", "B", true, WL_POLL_SECOND },
    [WL_NVLINK_RX] = { "nvlink_rx_bytes", "B", true, WL_POLL_SECOND },
    [WL_PCIE_TX] = { "pcie_tx_bytes", "B", true, WL_POLL_SECOND },
    [WL_PCIE_RX] = { "pcie_rx_bytes", "B", true, WL_POLL_SECOND },
    [WL_EVENT_REASONS] = { "event_reasons", "", false, WL_POLL_HALF_SECOND },
    [WL_CPU_TIME] = { "cpu_time_s", "s", true, WL_POLL_SECOND },
    [WL_CPU_UTIL] = { "cpu_util_pct", "%", false, WL_POLL_HALF_SECOND },
    [WL_RSS] = { "rss_bytes", "B", false, WL_POLL_SECOND },
    [WL_RUNNABLE] = { "runnable", "", false, WL_POLL_HALF_SECOND },
    [WL_CPUS] = { "cpus", "", false, WL_POLL_SECOND },
    [WL_PROCESS_UTIL] = { "process_util_pct", "%", false, WL_POLL_SECOND },
    [WL_OTHER_PROCESSES] = { "other_processes", "", false, WL_POLL_SECOND },
    [WL_IDLE_POWER] = { "idle_power_w", "W", false, WL_POLL_SECOND },
};

static const char *const scopes[WL_SCOPES] = {
    [WL_SCOPE_GPU] = "gpu",
    [WL_SCOPE_GPU_MEMORY] = "gpu-memory",
    [WL_SCOPE_MODULE] = "module",
    [WL_SCOPE_PACKAGE] = "package",
    [WL_SCOPE_DRAM] = "dram",
    [WL_SCOPE_PSYS] = "psys",
    [WL_SCOPE_NODE] = "node",
    [WL_SCOPE_NODE_CPU] = "node-cpu",
    [WL_SCOPE_NODE_MEMORY] = "node-memory",
    [WL_SCOPE_NODE_ACCEL] = "node-accel",
    [WL_SCOPE_JOB] = "job",
};

static const char *const variants[WL_VARIANTS] = {
    [WL_VARIANT_NONE] = "",         [WL_VARIANT_INSTANT] = "instant", [WL_VARIANT_AVERAGE] = "average",
    [WL_VARIANT_DRIVER] = "driver", [WL_VARIANT_MEAN] = "mean",
};

const char *wl_quantity_name(enum wl_quantity q) { return quantities[q].name; }
const char *wl_quantity_unit(enum wl_quantity q) { return quantities[q].unit; }
bool wl_quantity_is_counter(enum wl_quantity q) { return quantities[q].counts; }
enum wl_poll_interval wl_quantity_poll_interval(enum wl_quantity q) { return quantities[q].poll_interval; }

double wl_poll_interval_s(enum wl_poll_interval p)
{
    static const double seconds[WL_POLL_INTERVALS] = {
        [WL_POLL_EVERY_TICK] = 0, [WL_POLL_HALF_SECOND] = 0.5, [WL_POLL_SECOND] = 1
    };
    return seconds[p];
}

const char *wl_scope_name(enum wl_scope s) { return scopes[s]; }
const char *wl_variant_name(enum wl_power_variant v) { return variants[v]; }

int wl_quantity_from(const char *name)
{
    for (int q = 0; q < WL_QUANTITIES; q++) {
        if (wl_str_eq(name, quantities[q].name)) return q;
    }
    return -1;
}

static int index_of(const char *name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++) {
        if (wl_str_eq(name, names[i])) return i;
    }
    return -1;
}

int wl_scope_from(const char *name) { return index_of(name, scopes, WL_SCOPES); }
int wl_variant_from(const char *name) { return index_of(name, variants, WL_VARIANTS); }
