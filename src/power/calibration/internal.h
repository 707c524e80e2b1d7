/* How a GPU's power sensors show what they measure: found by a load of square waves, kept in a file. */
#ifndef WL_POWER_CALIBRATION_INTERNAL_H
#define WL_POWER_CALIBRATION_INTERNAL_H

#include "power/internal.h"

/* ---- calibration_fit.c ---- */

/* The load: at rest until t_ns[0], on from there to t_ns[1], off to t_ns[2], and so on. */
struct wl_load_edges {
    const int64_t *t_ns;
    size_t n;
};

/* Fits a sensor to its readings, polled many times between two of its updates, under that load. The model: the power
 * follows the load with a time constant (rise_s); an update at u shows the mean over the window_s that end lag_s before
 * u; between updates the reading is held. What is meant by square waves of several periods, among them some of little
 * more and less than the update period, whose beats with it tell the window: Yang, Adamek, Armour, SC24
 * (arXiv:2312.02741), sections on update period, transient response and averaging window. Fills in everything but who
 * it is of. Readings before the load do not count: the GPU may not have come to rest. `rise_s`: as another sensor of
 * the same GPU told it, for the mean of a second, which does not show it; NULL: it is fitted. WL_EINVAL: too few
 * updates, or none that follows the load. */
int wl_calibration_fit(const struct wl_time_series *readings, const struct wl_load_edges *load,
                       const struct wl_fitted *rise_s, struct wl_calibration *out, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* How often the value moves, from readings alone, s; NAN: not seen to. For the choice of the waves. */
double wl_calibration_update_s(const struct wl_time_series *readings, struct wl_arena *a);

/* ---- calibration_waves.c ---- */

/* A train of square waves, half of each period on. */
struct wl_wave {
    double period_s;
    int periods;
};

/* The waves for a sensor that moves every update_s; returns how many, at most WL_MAX_WAVES. */
enum { WL_MAX_WAVES = 4 };
size_t wl_calibration_waves(double update_s, struct wl_wave *out);

/* ---- calibration_file.c ---- */

/* The entry of a device, driver and quantity, whatever its age; NULL: there is none. */
const struct wl_calibration *wl_calibration_find(const struct wl_calibrations *all, const char *uuid,
                                                 const char *driver, enum wl_quantity q, enum wl_variant v);

#endif
