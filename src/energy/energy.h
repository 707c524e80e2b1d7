/* Energy of a time window, and means over it, from readings; with an interval for what they do not show. */
#ifndef WL_ENERGY_ENERGY_H
#define WL_ENERGY_ENERGY_H

#include "base/base.h"
#include "energy/attribution.h"
#include "energy/running_total.h"

/* n readings in order of time; NAN is a failed reading. */
struct wl_time_series {
    const int64_t *t_ns;
    const double *value;
    size_t n;
};

/* The nearest good reading at or before (prev) or at or after (next) index i; -1: there is none. */
ptrdiff_t wl_time_series_prev(const struct wl_time_series *s, ptrdiff_t i);
ptrdiff_t wl_time_series_next(const struct wl_time_series *s, ptrdiff_t i);

/* Index of the first reading at or after t; s->n if there is none. */
size_t wl_time_series_lower_bound(const struct wl_time_series *s, int64_t t_ns);

/* How a sensor's readings relate to what it measures. NAN: not known. */
struct wl_sensor_response {
    double update_s; /* time between two updates */
    double window_s; /* averaging window of a reading; HUGE_VAL: since the previous reading */
    double delay_s;  /* mean age of a reading: from the middle of its window to when it is read */
    double max_w;    /* maximum power of the device: its power limit */
};
extern const struct wl_sensor_response wl_sensor_response_unknown;

/* Energy over [t0, t1]. A hole is a part of the window between readings that are too far apart to be bridged
 * (wl_max_gap_ns, wl_energy_of_power), or beyond the last reading: its energy is estimated, and the interval includes
 * all that the device may have drawn there. If holes make up more than half of the window, there is no energy. A
 * counter keeps counting in a hole: it has no energy if the interval is wider than the energy itself. */
struct wl_energy {
    double energy_j;   /* including holes; NAN: not known */
    double lo_j, hi_j; /* its 95 % interval (docs/metrics.md); NAN if energy_j is */
    double mean_w;     /* over the covered part or, if nothing is covered, over the window */
    double coverage;   /* 0..1: share of the window outside holes */
    double covered_j;  /* energy of that part */
    double held_s;     /* time at the edges for which the nearest reading was held; part of the coverage */
    size_t readings;   /* good readings inside the window */
    const char *why;   /* why energy_j is NAN, or NULL; static text */
};

/* Trapezoidal integral of a power series (W), shifted by the response's delay; the values at the edges are
 * interpolated. A stretch between good readings that is longer than max_gap_ns, and than three times the usual spacing
 * of the series, is a hole. An edge without a reading beyond it holds the nearest one for up to max_gap_ns; the rest is
 * a hole. In a hole the power is taken to lie on the line between its neighbours. The interval covers what happens
 * between updates, bridged gaps, and both edges; what the device may have drawn in holes (the range of the whole
 * series, slightly widened, up to g->max_w); and, for a sensor known to see only part of the time, what aliasing with
 * its updates would hide, unless the readings rule that out. */
struct wl_energy wl_energy_of_power(const struct wl_time_series *s, int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns,
                                    const struct wl_sensor_response *g);

/* From readings that are running means over g->window_s, which is longer than the update period: nothing is unseen.
 * Adds means one window apart, counted from either end, and for the remainder, shorter than a window, the share of it
 * that `instant` (W, the same device, g_instant) shows. The interval covers that share, the instants of both ends, and
 * the difference between the two ways of counting. NAN if [t0, t1] is shorter than a window; else as
 * wl_energy_of_power. */
struct wl_energy wl_energy_of_mean(const struct wl_time_series *mean, const struct wl_time_series *instant,
                                   int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns, const struct wl_sensor_response *g,
                                   const struct wl_sensor_response *g_instant);

/* Difference of a counter (J) between t0 and t1, interpolated between the instants at which it changed (repeats of a
 * slow counter are one value); if one change of power between two such instants explains the step between them, with
 * that change. A decrease inside or next to the window is a reset: energy_j is NAN. So it is if the counter did not
 * change. Gaps inside the window are harmless; holes reach from an edge without readings near it to the nearest reading
 * inside the window. In a hole between two readings the counter lies between them; beyond the last one the mean power
 * is taken to continue. The interval is at most one update at each edge, less if the range of `power` (W, the same
 * device; NULL: none) allows less; at a hole, what that range over the whole series allows. */
struct wl_energy wl_energy_of_counter(const struct wl_time_series *s, const struct wl_time_series *power, int64_t t0_ns,
                                      int64_t t1_ns, int64_t max_gap_ns, const struct wl_sensor_response *g);

/* The counter as far as its readings reach, and the integral of power from there to an edge without them. The interval
 * is the sum of the parts' intervals. NAN if a part is. */
struct wl_energy wl_energy_combined(const struct wl_time_series *s, const struct wl_time_series *power, int64_t t0_ns,
                                    int64_t t1_ns, int64_t max_gap_ns, const struct wl_sensor_response *g,
                                    const struct wl_sensor_response *g_power);

/* Which of them is a window's energy: the counter if its readings reach both edges; else the one with the narrowest
 * interval of those that the counter's bounds do not rule out; if none is known, the one with the best coverage. NULL:
 * no such energy; at least one is given. */
enum wl_energy_method { WL_ENERGY_BY_COUNTER, WL_ENERGY_BY_INTEGRAL, WL_ENERGY_COMBINED };
enum wl_energy_method wl_energy_choose(const struct wl_energy *counter, const struct wl_energy *integral,
                                       const struct wl_energy *combined);
const char *wl_energy_method_name(enum wl_energy_method m); /* "counter", "integral", "combined" */

/* The mean of a series over the window by the same rule as wl_energy_of_power, for utilisation, clocks and the like;
 * NAN without a reading. */
double wl_window_mean(const struct wl_time_series *s, int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns);

/* The mean rate of a counter over the window, in its unit per second: the difference between t0 and t1, each
 * interpolated between the readings around it, divided by that time. An edge without a reading beyond it moves to the
 * nearest reading. A constant counter has the rate 0. NAN if it decreases, if the readings around an edge are further
 * apart than max_gap_ns, or with fewer than two readings. */
double wl_window_rate(const struct wl_time_series *s, int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns);

/* The longest gap that is bridged: three periods and at least 250 ms, so that one failed reading does no harm. For a
 * sensor that is slower than the period see wl_energy_of_power. */
int64_t wl_max_gap_ns(double period_s);

/* counter_j / integral_j, NAN if either is missing or the integral is 0; and whether it differs from 1 by more than
 * WL_RATIO_LIMIT. */
#define WL_RATIO_LIMIT 0.05
double wl_energy_ratio(double counter_j, double integral_j);
bool wl_energy_ratio_off(double ratio);

#endif
