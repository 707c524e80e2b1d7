/* Runs to worker counts, and speedup and energy ratio over the smallest one. */
#ifndef WL_LAW_FIT_SPEEDUP_H
#define WL_LAW_FIT_SPEEDUP_H

#include "law/fit/fit.h"

/* Runs to g->configs: means by worker count. */
void wl_law_collect_configs(struct wl_law_group *g, struct wl_arena *a);

/* Speedup, efficiency, energy ratio and fitted value of each worker count, after the fit. */
void wl_law_fill_speedup(struct wl_law_group *g, struct wl_arena *a);

#endif
