#include "live/metrics.h"

#include <stdio.h>
#include <string.h>

/* Units are the base units of Prometheus: shares from 0 to 1, hertz, bytes. */
static const struct {
    struct wl_metrics_family family;
    double factor;
} of_quantities[WL_QUANTITIES] = {
    [WL_POWER] = { { "power_watts", "watts", "Power of a device; variant: what kind of reading it is.",
                     WL_METRICS_GAUGE },
                   1 },
    [WL_POWER_AVERAGE] = { { "power_average_watts", "watts", "Running mean of the power of a device, by its driver.",
                             WL_METRICS_GAUGE },
                           1 },
    [WL_ENERGY] = { { "energy_joules", "joules",
                      "Energy of a device; method: its own counter, or an integral of its power since the start of "
                      "wattlaw.",
                      WL_METRICS_COUNTER },
                    1 },
    [WL_SM_UTIL] = { { "utilization_ratio", "ratio", "Share of time in which any kernel ran on a GPU.",
                       WL_METRICS_GAUGE },
                     .01 },
    [WL_MEM_UTIL] = { { "memory_utilization_ratio", "ratio",
                        "Share of time in which the memory of a GPU was read or written.", WL_METRICS_GAUGE },
                      .01 },
    [WL_SM_ACTIVE] = { { "sm_active_ratio", "ratio", "Share of the multiprocessors of a GPU that had work.",
                         WL_METRICS_GAUGE },
                       .01 },
    [WL_SM_OCCUPANCY] = { { "sm_occupancy_ratio", "ratio", "Resident warps of a GPU as a share of their maximum.",
                            WL_METRICS_GAUGE },
                          .01 },
    [WL_TENSOR_ACTIVE] = { { "tensor_active_ratio", "ratio",
                             "Share of the time of the multiprocessors in tensor operations.", WL_METRICS_GAUGE },
                           .01 },
    [WL_DRAM_ACTIVE] = { { "dram_active_ratio", "ratio", "Share of the peak bandwidth of the memory of a GPU.",
                           WL_METRICS_GAUGE },
                         .01 },
    [WL_SM_CLOCK] = { { "sm_clock_hertz", "hertz", "Clock of the multiprocessors of a GPU.", WL_METRICS_GAUGE }, 1e6 },
    [WL_MEM_CLOCK] = { { "memory_clock_hertz", "hertz", "Clock of the memory of a GPU.", WL_METRICS_GAUGE }, 1e6 },
    [WL_MEM_USED] = { { "memory_used_bytes", "bytes", "Memory in use: of a GPU, or of the node.", WL_METRICS_GAUGE },
                      1 },
    [WL_TEMPERATURE] = { { "temperature_celsius", "celsius", "Temperature of a device.", WL_METRICS_GAUGE }, 1 },
    [WL_MEM_TEMPERATURE] = { { "memory_temperature_celsius", "celsius", "Temperature of the memory of a GPU.",
                               WL_METRICS_GAUGE },
                             1 },
    [WL_POWER_CAPPED] = { { "power_capped_seconds", "seconds",
                            "Time for which the power limit of a GPU held its clock down.", WL_METRICS_COUNTER },
                          1 },
    [WL_THERMAL_CAPPED] = { { "thermal_capped_seconds", "seconds",
                              "Time for which the temperature of a GPU held its clock down.", WL_METRICS_COUNTER },
                            1 },
    [WL_HW_THERMAL_CAPPED] = { { "hw_thermal_capped_seconds", "seconds",
                                 "Time for which the hardware halved the clock of a GPU for its temperature.",
                                 WL_METRICS_COUNTER },
                               1 },
    [WL_POWER_BRAKED] = { { "power_braked_seconds", "seconds",
                            "Time for which an external power brake held the clock of a GPU down.",
                            WL_METRICS_COUNTER },
                          1 },
    [WL_NVLINK_TX] = { { "nvlink_transmitted_bytes", "bytes", "Bytes that a GPU sent over all its NVLinks.",
                         WL_METRICS_COUNTER },
                       1 },
    [WL_NVLINK_RX] = { { "nvlink_received_bytes", "bytes", "Bytes that a GPU received over all its NVLinks.",
                         WL_METRICS_COUNTER },
                       1 },
    [WL_PCIE_TX] = { { "pcie_transmitted_bytes", "bytes", "Bytes that a GPU sent over PCIe.", WL_METRICS_COUNTER }, 1 },
    [WL_PCIE_RX] = { { "pcie_received_bytes", "bytes", "Bytes that a GPU received over PCIe.", WL_METRICS_COUNTER },
                     1 },
    [WL_CPU_TIME] = { { "cpu_busy_seconds", "seconds", "Busy time of all CPUs of the node.", WL_METRICS_COUNTER }, 1 },
    [WL_CPU_UTIL] = { { "cpu_utilization_ratio", "ratio", "Busy share of all CPUs of the node.", WL_METRICS_GAUGE },
                      .01 },
    [WL_RUNNABLE] = { { "runnable_tasks", "tasks", "Tasks that run or wait for a CPU on the node.", WL_METRICS_GAUGE },
                      1 },
    [WL_CPUS] = { { "online_cpus", "cpus", "CPUs that are online on the node.", WL_METRICS_GAUGE }, 1 },
    [WL_IDLE_POWER] = { { "idle_power_watts", "watts", "Power at rest of a device, by the model that estimates it.",
                          WL_METRICS_GAUGE },
                        1 },
};

