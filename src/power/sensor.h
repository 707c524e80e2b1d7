/* What a sensor is made of, for the sensors, the sampler and their tests. */
#ifndef WL_POWER_SENSOR_H
#define WL_POWER_SENSOR_H

#include "power/sensors.h"

#include <sys/types.h>

/* The result of one read of one channel.
 *   value finite             a reading at t_ns: the middle of the call, or of the interval that a mean covers
 *   value NAN, why set       a failed reading: a gap begins or continues; `why` is static or lives as long as the
 * sensor value NAN, why NULL      nothing to record at this tick (not due yet, no job yet) */
struct wl_reading {
    double value;
    int64_t t_ns;
    const char *why;
    int64_t took_ns; /* duration of the call that read it; 0: the reading has a time stamp of its own */
};

/* What is due at a tick: quantities up to this poll interval. `all`: each of them must be read, whatever that costs and
 * even if it repeats the previous reading (first and last samples, edges). */
struct wl_due {
    enum wl_poll_interval interval;
    bool all;
};
#define WL_DUE_ALL ((struct wl_due) { .interval = WL_POLL_SECOND, .all = true })
static inline bool wl_is_due(struct wl_due due, enum wl_quantity q)
{
    return wl_quantity_poll_interval(q) <= due.interval;
}

/* One opened sensor. open() fills it; it has an arena of its own. */
struct wl_sensor {
    const struct wl_sensor_ops *ops;
    struct wl_arena *arena;
    void *state;
    struct wl_device *devices;
    struct wl_channel *channels; /* device is an index within this sensor until wl_sensors_open joins the lists */
    size_t n_devices, cap_devices, n_channels, cap_channels;
    const char *source, *reason, *fix; /* see struct wl_sensor_info; a failing open() may set fix too */
    struct wl_reading *readings;       /* [n_channels] */
    size_t first_channel;              /* index of its first channel in wl_sensors.channels */
    double read_s;                     /* how long the first reading took */
    double min_period_s;   /* > 0: has a thread of its own that reads at most this often; 0: at the sampler's rate */
    double burst_period_s; /* > 0: has a thread of its own that reads this often if the sampler's rate is lower */
    struct wl_cpu_stat *cpu_stat; /* shared by all sensors that were opened together */
    bool abandoned;               /* a read has not returned: its memory is leaked and never used again */
};

/* A kind of sensor. */
struct wl_sensor_ops {
    const char *name;
    const char *help;        /* one line for doctor: what it measures */
    const char *unavailable; /* not NULL: why it is not part of this build; nothing else is set then */

    /* Finds devices and channels. On failure e holds the exact reason and s->fix the command that cures it; the arena
     * releases what was acquired. */
    int (*open)(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e);

    /* Reads the channels that are due into out[n_channels], which is NAN on entry. A sensor that gets several
     * quantities from one call may read more than is due. Allocates nothing; never fails as a whole. */
    void (*read)(struct wl_sensor *s, struct wl_due due, struct wl_reading *out);

    /* (optional) The sampler starts at t_ns. Called once, before its first read. */
    void (*start)(struct wl_sensor *s, int64_t t_ns);

    /* (optional) pid is a root process of the job; called for each rank that is started separately. From any one
     * thread. */
    void (*watch)(struct wl_sensor *s, pid_t pid);

    /* (optional) Adds to `out` what affects how the readings are to be understood. Not while a thread reads. */
    void (*notes)(const struct wl_sensor *s, struct wl_strs *out, struct wl_arena *a);

    /* (optional) Bursts have shown that a device's channels have other update periods than the remembered ones;
     * channel.update_s now holds the observed one, NAN: longer than the burst. Called by the reading thread. */
    void (*update_period_wrong)(struct wl_sensor *s, int device);
};

extern const struct wl_sensor_ops wl_sensor_nvml, wl_sensor_amd, wl_sensor_level_zero, wl_sensor_rapl, wl_sensor_acpi,
    wl_sensor_cray, wl_sensor_ipmi, wl_sensor_proc, wl_sensor_cpu_model, wl_sensor_replay, wl_sensor_null;

/* All sensors in the order of doctor's list, NULL-terminated. */
extern const struct wl_sensor_ops *const wl_sensor_table[];

/* For open(): add a device (its texts live in s->arena) and a channel; both return the index within the sensor. */
int wl_sensor_add_device(struct wl_sensor *s, const struct wl_device *d);
int wl_sensor_add_channel(struct wl_sensor *s, int device, enum wl_quantity q, enum wl_scope scope,
                          enum wl_power_variant variant);

/* Adds a fact to a device; both texts live as long as the sensor. */
void wl_sensor_add_fact(struct wl_sensor *s, int device, const char *key, const char *value);

/* Calls read() with a fresh s->readings. */
void wl_sensor_read(struct wl_sensor *s, struct wl_due due);

/* A call that takes longer than this does not tell the instant of its value: a reading of power or energy fails. */
#define WL_SLOW_NS  (WL_NS_PER_S / 10)
#define WL_SLOW_WHY "a reading took longer than 0.1 s, so that its instant is not known"

/* For read(): a good value that was read between t0 and now; the mean of a quantity over [from, to], stamped at the
 * middle; a failure. */
void wl_reading_set(struct wl_reading *r, double value, int64_t t0_ns);
void wl_reading_mean(struct wl_reading *r, double value, int64_t from_ns, int64_t to_ns);
void wl_reading_fail(struct wl_reading *r, const char *why);

/* Drops the repeats of a value that a sensor shows until its next update: while the value is younger than the update
 * period, but for at most WL_REPEAT_NS, so that no gap results. */
#define WL_REPEAT_NS (WL_NS_PER_S / 10)
struct wl_repeat_filter {
    double value;    /* last kept */
    int64_t kept_ns; /* when; 0: none yet */
};
bool wl_is_repeat(struct wl_repeat_filter *r, const struct wl_reading *reading, double update_s);

/* Limits a costly operation to 1/share of a core. */
struct wl_budget {
    int64_t share, due_ns;
};
bool wl_budget_due(const struct wl_budget *b, bool all);
void wl_budget_spent(struct wl_budget *b, int64_t cpu0_ns); /* cpu0_ns: wl_clock_thread_cpu_ns() before the work */

#endif
