/* Shared by the tests of energy: series of readings, and energies of a sensor with an unknown response. */
#ifndef TESTS_ENERGY_SERIES_H
#define TESTS_ENERGY_SERIES_H

#include "power/power.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#define S  WL_NS_PER_S
#define MS (S / 1000)

enum { MOST = 4096 };
static int64_t t_ns[MOST];
static double value[MOST];

static inline struct wl_time_series series(size_t n) { return (struct wl_time_series) { t_ns, value, n }; }

static inline void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance)) fail_msg("%.12g is not %.12g +- %g", got, want, tolerance);
}

/* Sensors with an unknown response. */
static inline struct wl_energy integral(const struct wl_time_series *s, int64_t t0, int64_t t1, int64_t gap)
{
    return wl_energy_of_power(s, t0, t1, gap, &wl_sensor_response_unknown);
}

static inline struct wl_energy counter(const struct wl_time_series *s, int64_t t0, int64_t t1, int64_t gap)
{
    return wl_energy_of_counter(s, NULL, t0, t1, gap, &wl_sensor_response_unknown);
}

/* A reading at each step from 0 on, of a straight line. */
static inline struct wl_time_series line(size_t n, int64_t step, double at0, double per_s)
{
    for (size_t i = 0; i < n; i++) {
        t_ns[i] = (int64_t)i * step;
        value[i] = at0 + per_s * (double)t_ns[i] / S;
    }
    return series(n);
}

#endif
