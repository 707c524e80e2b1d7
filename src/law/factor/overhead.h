/* The overhead model: one overhead shared by all levels. */
#ifndef WL_LAW_FACTOR_OVERHEAD_H
#define WL_LAW_FACTOR_OVERHEAD_H

#include "law/factor/factor.h"

void wl_factor_fit_overhead(struct wl_factor_group *g, enum wl_law_response response, struct wl_arena *a);

#endif
