/* Calibration of GPU power sensors: what a reading shows of the power, found by experiment and kept in a file. */
#ifndef WL_POWER_CALIBRATION_CALIBRATE_H
#define WL_POWER_CALIBRATION_CALIBRATE_H

#include "power/nvml/limits.h"

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
double wl_calibration_duty_cycle(const struct wl_calibration *c);

/* Where calibrations are kept: opts->calibration, else calibration.ini in $WATTLAW_STATE_DIR, as root in
 * /var/lib/wattlaw, else in $XDG_STATE_HOME/wattlaw or ~/.local/state/wattlaw. */
char *wl_calibration_path(const struct wl_power_opts *opts, struct wl_arena *a);

/* Reads the file; one that is not there holds none. WL_EINVAL names file:line. */
int wl_calibrations_read(const char *path, struct wl_calibrations *out, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* Puts these in the place of older ones of the same sensors and writes the file anew, whole or not at all. */
int wl_calibrations_merge(const char *path, const struct wl_calibrations *fresh, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

struct wl_calibrate_options {
    const char *cuda_library; /* NULL: $CUDA_DRIVER_LIBRARY, then libcuda.so.1 */
    bool force;               /* although other processes use the GPU */
    bool (*stop)(void);       /* asked for all the time: true ends it */
    void (*progress)(void *data, double done, double total, const char *note);
    void *data;
};

/* Puts square waves of load on GPU i of `g`, which takes a quarter of a minute, follows its power sensors and adds a
 * calibration of each to `out`. Clocks, limits and modes stay as they are. WL_EUNAVAIL: no CUDA driver, the GPU is
 * split into MIG instances, has no power reading or is used by others; WL_EINTR: stopped; WL_EINVAL: the readings do
 * not follow the load. */
int wl_calibrate(const struct wl_gpus *g, size_t i, const struct wl_calibrate_options *how, struct wl_calibrations *out,
                 struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
