/* Variation of a quantity over time and devices. */
#ifndef WL_STATS_VARIATION_H
#define WL_STATS_VARIATION_H

#include "stats/moments.h"

/* v [devices][instants], NAN where a reading is missing. mean: of all readings. Coefficients of variation (standard
 * deviation / mean): cv_time, of a device over time, mean over devices; cv_devices, between the devices at one
 * instant, mean over instants, over the mean of all; cv_pooled, of all readings, as in Frey et al. 2022. Intervals of
 * the level by drawing batches of sqrt(instants) consecutive instants with a generator that `seed` keys; NAN below 16
 * instants. */
struct wl_variation {
    size_t devices, instants;
    struct wl_estimate mean, cv_time, cv_devices, cv_pooled;
};
struct wl_variation wl_variation_estimate(const double *v, size_t devices, size_t instants, double level, uint64_t seed,
                                          struct wl_arena *a);

#endif
