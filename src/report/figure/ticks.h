/* Ticks of axes. */
#ifndef WL_REPORT_FIGURE_TICKS_H
#define WL_REPORT_FIGURE_TICKS_H

#include "base/base.h"

/* Ticks for an axis of counts (workers): the values themselves, thinned to at most `max` that are far enough apart on
 * the scale, with first and last kept. */
struct wl_reals wl_ticks_counts(const double *values, size_t n, bool log, size_t max, struct wl_arena *a);

/* Round ticks that cover lo..hi (0 < lo on a log scale). */
struct wl_reals wl_ticks_round(double lo, double hi, bool log, struct wl_arena *a);

#endif
