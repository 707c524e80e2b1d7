/* Classes of rows by the work of an epoch. */
#ifndef WL_LAW_WORK_H
#define WL_LAW_WORK_H

#include "base/base.h"

/* Samples that differ by no more than this are the same work: a last partial batch may be missing. */
#define WL_LAW_SAME_WORK 1.05

/* Samples of an epoch of each row's run, mean over its epochs (of a run without epochs, its total): [obs->n], NAN where
 * unknown. */
double *wl_law_work_of_rows(const struct wl_observations *obs, struct wl_arena *a);

/* Names each row's class of `work` within its part: the smallest value of the class, "" where it is unknown. classes
 * [parts]: how many each part has. */
const char **wl_law_work_classes(const double *work, const size_t *part, size_t n, size_t parts, size_t *classes,
                                 struct wl_arena *a);

/* Is a column of a group's key one of those that by_work separates by? */
bool wl_law_work_is_key(const char *column);

#endif
