/* What the tests of a factor decide. */
#ifndef WL_LAW_FACTOR_VERDICT_H
#define WL_LAW_FACTOR_VERDICT_H

#include "law/factor/factor.h"

/* From g->tests: the verdict with its reason, and the runs needed where it is undecided. */
void wl_factor_decide(struct wl_factor_group *g, double margin, struct wl_arena *a);

/* How much slower each level is than the base, after the verdict. */
void wl_factor_fill_slowdowns(struct wl_factor_group *g, struct wl_arena *a);

#endif
