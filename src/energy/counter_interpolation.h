/* The value of an energy counter at any instant. */
#ifndef WL_ENERGY_COUNTER_INTERPOLATION_H
#define WL_ENERGY_COUNTER_INTERPOLATION_H

#include "energy/internal.h"

/* A counter as seen through its readings, interpolated between knots. The knots of a counter that repeats its value are
 * the readings at which it changed; else all readings. A knot's value was reached at most max_latency_ns before the
 * reading. */
struct wl_counter {
    const struct wl_time_series *s, *drawn; /* drawn: power of the same device, NULL: none */
    bool slow;                              /* repeats its value */
    int64_t update_ns;                      /* its update period; INT64_MAX: not known */
    int64_t bridged_ns;                     /* the longest stretch between readings that is not a hole */
    struct wl_range power;                  /* range of the device's power around the window, W */
};

/* How far around a window the counter's update period and the power are looked at. */
#define WL_COUNTER_AROUND_NS ((int64_t)WL_NS_PER_S)

struct wl_counter_value {
    double value, lo, hi; /* lo and hi: bounds from the power's range */
};

/* The counter at t. NAN: not known. */
struct wl_counter_value wl_counter_at(const struct wl_counter *c, int64_t t_ns);

/* The range of its slopes around [t0, t1], W. */
struct wl_range wl_counter_slope_range(const struct wl_counter *c, int64_t t0_ns, int64_t t1_ns);

#endif
