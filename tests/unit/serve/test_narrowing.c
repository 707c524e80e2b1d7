/* Widths of bands by runs: how many are kept, and when they begin anew. */
#include "serve/narrowing.h"

#include "test.h"

#include <math.h>
#include <stdatomic.h>

static const atomic_bool ending = true; /* nothing of the past: the group has no runs to look at */
static const struct wl_snapshot no_rows;

/* The member "band" after a law with so many runs, whose band narrows with their number. */
static const struct wl_json *band_after(struct wl_narrowing *all, const char *name, size_t runs, double workers,
                                        struct wl_arena *a)
{
    const struct wl_law_group group = { .n_runs = runs };
    struct wl_json *o = wl_json_root_object(a);
    wl_narrowing_begin(all, &ending);
    assert_ok(
        wl_narrowing_add(all,
                         &(struct wl_narrowing_law) { .name = name,
                                                      .group = &group,
                                                      .workers = workers,
                                                      .band = { 10, 10 - 1.0 / (double)runs, 10 + 1.0 / (double)runs },
                                                      .rows = &no_rows },
                         o, e));
    wl_narrowing_end(all);
    return wl_json_get(o, "band");
}

static double number(const struct wl_json *o, const char *name) { return wl_json_real(wl_json_get(o, name)); }

static void few_widths_of_many_runs_are_kept(void **state)
{
    struct wl_narrowing *all = wl_narrowing_new(*state);
    const struct wl_json *band = NULL;
    for (size_t runs = 1; runs <= 1000; runs++) band = band_after(all, "law", runs, 8, *state);
    const struct wl_json *history = wl_json_get(band, "history");
    const size_t n = wl_json_size(history);
    assert_true(n > 30 && n <= 64);
    assert_true(number(band, "workers") == 8);
    assert_float_equal(number(band, "width_pct"), 0.01, 1e-12);
    assert_true(number(wl_json_at(history, 0), "runs") == 1 && number(wl_json_at(history, n - 1), "runs") == 1000);
    for (size_t i = 0; i < n; i++) {
        const struct wl_json *p = wl_json_at(history, i);
        assert_true(i == 0 || number(p, "runs") > number(wl_json_at(history, i - 1), "runs"));
        assert_float_equal(number(p, "width_pct") * number(p, "runs"), 10, 1e-9);
    }
}

static void widths_elsewhere_or_of_other_runs_begin_anew(void **state)
{
    struct wl_narrowing *all = wl_narrowing_new(*state);
    band_after(all, "law", 5, 8, *state);
    assert_int_equal(wl_json_size(wl_json_get(band_after(all, "law", 6, 8, *state), "history")), 2);
    assert_int_equal(wl_json_size(wl_json_get(band_after(all, "law", 6, 8, *state), "history")), 2); /* as before */
    assert_int_equal(wl_json_size(wl_json_get(band_after(all, "law", 7, 16, *state), "history")), 1);
    assert_int_equal(wl_json_size(wl_json_get(band_after(all, "law", 8, 16, *state), "history")), 2);
    assert_int_equal(wl_json_size(wl_json_get(band_after(all, "law", 7, 16, *state), "history")), 1);
    band_after(all, "another", 7, 16, *state); /* a pass without "law" */
    assert_int_equal(wl_json_size(wl_json_get(band_after(all, "law", 8, 16, *state), "history")), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { WITH_ARENA(few_widths_of_many_runs_are_kept),
                                        WITH_ARENA(widths_elsewhere_or_of_other_runs_begin_anew) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
