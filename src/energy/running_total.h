/* The energy of a device so far, from its readings as they come. The energy of a window, with an interval and across
 * holes, is that of energy.h. */
#ifndef WL_ENERGY_RUNNING_TOTAL_H
#define WL_ENERGY_RUNNING_TOTAL_H

#include "base/base.h"

struct wl_running_total {
    bool counter;       /* readings are joules of a counter, else watts */
    int64_t max_gap_ns; /* between two readings of power over which energy is added; 0: any */
    double energy_j;
    double value; /* the last good reading; NAN: none yet */
    int64_t t_ns; /* its time */
};

struct wl_running_total wl_running_total_of(bool counter, int64_t max_gap_ns);

/* Adds a reading, of a channel in order of time. What the device drew before since_ns does not count; of a counter it
 * counts from the last reading before that on. A failed reading (NAN) adds nothing: a counter goes on counting. A
 * counter that decreases has restarted with its driver: what it shows then is a new beginning. */
void wl_running_total_add(struct wl_running_total *t, double value, int64_t t_ns, int64_t since_ns);

#endif