const struct wl_metrics_family *wl_live_metrics_family(enum wl_quantity q, double *factor)
{
    *factor = of_quantities[q].factor;
    return of_quantities[q].family.name ? &of_quantities[q].family : NULL;
}

static const char *provenance(bool estimated, bool simulated)
{
    return estimated || simulated ? wl_provenance_word(wl_provenance_of(estimated, simulated)) : "measured";
}

static void label_channel(struct wl_metrics *m, const struct wl_live_view *v, int channel)
{
    const struct wl_channel *c = &v->sensors->channels[channel];
    const struct wl_device *d = &v->sensors->devices[c->device];
    wl_metrics_label(m, "host", v->host);
    wl_metrics_label(m, "device", d->uuid);
    wl_metrics_label(m, "sensor", d->sensor);
    wl_metrics_label(m, "scope", wl_scope_name(c->scope));
    wl_metrics_label(m, "provenance", provenance(c->estimated, c->simulated));
}

/* ---- readings ---- */

static void put_quantity(struct wl_metrics *m, const struct wl_live_view *v, enum wl_quantity q)
{
    double factor;
    const struct wl_metrics_family *family = wl_live_metrics_family(q, &factor);
    bool begun = false;
    for (size_t i = 0; i < v->sensors->n_channels; i++) {
        const struct wl_channel *c = &v->sensors->channels[i];
        if (c->quantity != q || c->scope == WL_SCOPE_JOB) continue;
        if (!begun) wl_metrics_begin(m, family);
        begun = true;
        label_channel(m, v, (int)i);
        wl_metrics_label(m, "variant", wl_variant_name(c->variant));
        wl_metrics_sample(m, v->readings[i].value * factor);
    }
}

static void put_energies(struct wl_metrics *m, const struct wl_live_view *v)
{
    double factor;
    if (v->n_energies == 0) return;
    wl_metrics_begin(m, wl_live_metrics_family(WL_ENERGY, &factor));
    for (size_t i = 0; i < v->n_energies; i++) {
        label_channel(m, v, v->energies[i].channel);
        wl_metrics_label(m, "method",
                         wl_energy_method_name(v->energies[i].counter ? WL_ENERGY_BY_COUNTER : WL_ENERGY_BY_INTEGRAL));
        wl_metrics_label(m, "counted", v->energies[i].counted ? "true" : "false");
        wl_metrics_sample(m, v->energies[i].total_j);
    }
}

static void put_devices(struct wl_metrics *m, const struct wl_live_view *v)
{
    static const struct wl_metrics_family info = { "device_info", NULL,
                                                   "A device: its name, bus id and number by its sensor. Always 1.",
                                                   WL_METRICS_GAUGE };
    char number[16];
    if (v->sensors->n_devices == 0) return;
    wl_metrics_begin(m, &info);
    for (size_t i = 0; i < v->sensors->n_devices; i++) {
        const struct wl_device *d = &v->sensors->devices[i];
        if (wl_str_eq(d->uuid, WL_JOB_DEVICE)) continue; /* no job is followed */
        snprintf(number, sizeof number, "%d", d->index);
        wl_metrics_label(m, "host", v->host);
        wl_metrics_label(m, "device", d->uuid);
        wl_metrics_label(m, "sensor", d->sensor);
        wl_metrics_label(m, "name", d->name);
        wl_metrics_label(m, "bus_id", d->bus_id);
        wl_metrics_label(m, "number", number);
        for (size_t k = 0; k < d->n_facts; k++) wl_metrics_label(m, d->facts[k].key, d->facts[k].value);
        wl_metrics_sample(m, 1);
    }
}

/* ---- limits ---- */

static double set_w(const struct wl_cap_present *c) { return c->set; }
static double enforced_w(const struct wl_cap_present *c) { return c->enforced; }
static double default_w(const struct wl_cap_present *c) { return c->default_value; }

