/* Windows of a simulated job: a mark after each step, whose time is what the value that is held makes it. */
#include "tune/schedule.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const int64_t MS = WL_NS_PER_S / 1000;

struct job {
    struct wl_tune_schedule s;
    int64_t now_ns, step;
};

static struct job job_of(double slowdown)
{
    struct wl_tune_pace pace = {
        .warm_up_steps = 10, .min_steps = 40, .window_s = 5, .settle_s = 0.5, .slowdown = slowdown
    };
    return (struct job) { .s = wl_tune_schedule_new(&pace, 0, NAN), .now_ns = 1000 * MS };
}

static enum wl_tune_event step(struct job *j, int64_t ms, struct wl_tune_span *out)
{
    j->now_ns += ms * MS;
    return wl_tune_schedule_step(&j->s, j->now_ns, ++j->step, 32, out);
}

/* Steps until a window ends; fails after `most`. */
static struct wl_tune_span window(struct job *j, int64_t ms, int most)
{
    struct wl_tune_span w = { 0 };
    for (int i = 0; i < most; i++)
        if (step(j, ms, &w) == WL_TUNE_WINDOW) return w;
    fail_msg("no window after %d steps of %d ms", most, (int)ms);
    return w;
}

static void hold(struct job *j, bool is_reference) { wl_tune_schedule_hold(&j->s, is_reference, j->now_ns); }

/* 100 ms a step: 50 steps are 5 s, which is more than 40 steps. */
static void the_first_window_follows_warm_up_and_lasts_both_minima(void **state)
{
    (void)state;
    struct job j = job_of(NAN);
    hold(&j, true);
    struct wl_tune_span w = window(&j, 100, 1000);
    assert_int_equal(w.steps, 50);
    assert_int_equal((w.end_ns - w.begin_ns) / MS, 5000);
    assert_true((w.begin_ns - 1000 * MS) / MS >= 10 * 100);
    assert_true(w.samples == 50 * 32);
    assert_false(w.cut);
    assert_int_equal(j.s.target, 50);

    struct job slow = job_of(NAN);
    hold(&slow, true);
    assert_int_equal(window(&slow, 1000, 1000).steps, 40);
}

static void a_window_begins_after_settling_and_a_whole_step(void **state)
{
    (void)state;
    struct job j = job_of(NAN);
    hold(&j, true);
    window(&j, 100, 1000);
    int64_t set_ns = j.now_ns + 30 * MS;
    wl_tune_schedule_hold(&j.s, false, set_ns);
    struct wl_tune_span w = window(&j, 120, 1000);
    assert_true(w.begin_ns >= set_ns + 500 * MS + 120 * MS);
    assert_int_equal(w.steps, 50);
    assert_int_equal((w.end_ns - w.begin_ns) / MS, 50 * 120);
}

/* At 10 % a window of 5 s may take 5.5 s. */
static void a_value_beyond_the_allowed_slowdown_is_held_no_longer_than_a_window(void **state)
{
    (void)state;
    struct job j = job_of(0.1);
    hold(&j, true);
    window(&j, 100, 1000);
    hold(&j, false);
    struct wl_tune_span w = window(&j, 200, 1000);
    assert_true(w.cut);
    assert_int_equal(w.steps, 28); /* the first step that ends after 5.5 s */
    hold(&j, false);
    w = window(&j, 109, 1000);
    assert_false(w.cut);
    assert_int_equal(w.steps, 50);
    hold(&j, true); /* the reference is never cut */
    assert_false(window(&j, 300, 1000).cut);
}

static void a_value_that_is_too_slow_to_measure_is_given_up(void **state)
{
    (void)state;
    struct wl_tune_span w;
    struct job j = job_of(0.1);
    hold(&j, true);
    window(&j, 100, 1000);
    hold(&j, false);
    int64_t set_ns = j.now_ns;
    for (int i = 0; i < 4; i++) assert_int_equal(step(&j, 400, &w), WL_TUNE_NOTHING); /* settles */
    assert_int_equal(wl_tune_schedule_time(&j.s, set_ns + 5000 * MS), WL_TUNE_NOTHING);
    assert_int_equal(wl_tune_schedule_time(&j.s, set_ns + 8000 * MS), WL_TUNE_STUCK);
    assert_int_equal(wl_tune_schedule_time(&j.s, set_ns + 9000 * MS), WL_TUNE_NOTHING); /* once */
    struct job any = job_of(NAN);
    hold(&any, true);
    window(&any, 100, 1000);
    hold(&any, false);
    assert_int_equal(wl_tune_schedule_time(&any.s, any.now_ns + 1000000 * MS), WL_TUNE_NOTHING);
}

static void a_window_that_an_epoch_interrupts_begins_anew_once(void **state)
{
    (void)state;
    struct wl_tune_span w;
    struct job j = job_of(0.1);
    hold(&j, true);
    window(&j, 100, 1000);
    hold(&j, false);
    for (int i = 0; i < 30; i++) assert_int_equal(step(&j, 105, &w), WL_TUNE_NOTHING);
    wl_tune_schedule_epoch_end(&j.s);
    j.now_ns += 60000 * MS; /* validation */
    assert_int_equal(wl_tune_schedule_time(&j.s, j.now_ns), WL_TUNE_NOTHING);
    w = window(&j, 105, 60);
    assert_false(w.cut);
    assert_int_equal((w.end_ns - w.begin_ns) / MS, 50 * 105);

    hold(&j, false); /* epochs that are shorter than a window */
    for (int i = 0; i < 20; i++) step(&j, 100, &w);
    wl_tune_schedule_epoch_end(&j.s);
    for (int i = 0; i < 20; i++) step(&j, 100, &w);
    wl_tune_schedule_epoch_end(&j.s);
    assert_int_equal(window(&j, 100, 40).steps, 50);
}

/* A program may mark every tenth step, and count anew in each epoch. */
static void steps_are_counted_by_their_numbers(void **state)
{
    (void)state;
    struct wl_tune_span w = { 0 };
    struct job j = job_of(NAN);
    hold(&j, true);
    enum wl_tune_event e = WL_TUNE_NOTHING;
    for (int i = 0; i < 100 && e == WL_TUNE_NOTHING; i++) {
        j.now_ns += 2000 * MS;
        e = wl_tune_schedule_step(&j.s, j.now_ns, 10 * (i % 50), NAN, &w);
    }
    assert_int_equal(e, WL_TUNE_WINDOW);
    assert_int_equal(w.steps, 40);
    assert_int_equal((w.end_ns - w.begin_ns) / MS, 8000);
    assert_true(isnan(w.samples));
}

static void a_resumed_search_keeps_the_steps_of_a_window(void **state)
{
    (void)state;
    struct wl_tune_pace pace = { .warm_up_steps = 10, .min_steps = 40, .window_s = 5, .slowdown = 0.1 };
    struct job j = { .s = wl_tune_schedule_new(&pace, 123, 12.3), .now_ns = 1000 * MS };
    hold(&j, false);
    assert_int_equal(window(&j, 100, 1000).steps, 123);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_window_follows_warm_up_and_lasts_both_minima),
        cmocka_unit_test(a_window_begins_after_settling_and_a_whole_step),
        cmocka_unit_test(a_value_beyond_the_allowed_slowdown_is_held_no_longer_than_a_window),
        cmocka_unit_test(a_value_that_is_too_slow_to_measure_is_given_up),
        cmocka_unit_test(a_window_that_an_epoch_interrupts_begins_anew_once),
        cmocka_unit_test(steps_are_counted_by_their_numbers),
        cmocka_unit_test(a_resumed_search_keeps_the_steps_of_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
