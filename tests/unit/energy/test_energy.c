/* Energy of windows: exact integrals, edges, gaps, the choice of a method, and which scopes count. */
#include "series.h"

static void a_line_is_integrated_exactly_between_readings(void **state)
{
    (void)state;
    struct wl_time_series s = line(101, 100 * MS, 100, 10);
    int64_t t0 = 1234567891, t1 = 8765432109;
    double a = (double)t0 / S, b = (double)t1 / S;
    double want = 100 * (b - a) + 5 * (b * b - a * a);
    struct wl_energy e = integral(&s, t0, t1, 300 * MS);
    assert_near(e.energy_j, want, 1e-9 * want);
    assert_near(e.mean_w, want / (b - a), 1e-9 * want);
    assert_true(e.coverage == 1 && e.held_s == 0 && e.why == NULL);
    assert_int_equal(e.readings, 75);
}

/* Five readings a second apart, of 100 and 102 W in turn, and a window from the first to the last: four updates, which
 * change by 2 W. The formulas of docs/metrics.md by hand: noise c and v are 2^2/2 W^2 per reading, 1.25 readings
 * per update weigh w = 1 + .25 x .75 / 1.25^2; the uncertainty of an edge is an update times 2 W. t with 3 degrees of
 * freedom is 3.1824, which is approximated to 1 %. */
static void few_updates_leave_a_wide_interval(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++) t_ns[i] = (int64_t)i * S, value[i] = i % 2 ? 102 : 100;
    struct wl_time_series s = series(5);
    struct wl_energy e = integral(&s, 0, 4 * S, 3 * S);
    double sampling_j = 3.1824 * 4 * sqrt((1 + 0.25 * 0.75 / (1.25 * 1.25)) * 2 / 4);
    assert_near(e.energy_j, 404, 1e-9);
    assert_near((e.hi_j - e.lo_j) / 2, sqrt(sampling_j * sampling_j + 2 * 2 + 2 * 2), 0.012 * sampling_j);
}

/* A reading is half an update and half a window old; a mean since the previous reading has no age. */
static void the_age_of_a_reading_follows_from_its_window(void **state)
{
    (void)state;
    const struct wl_device a100 = { .name = "NVIDIA A100-SXM4-40GB" }, v100 = { .name = "Tesla V100" };
    struct wl_channel c = { .quantity = WL_POWER, .variant = WL_VARIANT_INSTANT, .update_s = NAN, .max_w = NAN };
    struct wl_sensor_response g = wl_sensor_response_of(&a100, &c);
    assert_near(g.update_s, 0.1, 1e-12);
    assert_near(g.window_s, 0.025, 1e-12);
    assert_near(g.delay_s, 0.0625, 1e-12);
    c.update_s = 0.02;
    g = wl_sensor_response_of(&v100, &c);
    assert_true(isnan(g.window_s));
    assert_near(g.delay_s, 0.01, 1e-12);
    c.variant = WL_VARIANT_MEAN;
    assert_near(wl_sensor_response_of(&v100, &c).delay_s, 0, 0);
    c = (struct wl_channel) { .quantity = WL_POWER_AVERAGE, .variant = WL_VARIANT_AVERAGE, .update_s = 0.1 };
    g = wl_sensor_response_of(&v100, &c);
    assert_near(g.window_s, 1, 0);
    assert_near(g.delay_s, 0.55, 1e-12);
}

static void halves_of_a_window_add_up(void **state)
{
    (void)state;
    size_t n = 400;
    srand(7);
    t_ns[0] = 0;
    for (size_t i = 0; i < n; i++) {
        t_ns[i] = (i ? t_ns[i - 1] : 0) + 50 * MS + rand() % (50 * MS);
        value[i] = 50 + rand() % 300;
    }
    struct wl_time_series s = series(n);
    for (int k = 0; k < 100; k++) {
        int64_t t0 = t_ns[0] + rand() % S, t1 = t_ns[n - 1] - rand() % S, mid = t0 + (t1 - t0) / (2 + rand() % 9);
        double whole = integral(&s, t0, t1, 300 * MS).energy_j;
        double parts = integral(&s, t0, mid, 300 * MS).energy_j + integral(&s, mid, t1, 300 * MS).energy_j;
        assert_near(parts, whole, 1e-9 * whole);
    }
}

