/* Segmented regression: two lines that meet at a breakpoint. */
#ifndef WL_STATS_SEGMENTED_H
#define WL_STATS_SEGMENTED_H

#include "base/base.h"

/* y = b0 + slope1 x up to the breakpoint, continuous, and slope2 from there; the breakpoint lies between the second and
 * the last but one of the different x, at the smallest sum of squares. lo, hi: the ends of the breakpoints c with
 * SSE(c) <= SSE (1 + F(level; 1, n - 4) / (n - 4)); NAN without degrees of freedom. p: against one straight line, by
 * the largest gain over all breakpoints in `draws` samples of normal noise (an F test at the chosen breakpoint would
 * reject too often); NAN without draws or without scatter. WL_EINVAL: fewer than five different x. Source: Muggeo 2003;
 * Andrews 1993 (sup F); Hansen 2000. */
struct wl_segmented {
    double breakpoint, lo, hi;
    double b0, slope1, slope2;
    double sse, df; /* df = n - 4 */
    double p;
};
struct wl_segmented_options {
    double level; /* of the interval lo to hi */
    size_t draws;
};
int wl_segmented_fit(const double *x, const double *y, size_t n, const struct wl_segmented_options *options,
                     struct wl_segmented *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
