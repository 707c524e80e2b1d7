/* What is measured: quantities, scopes, devices and their channels. */
#ifndef WL_POWER_QUANTITY_H
#define WL_POWER_QUANTITY_H

#include "base/base.h"

enum wl_quantity {
    WL_POWER,           /* power_w: W; one series per device and scope, whose variant says which kind */
    WL_POWER_AVERAGE,   /* power_average_w: W, the driver's running mean if power_w is the instant value */
    WL_ENERGY,          /* energy_j: J, a counter; a decrease is a reset */
    WL_SM_UTIL,         /* sm_util_pct: %, share of time with any kernel on the GPU ("busy time") */
    WL_MEM_UTIL,        /* mem_util_pct: %, share of time the GPU memory was read or written */
    WL_SM_ACTIVE,       /* sm_active_pct: %, share of the GPU's multiprocessors with work, averaged over time */
    WL_SM_OCCUPANCY,    /* sm_occupancy_pct: %, resident warps as a share of the maximum */
    WL_TENSOR_ACTIVE,   /* tensor_active_pct: %, share of the multiprocessors' time in tensor operations */
    WL_DRAM_ACTIVE,     /* dram_active_pct: %, share of the GPU memory's peak bandwidth */
    WL_SM_CLOCK,        /* sm_clock_mhz */
    WL_MEM_CLOCK,       /* mem_clock_mhz */
    WL_MEM_USED,        /* mem_used_bytes: of a GPU, or of the node (total - available) */
    WL_TEMPERATURE,     /* temperature_c */
    WL_MEM_TEMPERATURE, /* mem_temperature_c: of the GPU's memory */
    WL_EVENT_REASONS,   /* event_reasons: bit mask, what determines the GPU clock (enum wl_event_reason) */
    WL_POWER_CAPPED, /* power_capped_s: s, a counter; time for which the power limit reduced the GPU clock; likewise: */
    WL_THERMAL_CAPPED,      /* thermal_capped_s: temperature, by software or hardware */
    WL_HW_THERMAL_CAPPED,   /* hw_thermal_capped_s: temperature, by hardware (clock halved or lower) */
    WL_POWER_BRAKED,        /* power_braked_s: an external power brake */
    WL_BOARD_LIMITED,       /* board_limited_s: limits of the board */
    WL_RELIABILITY_LIMITED, /* reliability_limited_s: the reliable voltage */
    WL_SYNC_BOOSTED,        /* sync_boosted_s: the slowest GPU of a sync boost group */
    WL_NVLINK_TX,    /* nvlink_tx_bytes: B, a counter; sent over all NVLinks of the GPU, payload only; likewise: */
    WL_NVLINK_RX,    /* nvlink_rx_bytes: received */
    WL_PCIE_TX,      /* pcie_tx_bytes: sent over PCIe */
    WL_PCIE_RX,      /* pcie_rx_bytes: received */
    WL_CPU_TIME,     /* cpu_time_s: s, a counter; of the job's process tree, or busy time of all CPUs of the node */
    WL_CPU_UTIL,     /* cpu_util_pct: %, busy share of all CPUs of the node since the previous sample */
    WL_RSS,          /* rss_bytes: resident memory of the job's process tree; shared pages count for each process */
    WL_RUNNABLE,     /* runnable: tasks that run or wait for a CPU on the node */
    WL_CPUS,         /* cpus: CPUs that are online on the node, or that the job may use */
    WL_PROCESS_UTIL, /* process_util_pct: %, busy time of the GPU by all processes (scope gpu) or the job's (scope job)
                      */
    WL_OTHER_PROCESSES, /* other_processes: processes on the GPU that are not the job's */
    WL_IDLE_POWER,      /* idle_power_w: W, what a model of the device takes for its power at rest */
    WL_QUANTITIES
};

/* Which part of the machine a channel covers. Domains overlap (psys contains package, module contains gpu): energies of
 * different scopes are never added except package + dram, see wl_energy_sources. */