/* In the hole the truth may be anything in the range of all readings, widened by 10 % of it and 2 %. */
static void one_failed_reading_is_bridged_more_are_a_hole(void **state)
{
    (void)state;
    struct wl_time_series s = line(101, 100 * MS, 100, 0);
    value[50] = NAN;
    struct wl_energy e = integral(&s, S, 9 * S, 300 * MS);
    assert_near(e.energy_j, 800, 1e-9);
    value[51] = value[52] = NAN; /* good at 4.9 s and 5.3 s: 400 ms without a reading */
    e = integral(&s, S, 9 * S, 300 * MS);
    assert_near(e.energy_j, 800, 1e-9);
    assert_near(e.lo_j, 800 - 0.4 * 2, 1e-9);
    assert_near(e.hi_j, 800 + 0.4 * 2, 1e-9);
    assert_near(e.coverage, 1 - 0.4 / 8, 1e-12);
    assert_near(e.covered_j, 760, 1e-9);
    assert_near(e.mean_w, 100, 1e-9);
    e = integral(&s, S, 4 * S, 300 * MS);
    assert_near(e.energy_j, 300, 1e-9); /* windows next to the hole are not affected */
    assert_near(e.hi_j, 300, 1e-9);
    t_ns[0] = -200 * S, t_ns[1] = -100 * S;
    value[0] = 300; /* the device may have drawn that in the hole, but not more than its limit */
    struct wl_sensor_response limited = { NAN, NAN, NAN, 310 };
    e = integral(&s, S, 9 * S, 300 * MS);
    assert_near(e.hi_j, 800 + 0.4 * (300 + 20 + 6 - 100), 1e-9);
    assert_near(e.lo_j, 800 - 0.4 * (20 + 6), 1e-9);
    e = wl_energy_of_power(&s, S, 9 * S, 300 * MS, &limited);
    assert_near(e.hi_j, 800 + 0.4 * (310 - 100), 1e-9);
}

/* Half of a window may be holes, anywhere; with more the energy is missing, with a reason. */
static void a_window_that_is_mostly_holes_has_no_energy(void **state)
{
    (void)state;
    struct wl_time_series s = line(101, 100 * MS, 100, 0);
    for (int i = 50; i < 70; i++) value[i] = NAN; /* good at 4.9 s and 7 s */
    assert_near(integral(&s, 4 * S, 8200 * MS, 300 * MS).energy_j, 420, 1e-9);
    struct wl_energy e = integral(&s, 4 * S, 8 * S, 300 * MS);
    assert_true(isnan(e.energy_j) && isnan(e.lo_j) && isnan(e.hi_j));
    assert_string_equal(e.why, "readings of power are missing for more than half of the window");
    assert_near(e.coverage, 1.9 / 4, 1e-12);
    s.n = 50; /* the sensor never returns: the last reading is held for .3 s, then a hole */
    assert_near(integral(&s, 4 * S, 6 * S, 300 * MS).energy_j, 200, 1e-9);
    assert_true(isnan(integral(&s, 4 * S, 6500 * MS, 300 * MS).energy_j));
}

/* Three lost readings of one per second in fifteen minutes, and a trace with one per 15 s. */
static void lost_readings_widen_the_interval_by_their_share(void **state)
{
    (void)state;
    struct wl_time_series s = line(901, S, 200, 0);
    for (int i = 0; i < 901; i++) value[i] = 200 + 20 * sin(i / 50.0);
    value[400] = value[401] = value[402] = NAN;
    struct wl_energy e = integral(&s, 0, 900 * S, 3 * S);
    assert_near(e.energy_j, 200 * 900, 1500);
    assert_true(e.lo_j > 0.98 * e.energy_j && e.hi_j < 1.02 * e.energy_j && e.hi_j - e.lo_j > 100);
    s = line(61, 15 * S, 200, 0);
    assert_near(integral(&s, 0, 900 * S, 3 * S).energy_j, 200 * 900, 1e-6);
}

/* Requested every 100 ms, read every second: its usual spacing is not a gap, five times that is. */
static void a_sensor_slower_than_the_period_has_no_gaps(void **state)
{
    (void)state;
    struct wl_time_series s = line(100, S, 100, 0);
    assert_near(integral(&s, 10 * S + 1, 90 * S + 1, 300 * MS).energy_j, 8000, 1e-9);
    assert_near(integral(&s, 10 * S + 1, 12 * S + 1, 300 * MS).energy_j, 200, 1e-9);
    s = line(100, S, 5000, 100);
    assert_near(counter(&s, 10 * S + 7, 90 * S + 7, 300 * MS).energy_j, 8000, 1e-6);
    s = line(100, S, 100, 0);
    for (int i = 50; i < 55; i++) value[i] = NAN;
    struct wl_energy e = integral(&s, 10 * S, 90 * S, 300 * MS);
    assert_near(e.energy_j, 8000, 1e-9);
    assert_near(e.hi_j, 8000 + 6 * 2, 1e-9);
    assert_near(e.coverage, 1 - 6.0 / 80, 1e-12);
    s = line(3, 5 * S, 100, 0); /* too few for a usual spacing */
    assert_true(isnan(integral(&s, 0, 10 * S, 300 * MS).energy_j));
}

