/* The time that a queue needs for the rest of a campaign. */
#include "campaign/queue_rate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const int64_t S = WL_NS_PER_S;

static void assert_near(double is, double want)
{
    if (!(fabs(is - want) <= 1e-9 * fabs(want))) fail_msg("%.12g instead of %.12g", is, want);
}

/* `n` jobs that were submitted at `from` and ended one after the other, `each` seconds apart. */
static size_t add_ended(struct wl_queue_stay *v, size_t at, size_t n, int64_t from, int64_t each)
{
    for (size_t i = 0; i < n; i++)
        v[at + i] = (struct wl_queue_stay) { from * S, (from + each * (int64_t)(i + 1)) * S, true };
    return at + n;
}

static void nothing_is_known_from_few(void **state)
{
    struct wl_queue_stay v[WL_QUEUE_RATE_LEAST];
    (void)state;
    assert_true(isnan(wl_queue_rate_of(NULL, 0, 7, 100 * S).left_s));
    add_ended(v, 0, WL_QUEUE_RATE_LEAST - 1, 1000, 10);
    v[WL_QUEUE_RATE_LEAST - 1] = (struct wl_queue_stay) { 1000 * S, 1040 * S, false };
    const struct wl_queue_rate few = wl_queue_rate_of(v, WL_QUEUE_RATE_LEAST, 7, 1040 * S);
    assert_int_equal(few.ended, WL_QUEUE_RATE_LEAST - 1);
    assert_true(isnan(few.left_s) && isnan(few.lo_s) && isnan(few.hi_s));
    v[WL_QUEUE_RATE_LEAST - 1].closed_run = true;
    assert_false(isnan(wl_queue_rate_of(v, WL_QUEUE_RATE_LEAST, 7, 1040 * S).left_s));
}

static void the_rest_takes_as_long_as_the_ended(void **state)
{
    struct wl_queue_stay v[26];
    (void)state;
    size_t n = add_ended(v, 0, 25, 1000, 10);
    v[n++] = (struct wl_queue_stay) { 1000 * S, 1250 * S, false }; /* runs */
    const struct wl_queue_rate r = wl_queue_rate_of(v, n, 75, 1250 * S);
    assert_int_equal(r.ended, 25);
    assert_near(r.since_s, 250);
    assert_near(r.left_s, 750);
    assert_near(r.lo_s, 750 / exp(1.96 / 5));
    assert_near(r.hi_s, 750 * exp(1.96 / 5));
    v[n - 1].to_ns = 1500 * S; /* nothing has ended since */
    assert_near(wl_queue_rate_of(v, n, 75, 1500 * S).left_s, 1500);
}

/* The first hundred took a minute each, the last ones a second. */
static void what_was_long_ago_does_not_count(void **state)
{
    struct wl_queue_stay v[100 + WL_QUEUE_RATE_MOST];
    (void)state;
    size_t n = add_ended(v, 0, 100, 0, 60);
    n = add_ended(v, n, WL_QUEUE_RATE_MOST, 6000, 1);
    const struct wl_queue_rate r = wl_queue_rate_of(v, n, 10, (6000 + WL_QUEUE_RATE_MOST) * S);
    assert_int_equal(r.ended, WL_QUEUE_RATE_MOST);
    assert_near(r.left_s, 10);
}

/* A week between two sweeps is not the queue's. */
static void an_empty_queue_begins_anew(void **state)
{
    struct wl_queue_stay v[30];
    (void)state;
    size_t n = add_ended(v, 0, 10, 1000, 10);
    assert_true(isnan(wl_queue_rate_of(v, n, 5, 600000 * S).left_s));
    n = add_ended(v, n, 10, 600000, 10);
    const struct wl_queue_rate r = wl_queue_rate_of(v, n, 5, 600100 * S);
    assert_int_equal(r.ended, 10);
    assert_near(r.left_s, 50);
    v[n++] = (struct wl_queue_stay) { 600100 * S, 600200 * S, false };
    assert_int_equal(wl_queue_rate_of(v, n, 5, 600200 * S).ended, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_from_few),
        cmocka_unit_test(the_rest_takes_as_long_as_the_ended),
        cmocka_unit_test(what_was_long_ago_does_not_count),
        cmocka_unit_test(an_empty_queue_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
