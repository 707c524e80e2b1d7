/* Shared by the methods and their intervals. */
#ifndef WL_ENERGY_INTERNAL_H
#define WL_ENERGY_INTERNAL_H

#include "energy/energy.h"

/* ---- time_series.c ---- */

/* The lowest and highest good reading in [from, to], including the nearest one on either side; lo > hi: none. */
struct wl_range {
    double lo, hi;
};
struct wl_range wl_time_series_range(const struct wl_time_series *s, int64_t from_ns, int64_t to_ns);

/* The longest stretch between good readings that is bridged; a longer one is a hole. */
int64_t wl_time_series_max_gap_ns(const struct wl_time_series *s, int64_t max_gap_ns);

/* The plausible power where there is no reading, W: between the lowest and the highest reading of the series, widened
 * by a tenth of their range and 2 %, and not above the device's limit. */
struct wl_range wl_time_series_plausible_w(const struct wl_time_series *s, const struct wl_sensor_response *g);

/* Is more than half of a window holes? Then its energy is missing: more of it would be assumed than measured. */
bool wl_energy_mostly_holes(int64_t holes_ns, int64_t window_ns);

struct wl_energy wl_energy_none(const char *why);

/* ---- aliasing.c ---- */

/* Uncertainty below and above an energy, J. */
struct wl_energy_margin {
    double below_j, above_j;
};

/* Uncertainty due to aliasing of an integral over [t0, t1] of a sensor that sees part of the time (g->window_s of each
 * g->update_s): unless the readings rule out that the load is in step with the updates, the unseen power may be
 * anything between the lowest reading of the series and g->max_w. 0, 0 if they do, or if the sensor sees all or its
 * window is not known. */
struct wl_energy_margin wl_aliasing_margin(const struct wl_time_series *s, int64_t t0_ns, int64_t t1_ns,
                                           const struct wl_sensor_response *g);

#endif