static void edges_without_a_reading_beyond_hold_the_nearest(void **state)
{
    (void)state;
    struct wl_time_series s = line(11, 100 * MS, 100, 0);
    struct wl_energy e = integral(&s, -50 * MS, 1100 * MS, 300 * MS);
    assert_near(e.energy_j, 115, 1e-9);
    assert_near(e.held_s, 0.15, 1e-12);
    e = integral(&s, -500 * MS, S, 300 * MS);
    assert_near(e.energy_j, 150, 1e-9);
    assert_near(e.coverage, 1.3 / 1.5, 1e-12);
}

static void without_a_near_reading_the_energy_is_nan(void **state)
{
    (void)state;
    struct wl_time_series s = line(11, 100 * MS, 100, 0), none = series(0);
    assert_true(isnan(integral(&s, 10 * S, 11 * S, 300 * MS).energy_j));
    assert_true(isnan(integral(&none, 0, S, 300 * MS).mean_w));
    assert_true(isnan(counter(&none, 0, S, 300 * MS).energy_j));
    assert_true(isnan(integral(&s, S, S, 300 * MS).energy_j));
    assert_true(isnan(wl_window_mean(&none, 0, S, 300 * MS)));
    for (size_t i = 0; i < 11; i++) value[i] = NAN;
    assert_true(isnan(integral(&s, 0, S, 300 * MS).mean_w));
    assert_true(isnan(counter(&s, 0, S, 300 * MS).energy_j));
}

/* The counter if it reaches both edges, however wide its interval; else the narrowest; if none is known, the best
 * coverage. */
static void the_method_is_chosen_by_window(void **state)
{
    (void)state;
    struct wl_energy whole = { .energy_j = 100, .lo_j = 50, .hi_j = 150, .coverage = 1 };
    struct wl_energy holed = { .energy_j = 100, .lo_j = 50, .hi_j = 150, .coverage = 0.9 };
    struct wl_energy sharp = { .energy_j = 90, .lo_j = 89, .hi_j = 91, .coverage = 1 };
    struct wl_energy less = { .energy_j = NAN, .coverage = 0.2 }, more = { .energy_j = NAN, .coverage = 0.4 };
    assert_int_equal(wl_energy_choose(&whole, &sharp, NULL), WL_ENERGY_BY_COUNTER);
    assert_int_equal(wl_energy_choose(&holed, &sharp, NULL), WL_ENERGY_BY_INTEGRAL);
    assert_int_equal(wl_energy_choose(&sharp, &more, &less), WL_ENERGY_BY_COUNTER);
    assert_int_equal(wl_energy_choose(&holed, &more, NULL), WL_ENERGY_BY_COUNTER);
    assert_int_equal(wl_energy_choose(&less, &holed, &sharp), WL_ENERGY_COMBINED);
    assert_int_equal(wl_energy_choose(&less, &more, NULL), WL_ENERGY_BY_INTEGRAL);
    assert_int_equal(wl_energy_choose(&more, &less, &less), WL_ENERGY_BY_COUNTER);
    assert_int_equal(wl_energy_choose(NULL, &less, NULL), WL_ENERGY_BY_INTEGRAL);
    assert_int_equal(wl_energy_choose(&less, NULL, NULL), WL_ENERGY_BY_COUNTER);
}

/* The counter's bounds hold for any power: an energy outside them is wrong, however narrow its interval. Four readings
 * that happen to be alike have an interval of width 0. */
static void energies_outside_the_counters_bounds_are_excluded(void **state)
{
    (void)state;
    struct wl_energy holed = { .energy_j = 100, .lo_j = 80, .hi_j = 120, .coverage = 0.9 };
    struct wl_energy low = { .energy_j = 79, .lo_j = 79, .hi_j = 79, .coverage = 1 };
    struct wl_energy high = { .energy_j = 121, .lo_j = 120, .hi_j = 122, .coverage = 1 };
    struct wl_energy within = { .energy_j = 81, .lo_j = 78, .hi_j = 84, .coverage = 1 };
    assert_int_equal(wl_energy_choose(&holed, &low, NULL), WL_ENERGY_BY_COUNTER);
    assert_int_equal(wl_energy_choose(&holed, &high, &low), WL_ENERGY_BY_COUNTER);
    assert_int_equal(wl_energy_choose(&holed, &low, &within), WL_ENERGY_COMBINED);
    holed.energy_j = NAN;
    assert_int_equal(wl_energy_choose(&holed, &low, NULL), WL_ENERGY_BY_INTEGRAL);
}