enum wl_scope {
    WL_SCOPE_GPU,         /* one GPU board */
    WL_SCOPE_GPU_MEMORY,  /* the memory of one GPU; part of the GPU */
    WL_SCOPE_MODULE,      /* a module with CPU and GPU (GH200, GB200) */
    WL_SCOPE_PACKAGE,     /* one CPU socket */
    WL_SCOPE_DRAM,        /* the memory of one socket */
    WL_SCOPE_PSYS,        /* the platform as RAPL sees it; contains the package */
    WL_SCOPE_NODE,        /* the whole machine */
    WL_SCOPE_NODE_CPU,    /* CPUs, memory and accelerators as the node's own meter has them: */
    WL_SCOPE_NODE_MEMORY, /* the same joules as those of packages, DRAM and GPUs */
    WL_SCOPE_NODE_ACCEL,
    WL_SCOPE_JOB, /* the processes of the measured job */
    WL_SCOPES
};

/* The kind of a power reading; series of different variants are never mixed. */
enum wl_power_variant {
    WL_VARIANT_NONE,    /* not a power reading */
    WL_VARIANT_INSTANT, /* the value at the moment of the sensor's update */
    WL_VARIANT_AVERAGE, /* a running mean of the sensor, 1 s on NVIDIA GPUs since Ampere (not GA100) */
    WL_VARIANT_DRIVER,  /* nvmlDeviceGetPowerUsage: instant or average, depending on the GPU's architecture */
    WL_VARIANT_MEAN,    /* computed by us over the time since the previous sample */
    WL_VARIANTS
};

/* Bits of WL_EVENT_REASONS: those of nvmlClocksEventReason. */
enum wl_event_reason {
    WL_REASON_IDLE = 0x1,
    WL_REASON_APP_CLOCKS = 0x2,
    WL_REASON_SW_POWER_CAP = 0x4,
    WL_REASON_HW_SLOWDOWN = 0x8,
    WL_REASON_SYNC_BOOST = 0x10,
    WL_REASON_SW_THERMAL = 0x20,
    WL_REASON_HW_THERMAL = 0x40,
    WL_REASON_POWER_BRAKE = 0x80,
    WL_REASON_DISPLAY = 0x100,
};

/* "power_w", "W": the names and units that the store, CSV files and reports use. A unit may be "" (bit masks,
 * counts). The _from functions return -1 for an unknown name. */
const char *wl_quantity_name(enum wl_quantity q);
const char *wl_quantity_unit(enum wl_quantity q);
const char *wl_scope_name(enum wl_scope s);           /* "gpu", "gpu-memory", "module", "package", ... */
const char *wl_variant_name(enum wl_power_variant v); /* "", "instant", "average", "driver", "mean" */
int wl_quantity_from(const char *name);
int wl_scope_from(const char *name);
int wl_variant_from(const char *name);
bool wl_quantity_is_counter(enum wl_quantity q); /* a counter: windows take differences, not means */

/* How often a quantity is read: power and energy at the sampler's rate, others at most twice or once per second, as
 * often as they provide new information (docs/adr/049). The first and last samples include all. */
enum wl_poll_interval { WL_POLL_EVERY_TICK, WL_POLL_HALF_SECOND, WL_POLL_SECOND, WL_POLL_INTERVALS };
enum wl_poll_interval wl_quantity_poll_interval(enum wl_quantity q);
double wl_poll_interval_s(enum wl_poll_interval p); /* minimum time between two readings; 0: none */

/* A fact about a device: "architecture", "Hopper". */
struct wl_device_fact {
    const char *key, *value;
};

/* A device with a sensor. No text is NULL except bus_id. */
struct wl_device {
    const char *sensor; /* "nvml" */
    const char *name;   /* "NVIDIA A100-SXM4-40GB", "package-0" */
    const char *uuid;   /* "GPU-5f0a...": stable on this machine; of other sensors "rapl:package-0", "proc:node" */
    const char *bus_id; /* PCI bus id "00000000:07:00.0", NULL: none */
    int index;          /* in the sensor's own order; NVML's is that of the PCI bus */
    const struct wl_device_fact *facts;
    size_t n_facts;
};

#define WL_JOB_DEVICE "proc:job" /* uuid under which the sensor proc has what the job alone uses */

struct wl_calibration;

struct wl_channel {
    int device; /* index in wl_sensors.devices */
    enum wl_quantity quantity;
    enum wl_scope scope;
    enum wl_power_variant variant;
    bool estimated;  /* a model's value, not a measurement */
    bool simulated;  /* from a replay or a simulated device */
    double update_s; /* update period of the sensor, as found when it was opened; NAN: not known */
    double max_w;    /* of power: the device's power limit when it was opened; NAN: not known */
    const struct wl_calibration *calibration; /* of this sensor under this driver; NULL: none */
};

#endif
