/* The sensors of a machine: which there are, what each can read, and why one cannot. */
#ifndef WL_POWER_SENSORS_H
#define WL_POWER_SENSORS_H

#include "power/options.h"
#include "power/quantity.h"

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
    struct wl_arena *shared; /* private: what sensors share */
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

#endif
