/* Shares of a device's energy, by hand. */
#include "energy/attribution.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void near(double got, double want) { assert_true(fabs(got - want) < 1e-9 * (1 + fabs(want))); }

static struct wl_attribution_case case_of(const struct wl_attribution_slice *slices, size_t n)
{
    struct wl_attribution_case c = { .slices = slices,
                                     .n = n,
                                     .idle_lo_w = 10,
                                     .idle_hi_w = 10,
                                     .idle_known = true,
                                     .reserved = 0.5,
                                     .model = { 2, 0.4 } };
    for (size_t i = 0; i < n; i++) {
        c.energy_j += slices[i].energy_j;
        c.time_s += slices[i].time_s;
    }
    c.lo_j = c.hi_j = c.energy_j;
    return c;
}

static void alone_there_is_nothing_to_share(void **state)
{
    (void)state;
    const struct wl_attribution_slice s[] = { { 10, 300, 20, 20 } };
    struct wl_attribution_case c = case_of(s, 1);
    struct wl_attribution r = wl_attribute(&c);
    near(r.above_j, 200);
    near(r.above_lo_j, 200);
    near(r.above_hi_j, 200);
    near(r.idle_j, 50);
    near(r.energy_j, 250);
}

/* A quarter of the use: a quarter of 400 J above idle; with a job at half or twice the cost of others 1/7 to 2/5 of it,
 * and three tenths less or more for what they do to each other. */
static void use_shares_what_is_above_idle(void **state)
{
    (void)state;
    const struct wl_attribution_slice s[] = { { 10, 500, 5, 20 } };
    struct wl_attribution_case c = case_of(s, 1);
    struct wl_attribution r = wl_attribute(&c);
    near(r.use_share, 0.25);
    near(r.above_j, 100);
    near(r.above_lo_j, 400 / 7.0 * 0.7);
    near(r.above_hi_j, 400 * 0.4 * 1.3);
    near(r.energy_j, 150);
}

/* Others that come later cost the job nothing, though their CPU seconds cost five times as much. */
static void slices_keep_apart_what_was_not_at_once(void **state)
{
    (void)state;
    const struct wl_attribution_slice s[] = { { 10, 200, 10, 10 }, { 10, 600, 0, 10 } };
    struct wl_attribution_case c = case_of(s, 2);
    struct wl_attribution r = wl_attribute(&c);
    near(r.use_share, 0.5);
    near(r.above_j, 100);
    near(r.above_hi_j, 100);
}

/* The bounds of the idle power: nothing, and the lowest power that was seen. */
static void an_unknown_idle_power_gives_bounds(void **state)
{
    (void)state;
    const struct wl_attribution_slice s[] = { { 10, 300, 10, 10 }, { 10, 100, 10, 10 } };
    struct wl_attribution_case c = case_of(s, 2);
    c.idle_known = false;
    c.idle_lo_w = 0;
    c.idle_hi_w = NAN;
    struct wl_attribution r = wl_attribute(&c);
    assert_true(isnan(r.energy_j) && isnan(r.above_j) && isnan(r.idle_j) && !r.why);
    near(r.energy_hi_j, 400);       /* idle draws nothing: all of it is the job's */
    near(r.energy_lo_j, 200 + 100); /* 10 W of it are idle, half of which is reserved */
    near(r.above_lo_j, 200);
}

static void the_error_of_the_energy_is_included(void **state)
{
    (void)state;
    const struct wl_attribution_slice s[] = { { 10, 300, 20, 20 } };
    struct wl_attribution_case c = case_of(s, 1);
    c.lo_j = 0.5 * c.energy_j;
    c.hi_j = 2 * c.energy_j;
    struct wl_attribution r = wl_attribute(&c);
    near(r.energy_lo_j, 125);
    near(r.energy_hi_j, 500);
}

/* Of a hole's slice nothing is known; its energy is part of the whole. */
static void holes_are_scaled_over(void **state)
{
    (void)state;
    const struct wl_attribution_slice s[] = { { 10, 300, 20, 20 }, { 10, NAN, NAN, NAN } };
    struct wl_attribution_case c = case_of(s, 1);
    c.n = 2;
    c.time_s = 20;
    c.energy_j = c.lo_j = c.hi_j = 600;
    near(wl_attribute(&c).above_j, 400);
    near(wl_attribute(&c).idle_j, 100);
}

/* Nobody's use: it has the run's share, and may be all the job's or none of it. */
static void a_slice_without_use_may_be_anybodys(void **state)
{
    (void)state;
    const struct wl_attribution_slice s[] = { { 10, 300, 10, 10 }, { 10, 200, 0, 0 } };
    struct wl_attribution_case c = case_of(s, 2);
    struct wl_attribution r = wl_attribute(&c);
    near(r.above_j, 300);
    near(r.above_lo_j, 200);
    near(r.above_hi_j, 300);
}

/* 400 J above idle at a share of .8, whose joules may cost four times those of others, and 100 J of idle. */
static void the_job_has_at_most_all_of_the_device(void **state)
{
    (void)state;
    const struct wl_attribution_slice s[] = { { 10, 500, 16, 20 } };
    struct wl_attribution_case c = case_of(s, 1);
    c.reserved = 1;
    c.model.spread = 4;
    struct wl_attribution r = wl_attribute(&c);
    assert_true(r.above_hi_j > 400);
    near(r.energy_hi_j, 500);
}

static void what_is_not_known_has_its_reason(void **state)
{
    (void)state;
    const struct wl_attribution_slice s[] = { { 10, 300, 0, 0 } };
    struct wl_attribution_case c = case_of(s, 1);
    assert_string_equal(wl_attribute(&c).why, "nothing used the device");
    c.energy_j = NAN;
    assert_string_equal(wl_attribute(&c).why, "the energy of the device is not known");
    const struct wl_attribution_slice none[] = { { 10, 0, 5, 20 } };
    c = case_of(none, 1);
    c.energy_j = c.lo_j = c.hi_j = 300; /* which a counter got after the slices */
    assert_string_equal(wl_attribute(&c).why, "no part of the energy has a time");
    assert_true(isnan(wl_attribute(&c).energy_j) && isnan(wl_attribute(&c).energy_hi_j));
    c.energy_j = NAN;
    assert_true(isnan(wl_attribute(&c).energy_lo_j));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_there_is_nothing_to_share),
        cmocka_unit_test(use_shares_what_is_above_idle),
        cmocka_unit_test(slices_keep_apart_what_was_not_at_once),
        cmocka_unit_test(an_unknown_idle_power_gives_bounds),
        cmocka_unit_test(the_error_of_the_energy_is_included),
        cmocka_unit_test(holes_are_scaled_over),
        cmocka_unit_test(a_slice_without_use_may_be_anybodys),
        cmocka_unit_test(the_job_has_at_most_all_of_the_device),
        cmocka_unit_test(what_is_not_known_has_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
