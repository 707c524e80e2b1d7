/* The levels of a factor and the law of each. */
#ifndef WL_LAW_FACTOR_LEVELS_H
#define WL_LAW_FACTOR_LEVELS_H

#include "law/factor/factor.h"

/* Is the factor a power cap or a clock, where a missing value means no cap? */
bool wl_factor_is_cap(const char *factor);

/* The levels of a group with the law of each, and notes on excluded rows. */
void wl_factor_collect_levels(struct wl_factor_group *g, const struct wl_law_partition_cell *part,
                              const struct wl_observations *obs, const struct wl_obs_column *column,
                              const struct wl_factor_options *options, struct wl_arena *a);

#endif
