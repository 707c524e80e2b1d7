/* How the sensors of a device show its power: update period, averaging window, delay. */
#ifndef WL_POWER_SENSOR_RESPONSE_H
#define WL_POWER_SENSOR_RESPONSE_H

#include "energy/energy.h"
#include "power/quantity.h"

/* The response of a power or energy channel: from its calibration, else from its variant, its update period and
 * published data of the product. */
struct wl_sensor_response wl_sensor_response_of(const struct wl_device *d, const struct wl_channel *c);

/* "shows 25 ms of each 100 ms (assumed)", "... (calibrated 2026-01-31)"; for overlapping means, "shows the mean of 1
 * s"; NULL: the window is not known or covers all of the time. `calibrated`: date, NULL: not calibrated. */
char *wl_sensor_response_text(const struct wl_sensor_response *g, const char *calibrated, struct wl_arena *a);

#endif
