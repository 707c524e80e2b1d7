/* The parts of the nvml sensor. Each probes a GPU when the sensor is opened, adds a channel for each metric that the
 * driver supports, and reads them. */
#ifndef WL_POWER_NVML_SENSOR_H
#define WL_POWER_NVML_SENSOR_H

#include "power/nvml/library.h"
#include "power/sensor.h"

#include <stdatomic.h>

enum { WL_NVML_FIELDS = 24, WL_NVML_SINGLES = 8, WL_NVML_MAX_OTHERS = 8 };

/* Quantities read by one call of nvmlDeviceGetFieldValues, those read most often first. */
struct wl_nvml_fields {
    int n, n_due[WL_POLL_INTERVALS]; /* all; those due at a poll interval */
    struct wl_nvml_field {
        int row, channel; /* in the table of fields.c; of the sensor */
        bool wraps;
        uint64_t count; /* of a counter that wraps: as last read; */
        double sum;     /* since the first reading */
        bool counted;
        struct wl_repeat_filter repeats; /* of a power reading */
    } v[WL_NVML_FIELDS];
};

/* Quantities with a call each; -1: none. */
struct wl_nvml_calls {
    int power, energy, sm_util, mem_util, singles[WL_NVML_SINGLES];
    nvmlSample_t *samples; /* the driver's own record of utilisation, with time stamps; NULL: none */
    unsigned max_samples;
    unsigned long long newest_us; /* the latest time stamp in that record */
    int64_t newest_ns;            /* when it was first seen */
};

/* Profiling counters: a reading is the difference of two samples. */
struct wl_nvml_gpm {
    nvmlGpmSample_t before, now;
    int64_t before_ns; /* 0: none yet */
    int n;
    struct wl_nvml_gpm_channel {
        int row, channel;
        double sum; /* integral of a rate */
    } v[8];
    nvmlGpmMetricsGet_t get;
};

/* Other processes on the GPU. */
struct wl_nvml_processes {
    bool mig;    /* the GPU is split into instances */
    int channel; /* how many there are; -1: it is not known */
    nvmlProcessInfo_t *processes;
    int util, job_util; /* channels of their utilisation, and the job's; -1: the driver does not tell */
    nvmlProcessUtilizationSample_t *utils;
    unsigned long long newest_us; /* the latest time stamp among them */
    unsigned max_processes;
    size_t n_others, n_unseen; /* distinct processes of others, at most WL_NVML_MAX_OTHERS + 1; those that
                                * /proc does not show */
    struct {
        unsigned pid;
        char name[16];
    } others[WL_NVML_MAX_OTHERS];
};

struct wl_nvml_device {
    nvmlDevice_t handle;
    int device; /* index within the sensor */
    struct wl_nvml_fields fields;
    struct wl_nvml_calls calls;
    struct wl_nvml_gpm *gpm; /* NULL: not read */
    struct wl_nvml_processes processes;
    bool update_period_changed; /* differs from the remembered one */
};

struct wl_nvml_sensor {
    struct wl_nvml lib;
    struct wl_nvml_device *gpus;
    size_t n;
    int proc_fd;         /* /proc; negative: none */
    const char *updates; /* the update cache */
    double period_s;     /* between two readings, as requested */
    _Atomic pid_t job;   /* its root process; 0: not known */
    int64_t look_ns;     /* when processes were last looked for */
};

/* Adds a channel to the GPU; -1: it has that quantity and scope already. */
int wl_nvml_add_channel(struct wl_sensor *s, const struct wl_nvml_device *u, enum wl_quantity q, enum wl_scope scope,
                        enum wl_power_variant variant);
bool wl_nvml_has_channel(const struct wl_sensor *s, const struct wl_nvml_device *u, enum wl_quantity q,
                         enum wl_scope scope);

/* A value, or NVML's error. */
void wl_nvml_reading_set(struct wl_reading *out, nvmlReturn_t rc, double value, int64_t t0_ns);

/* ---- fields.c ---- */

void wl_nvml_fields_probe(struct wl_sensor *s); /* all GPUs */
void wl_nvml_fields_read(const struct wl_sensor *s, struct wl_nvml_device *u, struct wl_due due,
                         struct wl_reading *out);

/* Power and energy of the GPU only, as fast as possible; NAN: none. */
void wl_nvml_fields_power_energy(const struct wl_nvml *lib, nvmlDevice_t h, double *watts, double *joules);

/* Both kinds of power, likewise. */
void wl_nvml_fields_powers(const struct wl_nvml *lib, nvmlDevice_t h, double *instant_w, double *average_w);

/* The power limits of a scope; NVML's code if the requested limit is not available. */
nvmlReturn_t wl_nvml_fields_limit(const struct wl_nvml *lib, nvmlDevice_t h, unsigned scope,
                                  struct wl_gpu_power_limit *out);

/* ---- calls.c: after the fields, for what they do not provide ---- */

void wl_nvml_calls_probe(struct wl_sensor *s, struct wl_nvml_device *u);
void wl_nvml_calls_read(const struct wl_sensor *s, struct wl_nvml_device *u, struct wl_due due, struct wl_reading *out);

/* ---- gpm.c ---- */

/* Returns why there are no profiling counters (static text; *fix: the command that enables them), or NULL. */
const char *wl_nvml_gpm_probe(struct wl_sensor *s, struct wl_nvml_device *u, const char **fix);
void wl_nvml_gpm_read(const struct wl_sensor *s, struct wl_nvml_device *u, struct wl_reading *out);

/* ---- update_period.c ---- */

/* Sets the channels' update_s of power and energy: from the update cache, if bursts will verify it, else by a moment of
 * polling, whose result is cached. If the cache cannot be read or written, the sensor's reason says so. */
void wl_nvml_update_period_find(struct wl_sensor *s);

/* The cached update periods of the GPU are wrong: removes them, so that the next run polls again. */
void wl_nvml_update_period_forget(struct wl_sensor *s, int device);
void wl_nvml_update_period_notes(const struct wl_sensor *s, const struct wl_nvml_device *u, struct wl_strs *out,
                                 struct wl_arena *a);

/* ---- calibrations.c ---- */

/* Attaches stored calibrations to their channels; if the file cannot be read, the sensor's reason says so. */
void wl_nvml_calibrations_attach(struct wl_sensor *s, const struct wl_power_opts *o);

/* ---- facts.c ---- */

void wl_nvml_facts_add(struct wl_sensor *s, const struct wl_nvml_device *u);

/* ---- processes.c ---- */

void wl_nvml_processes_probe(struct wl_sensor *s, struct wl_nvml_device *u);
void wl_nvml_processes_poll(const struct wl_nvml_sensor *n, struct wl_nvml_device *u, struct wl_reading *out);
void wl_nvml_processes_util(const struct wl_nvml_sensor *n, struct wl_nvml_device *u, struct wl_reading *out);
void wl_nvml_processes_notes(const struct wl_sensor *s, const struct wl_nvml_device *u, struct wl_strs *out,
                             struct wl_arena *a);

#endif
