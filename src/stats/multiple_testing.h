/* Multiple testing: adjusted p values. */
#ifndef WL_STATS_MULTIPLE_TESTING_H
#define WL_STATS_MULTIPLE_TESTING_H

#include "base/base.h"

/* Holm's adjusted p values: adjusted[i] <= alpha rejects with the chance of any false rejection <= alpha. NAN stays
 * NAN and does not count. Source: Holm 1979. */
void wl_holm(const double *p, size_t n, double *adjusted, struct wl_arena *a);

/* Benjamini and Hochberg's: adjusted[i] <= q rejects with an expected share of false rejections <= q, for scans over
 * many groups. */
void wl_benjamini_hochberg(const double *p, size_t n, double *adjusted, struct wl_arena *a);

#endif
