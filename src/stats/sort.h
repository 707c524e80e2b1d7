/* Sorting of values. */
#ifndef WL_STATS_SORT_H
#define WL_STATS_SORT_H

#include "base/base.h"

/* In ascending order; n = 0 with v NULL is allowed. */
void wl_sort_ascending(double *v, size_t n);

#endif
