/* A learning curve: a metric over the runs of one configuration, by epoch. */
#ifndef WL_REPORT_SECTIONS_CURVE_H
#define WL_REPORT_SECTIONS_CURVE_H

#include "base/base.h"

struct wl_curve {
    size_t n, cap;         /* epochs 1 .. n */
    double *sum, *lo, *hi; /* [n] over runs; undefined where count is 0 */
    size_t *count;         /* [n] runs with a value */
};

/* Adds the value of one run at an epoch; ignored where it is not finite or the epoch is not 1 to 1000000. Start from
 * { 0 }. */
void wl_curve_add(struct wl_curve *c, double epoch, double value, struct wl_arena *a);

#endif
