/* The same work at every level of a factor. */
#ifndef WL_LAW_FACTOR_SAME_WORK_H
#define WL_LAW_FACTOR_SAME_WORK_H

#include "law/factor/factor.h"

/* Scales the response of each run to an epoch of the samples of the first one, or under weak scaling of its samples per
 * worker, where all runs recorded theirs. Fills g->work. After the runs of all levels, before their means. */
void wl_factor_make_work_equal(struct wl_factor_group *g, struct wl_arena *a);

#endif
