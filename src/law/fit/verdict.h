/* Is it a power law? */
#ifndef WL_LAW_FIT_VERDICT_H
#define WL_LAW_FIT_VERDICT_H

#include "law/fit/fit.h"

/* Fills g->equivalence, g->verdict and g->verdict_reason: a test of equivalence of the exponent over the measured
 * range, on the means of the worker counts. margin: per factor of 10. */
void wl_law_judge(struct wl_law_group *g, double margin, struct wl_arena *a);

#endif
