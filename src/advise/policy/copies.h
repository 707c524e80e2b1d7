/* Runs that several sources have. */
#ifndef WL_ADVISE_POLICY_COPIES_H
#define WL_ADVISE_POLICY_COPIES_H

#include "base/base.h"

/* Removes from each table the runs that an earlier one has, so that a run counts once: the same workload, workers and
 * cap with times and energies that agree to the last digit in every row, which those of two measured runs do not. Runs
 * without an energy stay, and those whose hardware is known to differ. removed: [n] runs of each table. */
void wl_policy_remove_copies(struct wl_observations *obs, size_t n, size_t *removed, struct wl_arena *a);

#endif
