/* Fits a power sensor's response to a load of square waves. */
#ifndef WL_POWER_CALIBRATION_FIT_H
#define WL_POWER_CALIBRATION_FIT_H

#include "energy/energy.h"
#include "power/calibration/file.h"

/* The load: off until t_ns[0], on until t_ns[1], off until t_ns[2], and so on. */
struct wl_load_edges {
    const int64_t *t_ns;
    size_t n;
};

/* Fits a sensor to its readings under that load, polled many times per update. The model: the power follows the load
 * with a time constant (rise_s); an update at u shows the mean over the window_s that end lag_s before u; between
 * updates the reading is held. The load should have square waves of several periods, some of them slightly above and
 * below the update period, whose beats with it reveal the window: Yang, Adamek, Armour, SC24 (arXiv:2312.02741),
 * sections on update period, transient response and averaging window. Fills in everything but the identity of the
 * sensor. Readings before the load do not count: the GPU may not be idle yet. `rise_s`: as fitted from another sensor
 * of the same GPU, for the 1 s mean, which does not show it; NULL: it is fitted. WL_EINVAL: too few updates, or the
 * readings do not follow the load. */
int wl_calibration_fit(const struct wl_time_series *readings, const struct wl_load_edges *load,
                       const struct wl_fitted *rise_s, struct wl_calibration *out, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* The update period, s, from readings alone, for choosing the waves; NAN: the value did not change. */
double wl_calibration_update_s(const struct wl_time_series *readings, struct wl_arena *a);

#endif
