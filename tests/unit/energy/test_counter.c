/* Energy by a counter that repeats its value, is reset, stays constant or stops answering. */
#include "series.h"

static void a_counter_is_interpolated_at_the_edges(void **state)
{
    (void)state;
    struct wl_time_series s = line(101, 100 * MS, 5e6, 250);
    struct wl_energy e = counter(&s, 1234 * MS, 8777 * MS, 300 * MS);
    assert_near(e.energy_j, 250 * 7.543, 1e-6);
    assert_near(e.mean_w, 250, 1e-6);
    /* Gaps inside are harmless. At an edge they are holes, in which the counter is interpolated.
     */
    for (int i = 30; i < 60; i++) value[i] = NAN;
    assert_near(counter(&s, 1234 * MS, 8777 * MS, 300 * MS).energy_j, 250 * 7.543, 1e-6);
    e = counter(&s, 4 * S, 8 * S, 300 * MS);
    assert_near(e.energy_j, 1000, 1e-6);
    assert_true(e.lo_j >= 500 && e.hi_j <= 1500 && e.hi_j - e.lo_j > 15 && e.lo_j < 1000 && e.hi_j > 1000);
    assert_near(e.covered_j, 250 * 2.0, 1e-6);
    assert_near(e.coverage, 0.5, 1e-9);
    e = counter(&s, 4 * S, 5 * S, 300 * MS); /* inside the hole, whose energy was counted */
    assert_near(e.energy_j, 250, 1e-6);
    assert_true(e.coverage == 0 && e.lo_j < 250 && e.hi_j > 250);
    s.n = 30; /* the readings end at 2.9 s */
    e = counter(&s, 2 * S, 3700 * MS, 300 * MS);
    assert_near(e.energy_j, 250 * 1.7, 1e-6);
    e = counter(&s, 2 * S, 3900 * MS, 300 * MS);
    assert_true(isnan(e.energy_j));
    assert_string_equal(e.why, "readings of the counter are missing for more than half of the window");
    e = counter(&s, 4 * S, 5 * S, 300 * MS);
    assert_true(isnan(e.energy_j));
    assert_string_equal(e.why, "no reading of the counter in the window or near it");
}

/* From 0 to 500 W within a hole: an epoch inside it may have drawn nothing or all of the energy. */
static void a_hole_may_be_more_uncertain_than_the_energy(void **state)
{
    (void)state;
    static double power_w[101];
    struct wl_time_series s = line(101, 100 * MS, 0, 250), power = { t_ns, power_w, 101 };
    for (int i = 0; i < 101; i++) power_w[i] = i % 2 ? 500 : 0;
    for (int i = 30; i < 60; i++) value[i] = NAN;
    struct wl_energy e = wl_energy_of_counter(&s, &power, 4 * S, 5 * S, 300 * MS, &wl_sensor_response_unknown);
    assert_true(isnan(e.energy_j));
    assert_string_equal(e.why,
                        "the counter was not read near the window's edges: the uncertainty exceeds the energy itself");
    e = wl_energy_of_counter(&s, &power, 4 * S, 9 * S, 300 * MS, &wl_sensor_response_unknown);
    assert_near(e.energy_j, 250 * 5, 1e-6);
    assert_near(e.lo_j, 2250 - (725 + 560 * 1.2),
                1e-6); /* 560 W from 2.9 s on, when it may have been late by a reading */
}

/* The counter stops answering at 6 s. Power is still read: 100 W before, 300 W from then on. */
static void power_replaces_a_counter_that_stops(void **state)
{
    (void)state;
    static double power_w[101];
    struct wl_time_series s = line(101, 100 * MS, 0, 100), power = { t_ns, power_w, 101 };
    for (int i = 0; i < 101; i++) power_w[i] = (i < 60 ? 100 : 300) + (i % 2 ? 0.5 : -0.5);
    for (int i = 61; i < 101; i++) value[i] = NAN;
    struct wl_energy of[3] = {
        wl_energy_of_counter(&s, &power, S, 8 * S, 300 * MS, &wl_sensor_response_unknown),
        wl_energy_of_power(&power, S, 8 * S, 300 * MS, &wl_sensor_response_unknown),
        wl_energy_combined(&s, &power, S, 8 * S, 300 * MS, &wl_sensor_response_unknown, &wl_sensor_response_unknown),
    };
    assert_near(of[0].coverage, 5.0 / 7, 1e-9);
    assert_true(of[0].lo_j <= 1100 && of[0].hi_j >= 1100); /* 100 W or more after that */
    assert_near(of[2].energy_j, 500 + 600, 15);
    assert_near(of[2].coverage, 1, 1e-12);
    assert_true(of[2].hi_j - of[2].lo_j < of[0].hi_j - of[0].lo_j);
    assert_int_equal(wl_energy_choose(&of[0], &of[1], &of[2]),
                     of[1].hi_j - of[1].lo_j < of[2].hi_j - of[2].lo_j ? WL_ENERGY_BY_INTEGRAL : WL_ENERGY_COMBINED);
}

/* A driver was reloaded just before the window: the decrease of the counter is not power. */
static void a_reset_next_to_the_window_is_not_power(void **state)
{
    (void)state;
    const double joules[] = { 9e6 - 20, 9e6, 40, 40, 60, 60, 100, 100, 140, 140, 180, 180 };
    for (size_t i = 0; i < WL_COUNT(joules); i++) {
        t_ns[i] = (int64_t)i * 50 * MS;
        value[i] = joules[i];
    }
    struct wl_time_series s = series(WL_COUNT(joules));
    struct wl_energy e = counter(&s, 130 * MS, 430 * MS, 300 * MS);
    assert_near(e.energy_j, 400 * 0.255 + 200 * 0.045, 4); /* 200 W until 175 ms, then 400 W */
    assert_true(e.lo_j <= e.energy_j && e.energy_j <= e.hi_j);
}

