/* How often a value changes, from readings that come many times as often. */
#ifndef WL_POWER_CHANGE_DETECTOR_H
#define WL_POWER_CHANGE_DETECTOR_H

#include "base/base.h"

/* The changes of a value. A failed reading (NAN) is not a change. */
struct wl_change_detector {
    double value;                       /* latest reading */
    int64_t read_ns, first_ns, last_ns; /* when it was read; when the first and the last change were seen */
    int64_t longest_ns;                 /* longest time between two readings since the first change */
    int n;                              /* changes seen */
};
extern const struct wl_change_detector wl_change_detector_none;
void wl_change_detector_add(struct wl_change_detector *m, double value, int64_t t_ns);

/* The mean time between two changes, s; NAN: fewer than two were seen. */
double wl_change_detector_period_s(const struct wl_change_detector *m);

/* The error of that period, s: a change is only seen at the next reading. HUGE_VAL: a change may have been missed. */
double wl_change_detector_error_s(const struct wl_change_detector *m);

#endif
