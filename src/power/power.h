/* What the machine draws and does: sensors, the sampler that reads them on time, and the energy of a window.
 *
 * A sensor (nvml, rapl, acpi, cray ...) finds devices; each device gives channels, one for each
 * quantity that can be read. The sampler reads every channel at a steady rate and hands samples to one consumer.
 * The energy functions are pure: they work on any series, fresh or from the store.
 *
 *     struct wl_sensors *sensors;
 *     struct wl_sampler *sampler;
 *     wl_sensors_open(&sensors, &opts, a, e);              devices and channels are known from here
 *     wl_sampler_start(&sampler, sensors, opts.rate_hz, a, e);  the first samples are taken inside this call
 *     wl_sampler_watch(sampler, pid);                      the job whose processes `proc` follows
 *     while (running) n = wl_sampler_drain(sampler, buffer, WL_COUNT(buffer));
 *     wl_sampler_stop(sampler);                            the last samples are taken inside this call
 *     while ((n = wl_sampler_drain(sampler, buffer, WL_COUNT(buffer))) > 0) ...
 *
 * Times are int64 ns of CLOCK_MONOTONIC. A reading that failed is NAN, never 0.
 */
#ifndef WL_POWER_POWER_H
#define WL_POWER_POWER_H

#include "base/base.h"

#include <sys/types.h>

/* ---- What is measured ---- */

enum wl_quantity {
    WL_POWER,           /* power_w: W; one series a device and scope, its variant says which kind */
    WL_POWER_AVERAGE,   /* power_average_w: W, the driver's running average where power_w is the instant value */
    WL_ENERGY,          /* energy_j: J, a counter that only grows; a fall is a reset */
    WL_SM_UTIL,         /* sm_util_pct: %, share of time with any kernel on the GPU ("busy time") */
    WL_MEM_UTIL,        /* mem_util_pct: %, share of time the GPU memory was read or written */
    WL_SM_ACTIVE,       /* sm_active_pct: %, share of the GPU's multiprocessors that had work, over time */
    WL_SM_OCCUPANCY,    /* sm_occupancy_pct: %, share of the warps that could be there */
    WL_TENSOR_ACTIVE,   /* tensor_active_pct: %, share of time of the multiprocessors in tensor operations */
    WL_DRAM_ACTIVE,     /* dram_active_pct: %, share of the highest bandwidth of the GPU's memory */
    WL_SM_CLOCK,        /* sm_clock_mhz */
    WL_MEM_CLOCK,       /* mem_clock_mhz */
    WL_MEM_USED,        /* mem_used_bytes: of a GPU, or of the node (total - available) */
    WL_TEMPERATURE,     /* temperature_c */
    WL_MEM_TEMPERATURE, /* mem_temperature_c: of the GPU's memory */
    WL_EVENT_REASONS,   /* event_reasons: bit mask, why the GPU clock is where it is (enum wl_event_reason) */
    WL_POWER_CAPPED, /* power_capped_s: s, a counter; time in which the power limit held the GPU clock down; likewise */
    WL_THERMAL_CAPPED,      /* thermal_capped_s: the temperature, by software or hardware */
    WL_HW_THERMAL_CAPPED,   /* hw_thermal_capped_s: the temperature, by hardware (halved clock or less) */
    WL_POWER_BRAKED,        /* power_braked_s: an outer power brake */
    WL_BOARD_LIMITED,       /* board_limited_s: limits of the board */
    WL_RELIABILITY_LIMITED, /* reliability_limited_s: the voltage that is reliable */
    WL_SYNC_BOOSTED,        /* sync_boosted_s: the slowest GPU of a sync boost group */
    WL_NVLINK_TX, /* nvlink_tx_bytes: B, a counter; sent over all NVLinks of the GPU, data without protocol; likewise */
    WL_NVLINK_RX, /* nvlink_rx_bytes: received */
    WL_PCIE_TX,   /* pcie_tx_bytes: sent over PCIe */
    WL_PCIE_RX,   /* pcie_rx_bytes: received */
    WL_CPU_TIME,  /* cpu_time_s: s, a counter; of the job's process tree */
    WL_CPU_UTIL,  /* cpu_util_pct: %, busy share of all CPUs of the node since the previous sample */
    WL_RSS,       /* rss_bytes: resident memory of the job's process tree, shared pages counted in each */
    WL_RUNNABLE,  /* runnable: tasks that run or wait for a CPU on the node */
    WL_QUANTITIES
};

