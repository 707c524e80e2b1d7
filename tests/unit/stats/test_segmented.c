/* Segmented regression: against brute force, under pure noise, and without scatter. */
#include "check.h"

enum { MOST = 32 };

static void breakpoint_matches_brute_force(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct wl_segmented b;
    double x[MOST], y[MOST];
    size_t n = golden_points("broken_data.csv", x, y, MOST, a);
    assert_int_equal(wl_segmented_fit(x, y, n, &(struct wl_segmented_options) { 0.95, 999 }, &b, a, &e), 0);
    agree("break", b.breakpoint, golden_value("broken_values.csv", "at", a), 6);
    agree("break by R", b.breakpoint, golden_value("r_values.csv", "segmented at", a), 8);
    agree("slope 1 by R", b.slope1, golden_value("r_values.csv", "segmented slope1", a), 8);
    agree("slope 2 by R", b.slope2, golden_value("r_values.csv", "segmented slope2", a), 8);
    agree("low end", b.lo, golden_value("broken_values.csv", "lo", a), 6);
    agree("high end", b.hi, golden_value("broken_values.csv", "hi", a), 6);
    agree("b0", b.b0, golden_value("broken_values.csv", "b0", a), 6);
    agree("slope 1", b.slope1, golden_value("broken_values.csv", "slope1", a), 6);
    agree("slope 2", b.slope2, golden_value("broken_values.csv", "slope2", a), 6);
    agree("SSE", b.sse, golden_value("broken_values.csv", "sse", a), 9);
    assert_true(b.p == 0.001); /* no draw of 999 gains as much */
    wl_arena_free(a);
}

/* Straight lines: p is uniform, so one in twenty is below 0.05 (400 lines, error 1.1 %). */
static void straight_lines_rarely_have_a_breakpoint(void **state)
{
    (void)state;
    int below = 0;
    for (uint64_t trial = 0; trial < 400; trial++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_err e;
        struct wl_segmented b;
        double x[18], y[18];
        for (size_t i = 0; i < 18; i++) {
            x[i] = (double)(i / 3);
            y[i] = 2 - 0.7 * x[i] + 0.1 * wl_random_normal(99, trial, i);
        }
        assert_int_equal(wl_segmented_fit(x, y, 18, &(struct wl_segmented_options) { 0.95, 199 }, &b, a, &e), 0);
        below += b.p <= 0.05;
        wl_arena_free(a);
    }
    print_message("%d of 400 straight lines have p <= 0.05\n", below);
    assert_in_range(below, 8, 34);
}

static void exact_and_short_data_have_defined_results(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct wl_segmented b;
    double x[] = { 0, 1, 2, 3, 4, 5 }, y[6];
    for (int i = 0; i < 6; i++) y[i] = 9 - x[i] + 0.5 * fmax(0, x[i] - 2.25);
    assert_int_equal(wl_segmented_fit(x, y, 6, &(struct wl_segmented_options) { 0.95, 99 }, &b, a, &e), 0);
    agree("break", b.breakpoint, 2.25, 6);
    agree("slope 1", b.slope1, -1, 6);
    agree("slope 2", b.slope2, -0.5, 6);
    assert_true(b.lo <= b.breakpoint + 1e-6 && b.breakpoint <= b.hi + 1e-6);
    assert_int_equal(wl_segmented_fit(x, y, 5, &(struct wl_segmented_options) { 0.95, 0 }, &b, a, &e), 0);
    assert_true(isnan(b.p) && b.df == 1);
    assert_int_equal(wl_segmented_fit(x, y, 4, &(struct wl_segmented_options) { 0.95, 0 }, &b, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "five different x"));
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(breakpoint_matches_brute_force),
                                        cmocka_unit_test(straight_lines_rarely_have_a_breakpoint),
                                        cmocka_unit_test(exact_and_short_data_have_defined_results) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