/* "rapl:package-0/long_term" is a limit of the device "rapl:package-0". */
static void label_limit(struct wl_metrics *m, const struct wl_live_view *v, const struct wl_cap_present *c)
{
    char device[256];
    const char *slash = strchr(c->device, '/');
    snprintf(device, sizeof device, "%.*s", slash ? (int)(slash - c->device) : (int)strlen(c->device), c->device);
    wl_metrics_label(m, "host", v->host);
    wl_metrics_label(m, "device", device);
    wl_metrics_label(m, "limit", slash ? slash + 1 : c->kind == WL_CAP_MODULE ? "module" : "device");
    wl_metrics_label(m, "provenance", provenance(false, c->simulated));
}

static void put_limits(struct wl_metrics *m, const struct wl_live_view *v)
{
    static const struct {
        struct wl_metrics_family family;
        double (*value)(const struct wl_cap_present *c);
    } families[] = {
        { { "power_cap_watts", "watts", "Power limit that is set on a device.", WL_METRICS_GAUGE }, set_w },
        { { "power_cap_enforced_watts", "watts", "Lowest of all power limits that apply to a device.",
            WL_METRICS_GAUGE },
          enforced_w },
        { { "power_cap_default_watts", "watts", "Power limit of a device by default.", WL_METRICS_GAUGE }, default_w },
    };
    for (size_t k = 0; k < WL_COUNT(families) && v->n_caps > 0; k++) {
        wl_metrics_begin(m, &families[k].family);
        for (size_t i = 0; i < v->n_caps; i++) {
            label_limit(m, v, &v->caps[i]);
            wl_metrics_sample(m, families[k].value(&v->caps[i]));
        }
    }
}

/* ---- wattlaw itself ---- */

static void put_sensors(struct wl_metrics *m, const struct wl_live_view *v)
{
    static const struct wl_metrics_family family = {
        "sensor_open", NULL, "Whether a sensor of this node is read: 1, or 0 with the reason why it cannot be.",
        WL_METRICS_GAUGE
    };
    wl_metrics_begin(m, &family);
    for (size_t i = 0; i < v->sensors->n_info; i++) {
        const struct wl_sensor_info *info = &v->sensors->info[i];
        if (info->state == WL_SENSOR_UNUSED) continue;
        wl_metrics_label(m, "host", v->host);
        wl_metrics_label(m, "sensor", info->name);
        if (info->state != WL_SENSOR_OPEN) wl_metrics_label(m, "reason", info->reason);
        wl_metrics_sample(m, info->state == WL_SENSOR_OPEN);
    }
}

static void put_itself(struct wl_metrics *m, const struct wl_live_view *v)
{
    const struct wl_sampler_stats *s = &v->sampler;
    const struct {
        struct wl_metrics_family family;
        double value;
    } rows[] = {
        { { "start_time_seconds", "seconds", "When watching began, in seconds since 1970.", WL_METRICS_GAUGE },
          (double)v->start_wall_ns / WL_NS_PER_S },
        { { "process_cpu_seconds", "seconds", "CPU time of this wattlaw.", WL_METRICS_COUNTER }, v->cpu_s },
        { { "sampler_cpu_seconds", "seconds", "CPU time of the threads that read sensors.", WL_METRICS_COUNTER },
          (double)s->cpu_ns / WL_NS_PER_S },
        { { "sampler_period_seconds", "seconds", "Requested time between two readings of a sensor.", WL_METRICS_GAUGE },
          s->period_s },
        { { "sampler_achieved_period_seconds", "seconds", "Mean time between two readings of the slowest sensor.",
            WL_METRICS_GAUGE },
          s->achieved_period_s },
        { { "sampler_samples", NULL, "Samples that were taken.", WL_METRICS_COUNTER }, (double)s->samples },
        { { "sampler_late_ticks", NULL, "Readings left out because the one before took too long.", WL_METRICS_COUNTER },
          (double)s->skipped },
        { { "sampler_lost_samples", NULL, "Samples dropped because nobody took them in time.", WL_METRICS_COUNTER },
          (double)s->lost },
        { { "sampler_failed_readings", NULL, "Readings that failed.", WL_METRICS_COUNTER }, (double)s->errors },
    };
    for (size_t i = 0; i < WL_COUNT(rows); i++) {
        wl_metrics_begin(m, &rows[i].family);
        wl_metrics_label(m, "host", v->host);
        wl_metrics_sample(m, rows[i].value);
    }
}

void wl_live_metrics(struct wl_metrics *m, const struct wl_live_view *v)
{
    double factor;
    put_devices(m, v);
    for (enum wl_quantity q = 0; q < WL_QUANTITIES; q++) {
        if (q == WL_ENERGY)
            put_energies(m, v);
        else if (wl_live_metrics_family(q, &factor))
            put_quantity(m, v, q);
    }
    put_limits(m, v);
    put_sensors(m, v);
    put_itself(m, v);
}
