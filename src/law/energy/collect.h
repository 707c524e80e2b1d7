/* Rows to runs with worker-hours and kWh. */
#ifndef WL_LAW_ENERGY_COLLECT_H
#define WL_LAW_ENERGY_COLLECT_H

#include "law/energy/energy.h"

/* Fills the runs of a group, their configurations, sums and counts, and notes what is left out. laws: [obs->n] the
 * group of each row by the default rule; configurations are runs of one law, worker count and work of an epoch (within
 * 5 %). */
void wl_energy_law_collect(struct wl_energy_law_group *g, const struct wl_observations *obs,
                           const struct wl_law_partition_cell *part, int64_t drop_epochs, const size_t *laws,
                           struct wl_arena *a);

#endif