/* Two late changes close together look like a high power. Extrapolated back, the counter is never below an earlier
 * reading. */
static void a_counter_is_never_below_an_earlier_reading(void **state)
{
    (void)state;
    const int64_t at_ms[] = { 0, 1, 102, 304, 311, 314 };
    const double joules[] = { NAN, 0, 0, 49, 56, 56 };
    for (size_t i = 0; i < WL_COUNT(joules); i++) {
        t_ns[i] = at_ms[i] * MS;
        value[i] = joules[i];
    }
    struct wl_time_series s = series(WL_COUNT(joules));
    for (int64_t end = 5; end < 304; end += 7) {
        struct wl_energy e = counter(&s, MS, end * MS, 300 * MS);
        if (isnan(e.energy_j))
            assert_non_null(e.why);
        else
            assert_true(0 <= e.lo_j && e.lo_j <= e.energy_j && e.energy_j <= e.hi_j);
    }
}

/* A counter that changes every 100 ms, read every 10 ms: for any window the error is far below a step. */
static void a_slow_counter_is_interpolated_between_its_changes(void **state)
{
    (void)state;
    const double watts = 400;
    for (size_t i = 0; i < 1000; i++) {
        t_ns[i] = (int64_t)i * 10 * MS + 3 * MS;
        value[i] = 1000 + watts * 0.1 * floor((double)t_ns[i] / (100.0 * MS));
    }
    struct wl_time_series s = series(1000);
    srand(3);
    for (int k = 0; k < 200; k++) {
        int64_t t0 = S + rand() % S, t1 = 7 * S + rand() % S;
        double want = watts * (double)(t1 - t0) / S;
        assert_near(counter(&s, t0, t1, 300 * MS).energy_j, want, 0.02 * watts * 0.1);
    }
    /* Extrapolated beyond the first and last reading: by at most one step as far as it was read, without limit beyond
     * that. */
    struct wl_energy e = counter(&s, 0, 10 * S, 300 * MS);
    assert_near(e.energy_j, watts * 10, watts * 0.1);
    assert_near(e.held_s, 0.01, 1e-9);
    e = counter(&s, S, 10250 * MS, 300 * MS);
    assert_near(e.energy_j, watts * 9.25, 0.02 * watts * 0.1);
}

static void a_reset_inside_the_window_makes_the_energy_nan(void **state)
{
    (void)state;
    struct wl_time_series s = line(101, 100 * MS, 1000, 250);
    for (int i = 60; i < 101; i++) value[i] -= value[60];
    struct wl_energy e = counter(&s, S, 9 * S, 300 * MS);
    assert_true(isnan(e.energy_j));
    assert_string_equal(e.why, "the counter was reset");
    assert_true(isnan(counter(&s, S, 5950 * MS, 300 * MS).energy_j));
    assert_near(counter(&s, S, 5 * S, 300 * MS).energy_j, 1000, 1e-6);
    assert_near(counter(&s, 7 * S, 9 * S, 300 * MS).energy_j, 500, 1e-6);
}

static void a_constant_counter_has_no_energy(void **state)
{
    (void)state;
    struct wl_time_series s = line(101, 100 * MS, 0, 0);
    struct wl_energy e = counter(&s, S, 9 * S, 300 * MS);
    assert_true(isnan(e.energy_j));
    assert_string_equal(e.why, "the counter did not move in the window");
}

static void two_readings_suffice_for_a_counter(void **state)
{
    (void)state;
    t_ns[0] = 0, t_ns[1] = 20 * MS;
    value[0] = 10, value[1] = 12;
    struct wl_time_series s = series(2);
    assert_near(counter(&s, 5 * MS, 15 * MS, 300 * MS).energy_j, 1, 1e-9);
}

/* 100 W; the machine was busy when the first reading was due, and the second followed at once. */
static void a_late_first_reading_loses_no_energy(void **state)
{
    (void)state;
    static const int ms[] = { 190, 200, 300, 400, 500 };
    for (size_t i = 0; i < WL_COUNT(ms); i++) {
        t_ns[i] = ms[i] * MS;
        value[i] = 100.0 * ms[i] / 1000;
    }
    struct wl_time_series s = series(WL_COUNT(ms));
    assert_near(counter(&s, 100 * MS, 600 * MS, 300 * MS).energy_j, 50, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_replaces_a_counter_that_stops),
        cmocka_unit_test(a_reset_next_to_the_window_is_not_power),
        cmocka_unit_test(a_counter_is_never_below_an_earlier_reading),
        cmocka_unit_test(a_hole_may_be_more_uncertain_than_the_energy),
        cmocka_unit_test(a_counter_is_interpolated_at_the_edges),
        cmocka_unit_test(a_slow_counter_is_interpolated_between_its_changes),
        cmocka_unit_test(a_reset_inside_the_window_makes_the_energy_nan),
        cmocka_unit_test(a_constant_counter_has_no_energy),
        cmocka_unit_test(two_readings_suffice_for_a_counter),
        cmocka_unit_test(a_late_first_reading_loses_no_energy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
