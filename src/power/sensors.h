/* The sensors of a machine: which exist, what each can read, and why one cannot. */
#ifndef WL_POWER_SENSORS_H
#define WL_POWER_SENSORS_H

#include "power/options.h"
#include "power/quantity.h"

enum wl_sensor_state {
    WL_SENSOR_OPEN,        /* it has channels */
    WL_SENSOR_UNAVAILABLE, /* it cannot be read here: reason, and fix where there is one */
    WL_SENSOR_UNUSED,      /* not requested, or something better is available: reason */
};

struct wl_sensor_info {
    const char *name, *help;
    enum wl_sensor_state state;
    const char *source; /* what is read, with versions: "libnvidia-ml.so.1, driver 535.104"; NULL unless open */
    const char
        *reason;     /* one sentence; for an open sensor: what it cannot read although one would expect it; or NULL */
    const char *fix; /* the exact command that changes that, or NULL */
    double read_s;   /* duration of the first reading of all its channels; NAN unless open */
    size_t n_devices, n_channels;
};

/* Everything that was opened. Devices and channels do not move; a channel's index is its number in samples. `info` has
 * a row for each sensor of the table, in that order. */
struct wl_sensors {
    struct wl_device *devices;
    struct wl_channel *channels;
    struct wl_sensor_info *info;
    size_t n_devices, n_channels, n_info;
    struct wl_arena *shared; /* private: shared by the sensors */
    struct wl_sensor **open; /* private */
    size_t n_open;
};

/* Opens the sensors that opts names and reads each once. "auto": what the machine has, a recording if opts names one,
 * and cpu_model if nothing else measures power or energy. Errors: WL_EINVAL for an unknown name ("did you mean") or a
 * broken replay file; WL_EUNAVAIL or WL_EPERM, with reason and fix, for a sensor that was named and cannot be read.
 * "auto" succeeds on any machine. The sensors are closed with the arena; a driver that hangs then is abandoned after 2
 * s. */
int wl_sensors_open(struct wl_sensors **out, const struct wl_power_opts *opts, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

/* Remarks on the readings so far: a GPU that other processes used too, one that is split into instances. Call it after
 * the sampler has stopped. */
void wl_sensors_notes(const struct wl_sensors *s, struct wl_strs *out, struct wl_arena *a);

#endif
