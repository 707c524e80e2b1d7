/* Is one unit of several, a node or a GPU, different from the others? Effects of units on a response that was measured
 * in blocks, such as the runs of one setting. */
#ifndef WL_STATS_UNIT_EFFECTS_H
#define WL_STATS_UNIT_EFFECTS_H

#include "base/base.h"

/* Row i was measured on the units member[first[i]] .. member[first[i + 1] - 1], each at most once. */
struct wl_unit_data {
    size_t rows, blocks, units;
    const double *y;      /* [rows] */
    const size_t *block;  /* [rows], from 0; none is empty */
    const size_t *first;  /* [rows + 1] */
    const size_t *member; /* from 0 */
    bool shares;          /* y is a mean or a sum over its units: one of k counts 1/k; else each counts fully */
};

/* Why a unit has no effect. */
enum wl_unit_state {
    WL_UNIT_COMPARED,
    WL_UNIT_WITH_OTHERS, /* in the same rows as another unit, which has the effect of both */
    WL_UNIT_IN_ALL,      /* in every row of its blocks, or in blocks of one row */
    WL_UNIT_UNCLEAR,     /* its rows do not separate it from the other units */
};

/* Effect of a unit: its y minus the mean y of the reference units in its place, all else equal. */
struct wl_unit_effect {
    enum wl_unit_state state;
    size_t with; /* the unit that has the effect; itself where compared */
    size_t rows;
    bool reference;           /* is one of those that others are compared with */
    size_t others, other;     /* reference units that it was compared with; the last of them */
    double value, se, lo, hi; /* 95 % interval by t(df); NAN: not compared */
    double t, p, p_holm; /* against 0; Holm over the compared units, two that have only each other being one test */
};

/* Least squares of y = effect of the block + sum of the effects of its units + error, by the normal equations of the
 * rows less the means of their blocks (Frisch and Waugh 1933; Lovell 1963). The reference are the units that are not
 * shown to differ: from all of them on, the one with the smallest p, if Holm's is below .05, is taken out, as long as
 * half of those that rows connect, and at least two, remain. */
struct wl_unit_effects {
    struct wl_unit_effect *v; /* [units] */
    size_t compared;
    double df, sigma; /* of the error */
    double f, df1, p; /* all units alike, F(df1, df) */
    double between;   /* standard deviation of units, of which these are a sample: Henderson's method 3; 0: no more than
                       * the error explains */
};

/* WL_EINVAL: a value of y is not finite. Without degrees of freedom for the error, errors and tests are NAN. */
int wl_unit_effects_fit(const struct wl_unit_data *d, struct wl_unit_effects *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

#endif