static void a_ratio_beyond_five_percent_is_flagged(void **state)
{
    (void)state;
    assert_near(wl_energy_ratio(106, 100), 1.06, 1e-12);
    assert_true(wl_energy_ratio_off(1.06) && wl_energy_ratio_off(0.94));
    assert_false(wl_energy_ratio_off(1.04));
    assert_true(isnan(wl_energy_ratio(NAN, 100)) && isnan(wl_energy_ratio(100, 0)));
    assert_false(wl_energy_ratio_off(NAN));
    assert_int_equal(wl_max_gap_ns(0.1), 300 * MS);
    assert_int_equal(wl_max_gap_ns(0.001), 250 * MS);
    assert_int_equal(wl_max_gap_ns(2), 6 * S);
}

static struct wl_channel chan(int device, enum wl_quantity q, enum wl_scope scope, bool estimated)
{
    return (struct wl_channel) { .device = device, .quantity = q, .scope = scope, .estimated = estimated };
}

static void overlapping_scopes_are_not_added(void **state)
{
    (void)state;
    const struct wl_channel all[] = {
        chan(0, WL_ENERGY, WL_SCOPE_PSYS, false),       chan(1, WL_ENERGY, WL_SCOPE_PACKAGE, false),
        chan(1, WL_POWER, WL_SCOPE_PACKAGE, false),     chan(2, WL_ENERGY, WL_SCOPE_DRAM, false),
        chan(3, WL_SM_UTIL, WL_SCOPE_GPU, false),       chan(4, WL_ENERGY, WL_SCOPE_PACKAGE, true),
        chan(5, WL_POWER, WL_SCOPE_NODE, false),        chan(6, WL_POWER, WL_SCOPE_MODULE, false),
        chan(7, WL_POWER_AVERAGE, WL_SCOPE_GPU, false), chan(7, WL_POWER, WL_SCOPE_GPU, false),
        chan(8, WL_ENERGY, WL_SCOPE_GPU, false),
    };
    struct wl_energy_source out[WL_COUNT(all)];
    const char *label;
    assert_int_equal(wl_energy_sources(all, WL_COUNT(all), out, &label), 2);
    assert_string_equal(label, "gpu");
    assert_true(out[0].device == 7 && out[0].power == 9 && out[0].counter == -1);
    assert_true(out[1].device == 8 && out[1].counter == 10 && out[1].power == -1);

    assert_int_equal(wl_energy_sources(all, 7, out, &label), 2); /* no GPU power, no module */
    assert_string_equal(label, "package+dram");
    assert_true(out[0].device == 1 && out[0].counter == 1 && out[0].power == 2);
    assert_true(out[1].device == 2 && out[1].counter == 3);

    assert_int_equal(wl_energy_sources(all + 5, 2, out, &label), 1); /* an estimate and the node: the node */
    assert_string_equal(label, "node");
    assert_int_equal(wl_energy_sources(all + 5, 1, out, &label), 1);
    assert_string_equal(label, "package (estimated)");
    assert_int_equal(wl_energy_sources(all, 1, out, &label), 0); /* psys alone is not used for the CPU */
    assert_null(label);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_integrated_exactly_between_readings),
        cmocka_unit_test(few_updates_leave_a_wide_interval),
        cmocka_unit_test(the_age_of_a_reading_follows_from_its_window),
        cmocka_unit_test(halves_of_a_window_add_up),
        cmocka_unit_test(one_failed_reading_is_bridged_more_are_a_hole),
        cmocka_unit_test(a_window_that_is_mostly_holes_has_no_energy),
        cmocka_unit_test(lost_readings_widen_the_interval_by_their_share),
        cmocka_unit_test(the_method_is_chosen_by_window),
        cmocka_unit_test(energies_outside_the_counters_bounds_are_excluded),
        cmocka_unit_test(a_sensor_slower_than_the_period_has_no_gaps),
        cmocka_unit_test(edges_without_a_reading_beyond_hold_the_nearest),
        cmocka_unit_test(without_a_near_reading_the_energy_is_nan),
        cmocka_unit_test(a_ratio_beyond_five_percent_is_flagged),
        cmocka_unit_test(overlapping_scopes_are_not_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
