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

static enum wl_tune_event wait_until(struct job *j, int64_t ns)
{
    struct wl_tune_span w;
    return wl_tune_schedule_time(&j->s, ns, &w);
}

/* A job whose window of the reference took 5 s, in steps of 100 ms, holds another value. */
static struct job probing(double slowdown)
{
    struct job j = job_of(slowdown);
    hold(&j, true);
    window(&j, 100, 1000);
    hold(&j, false);
    return j;
}

static void steps(struct job *j, int n, int64_t ms)
{
    struct wl_tune_span w;
    for (int i = 0; i < n; i++) assert_int_equal(step(j, ms, &w), WL_TUNE_NOTHING);
}

static void a_value_that_is_too_slow_to_measure_is_given_up(void **state)
{
    (void)state;
    struct job j = probing(0.1);
    steps(&j, 5, 1500); /* it settles in 3 of them, the window begins, and has two */
    int64_t begin_ns = j.now_ns - 2 * 1500 * MS;
    assert_int_equal(wait_until(&j, begin_ns + 5400 * MS), WL_TUNE_NOTHING);
    assert_int_equal(wait_until(&j, begin_ns + 5600 * MS), WL_TUNE_STUCK);
    assert_int_equal(wait_until(&j, begin_ns + 9000 * MS), WL_TUNE_NOTHING); /* once */
    struct job any = probing(NAN);
    assert_int_equal(wait_until(&any, any.now_ns + 1000000 * MS), WL_TUNE_NOTHING);
}

/* Steps that keep the allowed slowdown, then none. */
static void a_pause_within_an_epoch_is_not_slowness(void **state)
{
    (void)state;
    struct wl_tune_span w;
    struct job j = probing(0.1);
    steps(&j, 30, 105);
    assert_int_equal(wait_until(&j, j.now_ns + 1000 * MS), WL_TUNE_NOTHING);
    assert_int_equal(wait_until(&j, j.now_ns + 9000 * MS), WL_TUNE_PAUSED);
    hold(&j, false); /* the pause ends before the next look: the step after it shows it */
    steps(&j, 30, 105);
    assert_int_equal(step(&j, 9000, &w), WL_TUNE_PAUSED);
    hold(&j, false); /* nothing but a pause: nobody knows how slow the value is */
    assert_int_equal(wait_until(&j, j.now_ns + 9000 * MS), WL_TUNE_PAUSED);
    hold(&j, false); /* slow steps are not a pause, though the last one is longer */
    steps(&j, 20, 200);
    assert_int_equal(wait_until(&j, j.now_ns + 9000 * MS), WL_TUNE_WINDOW);
}

/* The value is held for no longer than a window at the allowed slowdown, 5.5 s, after the epoch's end. */
static void a_value_is_not_held_through_a_long_pause_at_an_epochs_end(void **state)
{
    (void)state;
    struct wl_tune_span w;
    struct job j = probing(0.1);
    steps(&j, 30, 105);
    assert_int_equal(wl_tune_schedule_epoch_end(&j.s, j.now_ns, &w), WL_TUNE_NOTHING);
    assert_int_equal(wait_until(&j, j.now_ns + 5400 * MS), WL_TUNE_NOTHING);
    assert_int_equal(wait_until(&j, j.now_ns + 5600 * MS), WL_TUNE_PAUSED);
    assert_int_equal(wait_until(&j, j.now_ns + 9000 * MS), WL_TUNE_NOTHING); /* once */

    struct job settling = probing(0.1); /* set just before the epoch's end */
    wl_tune_schedule_epoch_end(&settling.s, settling.now_ns + 100 * MS, &w);
    assert_int_equal(wait_until(&settling, settling.now_ns + 5500 * MS), WL_TUNE_NOTHING);
    assert_int_equal(wait_until(&settling, settling.now_ns + 5700 * MS), WL_TUNE_PAUSED);

    struct job any = probing(NAN); /* no slowdown is too much */
    steps(&any, 10, 100);
    wl_tune_schedule_epoch_end(&any.s, any.now_ns, &w);
    assert_int_equal(wait_until(&any, any.now_ns + 1000000 * MS), WL_TUNE_NOTHING);
}

