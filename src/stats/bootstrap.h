/* Bootstrap intervals. */
#ifndef WL_STATS_BOOTSTRAP_H
#define WL_STATS_BOOTSTRAP_H

#include "base/base.h"

/* n cases drawn with replacement `draws` times. `statistic` fills out [k] from the cases index [n]; a number that a
 * draw leaves undefined is NAN. */
struct wl_bootstrap {
    size_t n, k, draws;
    uint64_t key; /* of the counter generator (base/random.h) */
    void (*statistic)(const size_t *index, size_t n, double *out, void *data);
    void *data;
};
struct wl_bootstrap_interval {
    double value, se;      /* of all cases as they are; deviation of the draws */
    double lo, hi;         /* percentiles */
    double bca_lo, bca_hi; /* bias-corrected and accelerated; NAN where all draws lie on one side of the value */
    size_t draws;          /* that had a value; without 95 % of them all but `value` is NAN */
};

/* Fills out [k]. WL_EINVAL: fewer than two cases or 20 draws. Source: Efron 1987. */
int wl_bootstrap(const struct wl_bootstrap *b, double level, struct wl_bootstrap_interval *out, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

#endif