/* Which part of the machine a channel covers. Domains overlap (psys holds package; module holds gpu): energies of
 * different scopes are never added except package + dram, see wl_energy_sources. */
enum wl_scope {
    WL_SCOPE_GPU,         /* one GPU board */
    WL_SCOPE_GPU_MEMORY,  /* the memory of one GPU; inside the GPU */
    WL_SCOPE_MODULE,      /* a module with CPU and GPU (GH200, GB200) */
    WL_SCOPE_PACKAGE,     /* one CPU socket */
    WL_SCOPE_DRAM,        /* the memory of one socket */
    WL_SCOPE_PSYS,        /* the platform as RAPL sees it; contains the package */
    WL_SCOPE_NODE,        /* the whole machine */
    WL_SCOPE_NODE_CPU,    /* its CPUs, its memory, its accelerators as the node's own meter has them: */
    WL_SCOPE_NODE_MEMORY, /* the same joules again as those of packages, DRAM and GPUs */
    WL_SCOPE_NODE_ACCEL,
    WL_SCOPE_JOB, /* the processes of the measured job */
    WL_SCOPES
};

/* How a power reading comes about; series of different variants are never mixed. */
enum wl_variant {
    WL_VARIANT_NONE,    /* not a power reading */
    WL_VARIANT_INSTANT, /* the value at the moment of the sensor's update */
    WL_VARIANT_AVERAGE, /* a running mean of the sensor, 1 s on NVIDIA GPUs since Ampere (not GA100) */
    WL_VARIANT_DRIVER,  /* nvmlDeviceGetPowerUsage: instant or average, as the GPU's architecture has it */
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
const char *wl_scope_name(enum wl_scope s);     /* "gpu", "gpu-memory", "module", "package", ... */
const char *wl_variant_name(enum wl_variant v); /* "", "instant", "average", "driver", "mean" */
int wl_quantity_from(const char *name);
int wl_scope_from(const char *name);
int wl_variant_from(const char *name);
bool wl_quantity_counts(enum wl_quantity q); /* a counter: windows take differences, not means */

/* How often a quantity is read: power and energy at the sampler's rate, others at most twice or once a second, as fast
 * as they say something new (the table is in types.c, the reasons in docs/adr/049). First and last samples have all. */
enum wl_pace { WL_EACH_TICK, WL_EACH_HALF_SECOND, WL_EACH_SECOND, WL_PACES };
enum wl_pace wl_quantity_pace(enum wl_quantity q);
double wl_pace_s(enum wl_pace p); /* the least time between two readings, 0: none */

/* Something that is to be known of a device: "architecture", "Hopper". */
struct wl_fact {
    const char *key, *value;
};

/* A thing with a sensor on it. No text is NULL except bus_id. */
struct wl_device {
    const char *sensor; /* "nvml" */
    const char *name;   /* "NVIDIA A100-SXM4-40GB", "package-0" */
    const char *uuid;   /* "GPU-5f0a...": stable on this machine; of other sensors "rapl:package-0", "proc:node" */
    const char *bus_id; /* PCI bus id "00000000:07:00.0", NULL where there is none */
    int index;          /* in the sensor's own order; NVML's is that of the PCI bus */
    const struct wl_fact *facts;
    size_t n_facts;
};

struct wl_calibration;

struct wl_channel {
    int device; /* index in wl_sensors.devices */
    enum wl_quantity quantity;
    enum wl_scope scope;
    enum wl_variant variant;
    bool estimated;  /* a model's value, not a measurement */
    bool simulated;  /* from a replay or a simulated device */
    double update_s; /* how often the sensor itself moves, as found when it was opened; NAN: not known */
    const struct wl_calibration *calibration; /* of this sensor under this driver; NULL: none is kept */
};

/* ---- Sensors ---- */

struct wl_power_opts {
    struct wl_strs sensors;         /* "auto", or names; a named sensor that cannot be read is an error */
    double rate_hz;                 /* samples a second */
    double wait_s;                  /* how long opening a sensor may take; 0: 30 s */
    double cpu_tdp_w;               /* cpu_model: full power of one package; NAN: from the table in cpu_model.c */
    double cpu_idle_w;              /* cpu_model: idle power of one package; NAN: a share of the full power */
    bool gpm;                       /* nvml: the profiling counters of Hopper GPUs and newer too */
    const char *replay_file;        /* replay: CSV t_s,device,quantity,value */
    const char *nvml_library;       /* NULL: $NVML_LIBRARY, then libnvidia-ml.so.1 */
    const char *amd_library;        /* NULL: libamd_smi.so, then librocm_smi64.so */
    const char *level_zero_library; /* NULL: libze_loader.so.1 */
    const char *calibration;        /* file of calibrations; NULL: where wl_calibration_path says */
    const char *root;               /* in front of /sys, /proc and /dev; "" is the machine itself */
    const char *visible;            /* the job's GPUs in the words of CUDA_VISIBLE_DEVICES; NULL: that variable's */
};

/* Rows for a struct that holds a struct wl_power_opts as member `at`. */
/* clang-format off */
#define WL_POWER_OPT_ROWS(holder, at)                                                                           \
    { .name = "sensors", .type = WL_STRS, .offset = offsetof(holder, at.sensors), .def = "auto",                  \
      .help = "sensors to read: auto, or names as doctor lists them" },                                         \
    { .name = "rate-hz", .type = WL_REAL, .offset = offsetof(holder, at.rate_hz), .def = "10",                    \
      .min = 0.01, .max = 1000, .unit = "Hz", .help = "samples a second of each sensor" },                      \
    { .name = "sensor-wait", .type = WL_DURATION, .offset = offsetof(holder, at.wait_s), .def = "30s",           \
      .min = 0.1, .max = 600, .unit = "s",                                                                      \
      .help = "leave out a sensor whose driver takes longer than this to answer at the start" },                \
    { .name = "cpu-tdp-w", .type = WL_REAL, .offset = offsetof(holder, at.cpu_tdp_w), .min = 1, .max = 10000,     \
      .unit = "W", .help = "full power of one CPU package, for the estimate of cpu_model" },                    \
    { .name = "cpu-idle-w", .type = WL_REAL, .offset = offsetof(holder, at.cpu_idle_w), .min = 0, .max = 10000,   \
      .unit = "W", .help = "idle power of one CPU package, for the estimate of cpu_model" },                    \
    { .name = "gpm", .type = WL_FLAG, .offset = offsetof(holder, at.gpm),                                         \
      .help = "read the profiling counters of Hopper GPUs and newer too" },                                       \
    { .name = "replay-file", .type = WL_STR, .offset = offsetof(holder, at.replay_file),                          \
      .help = "CSV t_s,device,quantity,value that the replay sensor plays" },                                   \
    { .name = "nvml-library", .type = WL_STR, .offset = offsetof(holder, at.nvml_library),                        \
      .help = "path of libnvidia-ml.so.1, when it is not where the loader looks" },                             \
    { .name = "amd-library", .type = WL_STR, .offset = offsetof(holder, at.amd_library),                          \
      .help = "path of libamd_smi.so or librocm_smi64.so" },                                                      \
    { .name = "level-zero-library", .type = WL_STR, .offset = offsetof(holder, at.level_zero_library),            \
      .help = "path of libze_loader.so.1" },                                                                      \
    { .name = "calibration", .type = WL_STR, .offset = offsetof(holder, at.calibration),                          \
      .help = "file of what doctor --calibrate found, when not calibration.ini where wattlaw keeps its state" },  \
    { .name = "sensor-root", .type = WL_STR, .offset = offsetof(holder, at.root), .def = "",                      \
      .help = "folder in front of /sys and /proc, for recorded trees" }
/* clang-format on */

/* What became of a sensor. */
enum wl_sensor_state {
    WL_SENSOR_OPEN,        /* it gives channels */
    WL_SENSOR_UNAVAILABLE, /* it cannot be read here: reason, and fix where there is one */
    WL_SENSOR_UNUSED,      /* it was not asked for, or something better is there: reason */
};

struct wl_sensor_info {
    const char *name, *help;
    enum wl_sensor_state state;
    const char *source; /* what is read, with versions: "libnvidia-ml.so.1, driver 535.104"; NULL unless open */
    const char *reason; /* one sentence; of an open sensor: what it cannot read of what one would expect; or NULL */
    const char *fix;    /* the exact command that would change that, or NULL */
    double read_s;      /* how long the first reading of all its channels took; NAN unless open */
    size_t n_devices, n_channels;
};

/* Everything that was opened. Devices and channels stay where they are; a channel's index is its number in every
 * sample. `info` has a row for each sensor that exists, in table order. */
struct wl_sensors {
    struct wl_device *devices;
    struct wl_channel *channels;
    struct wl_sensor_info *info;
    size_t n_devices, n_channels, n_info;
    struct wl_sensor **open; /* private */
    size_t n_open;
};

/* Opens the sensors that opts names and reads each once. "auto" takes what the machine has: nvml, rapl and proc, a
 * recording that opts names, and cpu_model where nothing else gives power or energy. Errors: WL_EINVAL for an unknown
 * name ("did you mean") or a broken replay file, WL_EUNAVAIL or WL_EPERM, with reason and fix, for a sensor named
 * outright that cannot be read. With "auto" it succeeds on any machine. The sensors are closed with the arena; a driver
 * that hangs meanwhile is left alone after 2 s. */
int wl_sensors_open(struct wl_sensors **out, const struct wl_power_opts *opts, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

/* What a reader of the readings should know, gathered until now: a GPU that others used as well, one that is split into
 * instances. For after the sampler's stop. */
void wl_sensors_notes(const struct wl_sensors *s, struct wl_strs *out, struct wl_arena *a);

/* ---- Sampler ---- */

/* One reading. t_ns is the middle of the read call or, of a mean since the previous reading (WL_VARIANT_MEAN,
 * cpu_util_pct), the middle of the time it covers. NAN is a reading that failed: store it as NULL, it marks a gap. */
struct wl_sample {
    int64_t t_ns;
    double value;
    uint32_t channel;
};

struct wl_sampler;

/* Starts one thread for the fast sensors and one for each slow one (a first reading longer than a twentieth of the
 * period), and returns when they have taken the first samples, or after 2 s without those that hang. Each thread keeps
 * absolute deadlines: a tick that was missed is skipped and counted. A reading allocates nothing. A process runs one
 * sampler on a node at a time. */
int wl_sampler_start(struct wl_sampler **out, struct wl_sensors *sensors, double rate_hz, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* A first process of the job: from now on `proc` follows it, its descendants and its process group, beside those of
 * calls before. One thread calls it. */
void wl_sampler_watch(struct wl_sampler *s, pid_t pid);

/* Reads counters that move in steps of 5 to 250 ms, and power beside them, every 2 ms over two steps, so that a window
 * that begins behind this call or ended before it has sharp edges. Returns when that is done, at once where no counter
 * has such steps. Not beside wl_sampler_stop. */
void wl_sampler_edges(struct wl_sampler *s);

/* Moves up to max samples into out and returns their number, 0 when there are none now. Samples of a channel come in
 * order of time; channels are interleaved. One consumer thread. The rings hold at least 30 s: drain once a second.
 * A sensor whose reading takes longer than a second gets failed readings here, and a thread to itself. */
size_t wl_sampler_drain(struct wl_sampler *s, struct wl_sample *out, size_t max);

/* Ends the threads without waiting for their next tick; they take the last samples. A sensor that has not answered
 * 2 s later is given up: its channels end with a failed reading that says so, and what its thread uses stays in memory.
 * Calling it again does nothing. A sampler that was not stopped is when the arena is freed. By the consumer's thread.
 */
void wl_sampler_stop(struct wl_sampler *s);

/* What became of one channel. */
struct wl_channel_stats {
    uint64_t samples;     /* good readings */
    uint64_t errors;      /* failed readings */
    const char *last_why; /* the text of the last failure, NULL: none */
    int64_t gap_ns;       /* time without a good reading, summed over all gaps that a failure opened */
};

/* The sampler's own account, at any time. */
struct wl_sampler_stats {
    double period_s;          /* asked for: 1/rate */
    double achieved_period_s; /* the slowest thread's mean time between ticks, NAN before the first of a thread */
    uint64_t ticks;           /* readings of a thread's sensors, all threads together, first and last included */
    uint64_t skipped;         /* ticks left out because the reading before took too long */
    uint64_t samples;         /* handed to the rings */
    uint64_t lost;            /* dropped because a ring was full */
    uint64_t errors;          /* failed readings */
    int64_t cpu_ns;           /* CPU time of the sampler threads and of the readings at start and stop */
    size_t memory_bytes;      /* rings and tables */
    int threads;
};
void wl_sampler_stats(const struct wl_sampler *s, struct wl_sampler_stats *out);
void wl_sampler_channel_stats(const struct wl_sampler *s, size_t channel, struct wl_channel_stats *out);

/* ---- Limits of NVIDIA GPUs: read by anyone, set by src/cap ---- */

struct wl_gpus {
    const struct wl_device *devices; /* [n]; index i of these stands in the calls below */
    size_t n;
    bool simulated;
    struct wl_gpu_lib *lib; /* private */
};

/* Opens NVML as the nvml sensor does; `all`: every GPU, else those of the job (CUDA_VISIBLE_DEVICES). Codes of the
 * sensor, *fix as there. Released with the arena. */
int wl_gpus_open(struct wl_gpus **out, const struct wl_power_opts *opts, bool all, struct wl_arena *a, const char **fix,
                 struct wl_err *e) WL_MUST_CHECK;

/* W; NAN: the driver does not say. The limit is what was asked for; enforced is the lowest of all that act, such as one
 * set out of band. */
struct wl_gpu_power_limit {
    double limit_w, enforced_w, default_w, min_w, max_w;
};
int wl_gpu_power_limit(const struct wl_gpus *g, size_t i, struct wl_gpu_power_limit *out,
                       struct wl_err *e) WL_MUST_CHECK;
int wl_gpu_power_limit_set(const struct wl_gpus *g, size_t i, double watts, struct wl_err *e) WL_MUST_CHECK;

/* Locked clocks have no getter: the driver tells the present clock, the highest one and the reasons (NAN: unknown). */
enum wl_gpu_clock { WL_GPU_CLOCK_SM, WL_GPU_CLOCK_MEM };
struct wl_gpu_clock_state {
    double now_mhz, max_mhz;
    double busy_pct; /* as sm_util_pct */
    double reasons;  /* enum wl_event_reason */
    bool lockable;   /* the driver has the call */
};
void wl_gpu_clock_state(const struct wl_gpus *g, size_t i, enum wl_gpu_clock which, struct wl_gpu_clock_state *out);

/* The memory clocks that the GPU can run at, MHz, highest first as drivers list them; none where it does not tell. */
struct wl_reals wl_gpu_memory_clocks(const struct wl_gpus *g, size_t i, struct wl_arena *a);

int wl_gpu_clock_lock(const struct wl_gpus *g, size_t i, enum wl_gpu_clock which, double mhz,
                      struct wl_err *e) WL_MUST_CHECK;
int wl_gpu_clock_unlock(const struct wl_gpus *g, size_t i, enum wl_gpu_clock which, struct wl_err *e) WL_MUST_CHECK;

/* ---- Calibration of GPU power sensors ---- */

/* A fitted value and its standard error. */
struct wl_fitted {
    double value, se;
};

/* How one power sensor of one GPU shows what it measures, as a load of square waves found it. */
struct wl_calibration {
    const char *uuid, *name, *driver; /* it holds for this GPU under this version of the driver */
    enum wl_quantity quantity;        /* WL_POWER or WL_POWER_AVERAGE */
    enum wl_variant variant;
    struct wl_fitted update_s; /* time between two updates */
    struct wl_fitted window_s; /* an update shows the mean over so long */
    struct wl_fitted lag_s;    /* that ended so long before it */
    struct wl_fitted rise_s;   /* time constant with which the power follows the load; no matter of the sensor */
    double off_w, on_w;        /* at rest and under the load */
    double residual_w;         /* root mean square distance of the readings from the model */
    size_t updates;            /* that were seen */
    const char *date;          /* UTC, "2026-01-31T12:00:00Z" */
    bool simulated;
};
struct wl_calibrations {
    struct wl_calibration *v;
    size_t n, cap;
    struct wl_strs notes; /* sensors that could not be calibrated, and why */
};

/* The share of time that the sensor sees, at most 1. */
double wl_calibration_seen(const struct wl_calibration *c);

/* Where calibrations are kept: opts->calibration, else calibration.ini in $WATTLAW_STATE_DIR, as root in
 * /var/lib/wattlaw, else in $XDG_STATE_HOME/wattlaw or ~/.local/state/wattlaw. */
char *wl_calibration_path(const struct wl_power_opts *opts, struct wl_arena *a);

/* Reads the file; one that is not there holds none. WL_EINVAL names file:line. */
int wl_calibrations_read(const char *path, struct wl_calibrations *out, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* Puts these in the place of older ones of the same sensors and writes the file anew, whole or not at all. */
int wl_calibrations_keep(const char *path, const struct wl_calibrations *fresh, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

struct wl_calibrate_how {
    const char *cuda_library; /* NULL: $CUDA_DRIVER_LIBRARY, then libcuda.so.1 */
    bool force;               /* although other processes use the GPU */
    bool (*stop)(void);       /* asked for all the time: true ends it */
    void (*progress)(void *data, double done, double total, const char *note);
    void *data;
};

/* Puts square waves of load on GPU i of `g`, which takes a quarter of a minute, follows its power sensors and adds a
 * calibration of each to `out`. Clocks, limits and modes stay as they are. WL_EUNAVAIL: no CUDA driver, the GPU is
 * split into MIG instances, has no power reading or is used by others; WL_EINTR: stopped; WL_EINVAL: the readings do not
 * follow the load. */
int wl_calibrate(const struct wl_gpus *g, size_t i, const struct wl_calibrate_how *how, struct wl_calibrations *out,
                 struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- Energy of a window ---- */

/* n readings in order of time; value NAN is a failed one. */
struct wl_series {
    const int64_t *t_ns;
    const double *value;
    size_t n;
};

/* The first reading at or after t; s->n where there is none. */
size_t wl_series_from(const struct wl_series *s, int64_t t_ns);

/* How a sensor shows what it measures. NAN: not known. */
struct wl_gauge {
    double update_s; /* time between two of its updates */
    double window_s; /* length of time that a reading is the mean of; HUGE_VAL: all of it */
    double delay_s;  /* age of what a reading shows, on average over the time until the next update */
};
extern const struct wl_gauge wl_gauge_unknown;

/* Of a channel of power or energy: from its calibration, else from its variant, its update period and what is published
 * about the product. */
struct wl_gauge wl_gauge_of(const struct wl_device *d, const struct wl_channel *c);

/* "shows 25 ms of each 100 ms (assumed)", "... (calibrated 2026-01-31)", of a mean that overlaps "shows the mean of 1 s";
 * NULL where the window is not known or is all of the time. `calibrated`: when, NULL: it was not. */
char *wl_gauge_words(const struct wl_gauge *g, const char *calibrated, struct wl_arena *a);

/* Energy over [t0, t1]. */
struct wl_energy {
    double energy_j;   /* NAN unless the whole window is covered */
    double lo_j, hi_j; /* 95 % interval of it (docs/metrics.md); NAN with it */
    double mean_w;     /* over the covered part */
    double coverage;   /* 0..1: share of the window that readings closer together than max_gap account for */
    double covered_j;  /* energy of the covered part */
    double held_s;     /* time at the edges for which the nearest reading was held, within the coverage */
    size_t readings;   /* good readings inside the window */
    const char *why;   /* why energy_j is NAN, or NULL; static text */
};

/* Trapezoid over a power series (W), as much later as the gauge's delay; the values at the edges are interpolated.
 * Neighbouring good readings further apart than max_gap_ns, and than three times the usual spacing of the series, leave
 * a gap. An edge without a reading beyond it holds the nearest one, up to max_gap_ns. The interval holds what readings
 * do not see between updates, gaps that were bridged, and both edges. */
struct wl_energy wl_energy_of_power(const struct wl_series *s, int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns,
                                    const struct wl_gauge *g);

/* From readings that are each the mean of the last g->window_s, longer than the time between updates: nothing is unseen.
 * Their integral is that of the power weighted by a ramp at each edge; half a window times the change of the mean
 * between the edges makes up for it, exactly where the power was steady before t0 and before t1. How far it was from
 * that is told by the scatter of `instant` (W, the same device). Else as wl_energy_of_power. */
struct wl_energy wl_energy_of_mean(const struct wl_series *mean, const struct wl_series *instant, int64_t t0_ns,
                                   int64_t t1_ns, int64_t max_gap_ns, const struct wl_gauge *g);

/* Difference of a counter (J) between t0 and t1, interpolated between the instants at which it moved (repeats of a
 * slow counter are one value); where one change of power between two such instants explains the step between them, with
 * that change. A fall inside or next to the window is a reset: energy_j is NAN. A counter that did not move tells
 * nothing: NAN. Gaps inside the window do no harm; a gap at an edge does. The interval is at most one update at each
 * edge, less where the range of `power` (W, of the same device; NULL: none) leaves less. */
struct wl_energy wl_energy_of_counter(const struct wl_series *s, const struct wl_series *power, int64_t t0_ns,
                                      int64_t t1_ns, int64_t max_gap_ns, const struct wl_gauge *g);

/* The mean of a series over the window by the same rule as wl_energy_of_power, for utilisation, clocks and the like;
 * NAN without a reading. */
double wl_window_mean(const struct wl_series *s, int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns);

/* The mean rate of a counter over the window, its unit a second: the difference between t0 and t1, each interpolated
 * between the readings around it, over that time. An edge without a reading beyond it moves to the nearest reading. A
 * counter that stood still has the rate 0. NAN where it falls, where readings around an edge are further apart than
 * max_gap_ns, and with fewer than two readings. */
double wl_window_rate(const struct wl_series *s, int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns);

/* A gap that is still bridged: three periods and at least 250 ms, so that one failed reading does no harm.
 * A sensor that is slower than the period has a longer one of its own, see wl_energy_of_power. */
int64_t wl_max_gap_ns(double period_s);

/* counter_j / integral_j, NAN where either is missing or the integral is 0; and whether that is off by more than
 * WL_RATIO_LIMIT. */
#define WL_RATIO_LIMIT 0.05
double wl_energy_ratio(double counter_j, double integral_j);
bool wl_energy_ratio_off(double ratio);

/* One device whose energy counts, and its channels (-1: none). A counter is preferred, the power series is the
 * fallback and the check. */
struct wl_energy_source {
    int device;
    int counter, power;
};

/* The preferred set of non-overlapping energy sources: GPU boards if there are any (else modules), else CPU packages
 * with their DRAM, else the whole node, else estimated packages. Writes at most n sources (n = number of channels
 * is always enough) and returns how many; *scope_label gets "gpu", "module", "package+dram", "package", "node" or
 * "package (estimated)"; NULL with 0 sources. */
size_t wl_energy_sources(const struct wl_channel *channels, size_t n, struct wl_energy_source *out,
                         const char **scope_label);

#endif