static void a_window_that_an_epoch_interrupts_begins_anew_once(void **state)
{
    (void)state;
    struct wl_tune_span w;
    struct job j = probing(0.1);
    steps(&j, 30, 105);
    wl_tune_schedule_epoch_end(&j.s, j.now_ns, &w);
    j.now_ns += 5000 * MS; /* validation */
    assert_int_equal(wait_until(&j, j.now_ns), WL_TUNE_NOTHING);
    w = window(&j, 105, 60);
    assert_false(w.cut);
    assert_int_equal((w.end_ns - w.begin_ns) / MS, 50 * 105);

    hold(&j, false); /* epochs that are shorter than a window */
    steps(&j, 20, 100);
    wl_tune_schedule_epoch_end(&j.s, j.now_ns, &w);
    steps(&j, 20, 100);
    wl_tune_schedule_epoch_end(&j.s, j.now_ns, &w);
    assert_int_equal(window(&j, 100, 40).steps, 50);
}

/* 150 ms a step at 10 %: the time before the epoch's end counts, so that the value is held for 5.5 s in all. */
static void a_slow_window_does_not_begin_anew_with_a_whole_budget(void **state)
{
    (void)state;
    struct wl_tune_span w;
    struct job j = probing(0.1);
    steps(&j, 21, 150); /* 6 of them settle, 15 are in the window: 2.25 s */
    assert_int_equal(wl_tune_schedule_epoch_end(&j.s, j.now_ns, &w), WL_TUNE_NOTHING);
    w = window(&j, 150, 60);
    assert_true(w.cut);
    assert_int_equal((w.end_ns - w.begin_ns) / MS, 3300); /* the first step that ends after 5.5 s in all */

    hold(&j, false); /* most of it has passed: the window ends there */
    steps(&j, 30, 150);
    assert_int_equal(wl_tune_schedule_epoch_end(&j.s, j.now_ns, &w), WL_TUNE_WINDOW);
    assert_true(w.cut);
    assert_int_equal((w.end_ns - w.begin_ns) / MS, w.steps * 150);
}

/* Marks of 50 steps each: one would be long enough, but the next window begins with the third mark after its value is
 * set. A window at the allowed slowdown has time for that. */
static void the_first_window_has_five_marks(void **state)
{
    (void)state;
    struct wl_tune_span w = { 0 };
    struct job j = job_of(0.1);
    hold(&j, true);
    enum wl_tune_event e = WL_TUNE_NOTHING;
    for (int i = 0; i < 100 && e == WL_TUNE_NOTHING; i++) {
        j.now_ns += 6000 * MS;
        e = wl_tune_schedule_step(&j.s, j.now_ns, 50 * i, NAN, &w);
    }
    assert_int_equal(e, WL_TUNE_WINDOW);
    assert_int_equal(w.steps, 250);
    hold(&j, false);
    assert_int_equal(wait_until(&j, j.now_ns + 3 * 6000 * MS), WL_TUNE_NOTHING);
}

/* Steps that a buffer reports at once do not count, and do not set the time of the other windows. */
static void a_window_of_a_burst_is_marked(void **state)
{
    (void)state;
    struct job j = job_of(NAN);
    hold(&j, true);
    assert_false(window(&j, 100, 1000).burst);
    for (int i = 0; i < 2; i++) {
        hold(&j, i > 0);
        assert_true(window(&j, 9, 1000).burst);
        assert_true(j.s.reference_s == 5);
    }
    hold(&j, false);
    assert_false(window(&j, 11, 1000).burst);
}

/* A program may mark every tenth step, some of them twice, and count anew in each epoch. */
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
        if (e == WL_TUNE_NOTHING) e = wl_tune_schedule_step(&j.s, j.now_ns + 1, 10 * (i % 50), NAN, &w);
    }
    assert_int_equal(e, WL_TUNE_WINDOW);
    assert_int_equal(w.steps, 50);
    assert_int_equal((w.end_ns - w.begin_ns) / MS, 10000);
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
        cmocka_unit_test(a_pause_within_an_epoch_is_not_slowness),
        cmocka_unit_test(a_value_is_not_held_through_a_long_pause_at_an_epochs_end),
        cmocka_unit_test(a_window_that_an_epoch_interrupts_begins_anew_once),
        cmocka_unit_test(a_slow_window_does_not_begin_anew_with_a_whole_budget),
        cmocka_unit_test(the_first_window_has_five_marks),
        cmocka_unit_test(a_window_of_a_burst_is_marked),
        cmocka_unit_test(steps_are_counted_by_their_numbers),
        cmocka_unit_test(a_resumed_search_keeps_the_steps_of_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
