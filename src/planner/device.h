/* Clock, time and power of one device under a power cap or a clock lock.
 *
 *   t(f) = t1 [mu + (1 - mu) f0/f]        mu: share of the time that does not wait for the core clock
 *   P(f) = Ps + Pd u phi^g,  phi = f/f0   g from 1 (voltage flat) to 3.2 (voltage falls with the clock)
 *   cap:  phi = ((min(cap, P0) - Ps) / (P0 - Ps))^(1/g), not below the lowest clock
 *
 * On the public Zeus traces of a V100 the time law is within 1 to 2 % (MAPE), the energy law within 5 %; of an A40 4
 * and 14 %.
 */
#ifndef WL_PLANNER_DEVICE_H
#define WL_PLANNER_DEVICE_H

#include "base/base.h"

struct wl_planner_device {
    double idle_w;      /* Ps */
    double max_w;       /* Ps + Pd: board power limit */
    double load;        /* u: share of Pd that the workload draws while it computes at full clock */
    double exponent;    /* g */
    double clock_mhz;   /* f0: where the workload runs without cap or lock; NAN: unknown, locks cannot be planned */
    double lowest_mhz;  /* NAN: unknown, no floor */
    double highest_mhz; /* of a lock; NAN: unknown */
    double min_cap_w;   /* NAN: unknown */
};

/* Where a device runs. */
struct wl_planner_operation {
    double phi;       /* clock relative to f0 */
    double active_w;  /* power while it computes; NAN: idle or maximum power is missing */
    bool enforceable; /* cap and lock are in the device's range, and the cap is not below what the lowest clock draws */
};

/* cap_w and clock_mhz NAN: none. A cap without known powers, or a lock without a known clock, gives phi NAN, and so
 * does a cap that leaves nothing for computing (not above the idle power) where the lowest clock is unknown. */
struct wl_planner_operation wl_planner_operate(const struct wl_planner_device *d, double cap_w, double clock_mhz);

/* t(f)/t1. */
double wl_planner_slowdown(double memory_share, double phi);

/* E[max of N] of iid normal step times with mean 1 and standard deviation cv, by Blom's approximation: 1 + cv
 * Phi^-1((N - .375)/(N + .25)). Source: Blom 1958. Within 1 % of cv of the exact value from N = 2 on. */
double wl_planner_straggle(double cv, double workers);

#endif
