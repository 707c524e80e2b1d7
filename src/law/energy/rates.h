/* One rate for all groups? */
#ifndef WL_LAW_ENERGY_RATES_H
#define WL_LAW_ENERGY_RATES_H

#include "law/energy/energy.h"

/* F test of one slope with an intercept per group, against one line per group, over means of configurations. Energy and
 * worker-hours are those of the same work: per sample where every run of a group has them, then over the mean
 * worker-hours of the group, so that no group counts for its size. */
void wl_energy_law_compare_rates(struct wl_energy_law_result *r, struct wl_arena *a);

/* Means of x and y over the runs of each configuration, in order of their first runs; returns how many there are. */
size_t wl_energy_law_config_means(const struct wl_energy_law_group *g, double *x, double *y, struct wl_arena *a);

#endif
