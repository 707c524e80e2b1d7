/* Levels of a factor at one worker count. */
#ifndef WL_LAW_FACTOR_RATIOS_H
#define WL_LAW_FACTOR_RATIOS_H

#include "law/factor/factor.h"

/* Fills g->cells. margin: of a ratio, .05 for 5 %. */
void wl_factor_fill_cells(struct wl_factor_group *g, double margin, struct wl_arena *a);

#endif
