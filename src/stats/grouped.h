/* Linear least squares in which each of many groups has columns of its own, in time and memory that grow with the rows.
 */
#ifndef WL_STATS_GROUPED_H
#define WL_STATS_GROUPED_H

#include "base/base.h"

/* y = intercept of the group (+ slope of the group times x) + Z c + error. No group is empty. */
struct wl_grouped_data {
    size_t n, groups, common;
    const double *y;     /* [n] */
    const size_t *group; /* [n] from 0 */
    const double *x;     /* [n]; NULL: groups have no slopes */
    const double *z;     /* [n, common] column-major: the columns that all groups share */
};

struct wl_grouped {
    size_t common;
    double rank;               /* of the common columns less what those of the groups explain */
    double df, sse, sigma;     /* sigma NAN without degrees of freedom */
    double *intercept, *slope; /* [groups] slope NULL without x */
    double *c;                 /* [common] the shortest of the solutions */
    double *inverse;           /* [common, common] covariance of c over sigma^2: a generalised inverse */
    double *own; /* [groups] variance of the group's coefficient over sigma^2, were c known: of the slope, without x of
                  * the intercept */
    double *shared; /* [groups, common] row-major: how that coefficient follows from c, less its sign */
};

/* Partials out the groups (Frisch and Waugh 1933; Lovell 1963). WL_EINVAL: a group's x is constant. */
int wl_grouped_fit(struct wl_grouped *out, const struct wl_grouped_data *d, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

/* Variance over sigma^2 of the difference of two groups' slopes, without x of their intercepts. */
double wl_grouped_variance(const struct wl_grouped *g, size_t i, size_t k);

#endif
