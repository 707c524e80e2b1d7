/* Calibrations of GPU power sensors: how a reading relates to the power, kept in a file. */
#ifndef WL_POWER_CALIBRATION_FILE_H
#define WL_POWER_CALIBRATION_FILE_H

#include "power/options.h"
#include "power/quantity.h"

/* A fitted value and its standard error. */
struct wl_fitted {
    double value, se;
};

/* The response of one power sensor of one GPU, fitted under a load of square waves. */
struct wl_calibration {
    const char *uuid, *name, *driver; /* valid for this GPU under this driver version */
    enum wl_quantity quantity;        /* WL_POWER or WL_POWER_AVERAGE */
    enum wl_power_variant variant;
    struct wl_fitted update_s; /* time between two updates */
    struct wl_fitted window_s; /* averaging window of an update */
    struct wl_fitted lag_s;    /* from the end of the window to the update */
    struct wl_fitted rise_s;   /* time constant with which the power follows the load; not a property of the sensor */
    double off_w, on_w;        /* idle and under load */
    double residual_w;         /* root mean square residual of the fit */
    size_t updates;            /* number of updates in the fit */
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

/* The calibration file: opts->calibration, else calibration.ini in $WATTLAW_STATE_DIR, in /var/lib/wattlaw for root, or
 * in $XDG_STATE_HOME/wattlaw (default ~/.local/state/wattlaw). */
char *wl_calibration_path(const struct wl_power_opts *opts, struct wl_arena *a);

/* Reads the file; a missing file gives an empty list. WL_EINVAL names file:line. */
int wl_calibrations_read(const char *path, struct wl_calibrations *out, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* Replaces older calibrations of the same sensors and rewrites the file atomically. */
int wl_calibrations_merge(const char *path, const struct wl_calibrations *fresh, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

/* The calibration of a device, driver, quantity and variant, of any age; NULL: none. */
const struct wl_calibration *wl_calibration_find(const struct wl_calibrations *all, const char *uuid,
                                                 const char *driver, enum wl_quantity q, enum wl_power_variant v);

#endif
