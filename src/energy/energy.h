/* Energy of a window of time, and means over it, from readings; with an interval for what they do not show. */
#ifndef WL_ENERGY_ENERGY_H
#define WL_ENERGY_ENERGY_H

#include "base/base.h"

/* n readings in order of time; value NAN is a failed one. */
struct wl_time_series {
    const int64_t *t_ns;
    const double *value;
    size_t n;
};

/* The nearest good reading at or before / at or after index i; -1 where there is none. */
ptrdiff_t wl_time_series_prev(const struct wl_time_series *s, ptrdiff_t i);
ptrdiff_t wl_time_series_next(const struct wl_time_series *s, ptrdiff_t i);

/* The first reading at or after t; s->n where there is none. */
size_t wl_time_series_lower_bound(const struct wl_time_series *s, int64_t t_ns);

/* How a sensor shows what it measures. NAN: not known. */
struct wl_sensor_response {
    double update_s; /* time between two of its updates */
    double window_s; /* length of time that a reading is the mean of; HUGE_VAL: all of it */
    double delay_s;  /* age of what a reading shows, on average over the time until the next update */
    double most_w;   /* the most that the device may draw: its power limit */
};
extern const struct wl_sensor_response wl_sensor_response_unknown;

/* Energy over [t0, t1]. A hole is a part of the window between readings that lie too far apart to be bridged
 * (wl_max_gap_ns, wl_energy_of_power), or beyond the last one: its energy is estimated, and the interval holds all that
 * the device may have drawn there. Where more than half of the window is holes there is no energy, but by a counter,
 * which has counted in a hole: there is none where what is open is more than the energy. */
struct wl_energy {
    double energy_j;   /* with the holes; NAN: it is not known */
    double lo_j, hi_j; /* 95 % interval of it (docs/metrics.md); NAN with it */
    double mean_w;     /* over the covered part; where none is, over all of it */
    double coverage;   /* 0..1: share of the window that is not holes */
    double covered_j;  /* energy of that part */
    double held_s;     /* time at the edges for which the nearest reading was held, within the coverage */
    size_t readings;   /* good readings inside the window */
    const char *why;   /* why energy_j is NAN, or NULL; static text */
};

/* Trapezoid over a power series (W), as much later as the gauge's delay; the values at the edges are interpolated.
 * Neighbouring good readings further apart than max_gap_ns, and than three times the usual spacing of the series, leave
 * a hole. An edge without a reading beyond it holds the nearest one, up to max_gap_ns; the rest is a hole. In a hole
 * the power is taken to lie on the line between its neighbours. The interval holds what readings do not see between
 * updates, gaps that were bridged, and both edges; what the device may have drawn in holes (the range of the whole
 * series, a little wider, up to g->most_w); of a sensor that is known to see a part of the time, also what a load in
 * step with its updates would hide, unless the readings rule that out. */
struct wl_energy wl_energy_of_power(const struct wl_time_series *s, int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns,
                                    const struct wl_sensor_response *g);

/* From readings that are each the mean of the last g->window_s, longer than the time between updates: nothing is
 * unseen. Means a window apart, counted from the one end and from the other, and for what is left of the time less than
 * a window, the share of it that `instant` (W, the same device, g_instant) shows. The interval holds that share, the
 * instants of both ends, and how far the two ways lie apart. NAN where [t0, t1] is shorter than a window; else as
 * wl_energy_of_power. */
struct wl_energy wl_energy_of_mean(const struct wl_time_series *mean, const struct wl_time_series *instant,
                                   int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns, const struct wl_sensor_response *g,
                                   const struct wl_sensor_response *g_instant);

/* Difference of a counter (J) between t0 and t1, interpolated between the instants at which it moved (repeats of a
 * slow counter are one value); where one change of power between two such instants explains the step between them, with
 * that change. A fall inside or next to the window is a reset: energy_j is NAN. A counter that did not move tells
 * nothing: NAN. Gaps inside the window do no harm; holes are the stretches of the window from an edge without readings
 * near it to the nearest reading inside. In a hole between two readings the counter lies between them; beyond the last
 * one the mean power goes on. The interval is at most one update at each edge, less where the range of `power` (W, of
 * the same device; NULL: none) leaves less; at a hole what that range over the whole series allows. */
struct wl_energy wl_energy_of_counter(const struct wl_time_series *s, const struct wl_time_series *power, int64_t t0_ns,
                                      int64_t t1_ns, int64_t max_gap_ns, const struct wl_sensor_response *g);

/* The counter where its readings reach, and the integral of power from there to an edge at which they are missing. The
 * interval is the sum of the parts' intervals. NAN where a part is. */
struct wl_energy wl_energy_combined(const struct wl_time_series *s, const struct wl_time_series *power, int64_t t0_ns,
                                    int64_t t1_ns, int64_t max_gap_ns, const struct wl_sensor_response *g,
                                    const struct wl_sensor_response *g_power);

/* By which of them a window's energy counts: the counter where its readings reach both edges; else what has the
 * narrowest interval, since that holds what each method leaves open, of those that the counter's bounds do not rule
 * out; where none is known, what most readings cover. NULL: there is no such energy; one there is. */
enum wl_energy_method { WL_ENERGY_BY_COUNTER, WL_ENERGY_BY_INTEGRAL, WL_ENERGY_COMBINED };
enum wl_energy_method wl_energy_choose(const struct wl_energy *counter, const struct wl_energy *integral,
                                       const struct wl_energy *combined);
const char *wl_energy_method_name(enum wl_energy_method m); /* "counter", "integral", "combined" */

/* The mean of a series over the window by the same rule as wl_energy_of_power, for utilisation, clocks and the like;
 * NAN without a reading. */
double wl_window_mean(const struct wl_time_series *s, int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns);

/* The mean rate of a counter over the window, its unit a second: the difference between t0 and t1, each interpolated
 * between the readings around it, over that time. An edge without a reading beyond it moves to the nearest reading. A
 * counter that stood still has the rate 0. NAN where it falls, where readings around an edge are further apart than
 * max_gap_ns, and with fewer than two readings. */
double wl_window_rate(const struct wl_time_series *s, int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns);

/* A gap that is still bridged: three periods and at least 250 ms, so that one failed reading does no harm.
 * A sensor that is slower than the period has a longer one of its own, see wl_energy_of_power. */
int64_t wl_max_gap_ns(double period_s);

/* counter_j / integral_j, NAN where either is missing or the integral is 0; and whether that is off by more than
 * WL_RATIO_LIMIT. */
#define WL_RATIO_LIMIT 0.05
double wl_energy_ratio(double counter_j, double integral_j);
bool wl_energy_ratio_off(double ratio);

#endif
