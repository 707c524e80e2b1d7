/* The parts of the nvml sensor. Each finds what a GPU answers when the sensor is opened, adds channels for that, and
 * reads them; a channel exists only where the driver answered. */
#ifndef WL_POWER_NVML_SENSOR_H
#define WL_POWER_NVML_SENSOR_H

#include "power/nvml/library.h"

#include <stdatomic.h>

enum { WL_NVML_FIELDS = 24, WL_NVML_SINGLES = 8, WL_NVML_MAX_OTHERS = 8 };

/* Quantities read by one call of nvmlDeviceGetFieldValues, those read most often first. */
struct wl_nvml_fields {
    int n, n_due[WL_POLL_INTERVALS]; /* all; those due at a pace */
    struct wl_nvml_field {
        int row, channel; /* in the table of nvml_fields.c; of the sensor */
        bool wraps;
        uint64_t count; /* of a counter that starts over: as last read, */
        double sum;     /* and what it has counted since the first reading */
        bool counted;
        struct wl_repeat_filter repeats; /* of a power reading */
    } v[WL_NVML_FIELDS];
};

/* Quantities read by a call each; -1: none. */
struct wl_nvml_calls {
    int power, energy, sm_util, mem_util, singles[WL_NVML_SINGLES];
    nvmlSample_t *samples; /* the driver's own record of utilisation, which tells its age; NULL: it keeps none */
    unsigned max_samples;
    unsigned long long newest_us; /* the latest stamp of that record, */
    int64_t newest_ns;            /* and when it was seen first */
};

/* Profiling counters: two states of them, whose difference is a reading. */
struct wl_nvml_gpm {
    nvmlGpmSample_t before, now;
    int64_t before_ns; /* 0: none yet */
    int n;
    struct wl_nvml_gpm_channel {
        int row, channel;
        double sum; /* of a rate: what it has added up to */
    } v[8];
    nvmlGpmMetricsGet_t get;
};

/* Who else is on the GPU. */
struct wl_nvml_processes {
    bool mig; /* the GPU is split into instances */
    nvmlProcessInfo_t *processes;
    unsigned max_processes;
    size_t n_others, n_unseen; /* distinct processes of others, at most one more than there is room for;
                                * those that /proc does not show */
    struct {
        unsigned pid;
        char name[16];
    } others[WL_NVML_MAX_OTHERS];
};

struct wl_nvml_device {
    nvmlDevice_t handle;
    int device; /* number within the sensor */
    struct wl_nvml_fields fields;
    struct wl_nvml_calls calls;
    struct wl_nvml_gpm *gpm; /* NULL: not read */
    struct wl_nvml_processes company;
    bool update_period_changed; /* than was remembered */
};

struct wl_nvml_sensor {
    struct wl_nvml lib;
    struct wl_nvml_device *units;
    size_t n;
    const char *root;    /* in front of /proc */
    const char *updates; /* the file that remembers update periods */
    double period_s;     /* between two readings, as asked for */
    _Atomic pid_t job;   /* its first process; 0: not known */
    int64_t look_ns;     /* when processes were looked for last */
};

/* Adds a channel to the GPU; -1 where it has that quantity and scope already. */
int wl_nvml_add_channel(struct wl_sensor *s, const struct wl_nvml_device *u, enum wl_quantity q, enum wl_scope scope,
                        enum wl_variant variant);
bool wl_nvml_has_channel(const struct wl_sensor *s, const struct wl_nvml_device *u, enum wl_quantity q,
                         enum wl_scope scope);

/* A value or NVML's refusal. */
void wl_nvml_reading_set(struct wl_reading *out, nvmlReturn_t rc, double value, int64_t t0_ns);

/* ---- nvml_fields.c ---- */

void wl_nvml_fields_probe(struct wl_sensor *s); /* all GPUs */
void wl_nvml_fields_read(const struct wl_sensor *s, struct wl_nvml_device *u, struct wl_due due,
                         struct wl_reading *out);

/* Power and energy of the GPU alone, as fast as that goes; NAN where there is none. */
void wl_nvml_fields_power_energy(const struct wl_nvml *lib, nvmlDevice_t h, double *watts, double *joules);

/* Both kinds of power, likewise. */
void wl_nvml_fields_powers(const struct wl_nvml *lib, nvmlDevice_t h, double *instant_w, double *average_w);

/* The power limits of a scope; NVML's code where it does not tell the one that was requested. */
nvmlReturn_t wl_nvml_fields_limit(const struct wl_nvml *lib, nvmlDevice_t h, unsigned scope,
                                  struct wl_gpu_power_limit *out);

/* ---- nvml_calls.c: behind the fields, for what they did not give ---- */

void wl_nvml_calls_probe(struct wl_sensor *s, struct wl_nvml_device *u);
void wl_nvml_calls_read(const struct wl_sensor *s, struct wl_nvml_device *u, struct wl_due due, struct wl_reading *out);

/* ---- nvml_gpm.c ---- */

/* Returns why there are no profiling counters (static text; *fix: the command that allows them), or NULL. */
const char *wl_nvml_gpm_probe(struct wl_sensor *s, struct wl_nvml_device *u, const char **fix);
void wl_nvml_gpm_read(const struct wl_sensor *s, struct wl_nvml_device *u, struct wl_reading *out);

/* ---- nvml_update.c ---- */

/* How often power and energy move, into the channels' update_s: as remembered where readings of edges will show whether
 * that still holds, else by polling for a moment; what that shows is remembered. A file that cannot be read or written
 * is the sensor's reason. */
void wl_nvml_update_period_find(struct wl_sensor *s);

/* What was remembered of the GPU is not so: it is forgotten, so that the next run looks again. */
void wl_nvml_update_period_forget(struct wl_sensor *s, int device);
void wl_nvml_update_period_notes(const struct wl_sensor *s, const struct wl_nvml_device *u, struct wl_strs *out,
                                 struct wl_arena *a);

/* ---- nvml_calibrated.c ---- */

/* Ties the calibrations that are kept to the channels they are of; a file that cannot be read is the sensor's reason.
 */
void wl_nvml_calibrations_attach(struct wl_sensor *s, const struct wl_power_opts *o);

/* ---- nvml_facts.c ---- */

void wl_nvml_facts_add(struct wl_sensor *s, const struct wl_nvml_device *u);

/* ---- nvml_company.c ---- */

void wl_nvml_processes_probe(struct wl_sensor *s, struct wl_nvml_device *u);
void wl_nvml_processes_poll(const struct wl_nvml_sensor *n, struct wl_nvml_device *u);
void wl_nvml_processes_notes(const struct wl_sensor *s, const struct wl_nvml_device *u, struct wl_strs *out,
                             struct wl_arena *a);

#endif
