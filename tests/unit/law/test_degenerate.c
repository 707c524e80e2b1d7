/* Data that do not support the result asked for: a defined answer and a reason, never an unexplained NAN. */
#include "table.h"

static const struct wl_law_options usual = { .drop_epochs = 1 };

#define FIT(...)                                                            \
    struct wl_arena *a = wl_arena_new(NULL);                                \
    const struct row rows[] = { __VA_ARGS__ };                              \
    struct wl_law_result result = fit_rows(rows, WL_COUNT(rows), usual, a); \
    const struct wl_law_group *g = only_group(&result)

static void one_worker_count_is_refused(void **state)
{
    (void)state;
    FIT({ .workers = 4, .run = "1", .time_s = 10 }, { .workers = 4, .run = "2", .time_s = 11 });
    assert_null(g->law);
    assert_string_equal(g->no_law_reason, "no law: one worker count, N = 4; a scaling law needs at least two");
    assert_true(isnan(wl_law_at(g, 4).value) && !wl_law_curve(g, 3, a));
    assert_string_equal(g->estimates[WL_LAW_RUN_MEANS].reason, g->no_law_reason);
    assert_near(g->configs[0].response, sqrt(110), 1e-12); /* what was measured is still there */
    assert_true(g->configs[0].speedup.value == 1);
    wl_arena_free(a);
}

static void nothing_usable_is_refused(void **state)
{
    (void)state;
    FIT({ .workers = 4, .run = "1" }, { .run = "2", .time_s = 11 }, { .workers = 2, .run = "3", .time_s = -5 });
    assert_string_equal(g->no_law_reason, "no law: no row has both a worker count and a positive response");
    assert_true(g->counts.no_response == 1 && g->counts.no_workers == 1 && g->counts.not_positive == 1);
    assert_note(g, "1 row without a positive worker count");
    assert_note(g, "1 row without time_s");
    assert_note(g, "1 row whose time_s is not positive");
    wl_arena_free(a);
}

/* Forecasts take the runs alone: why there is no law is known all the same. */
static void runs_without_a_fit_have_a_reason(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct row rows[] = { { .workers = 4, .run = "1" }, { .workers = 4, .run = "2", .time_s = 3 } };
    const struct wl_law_options runs_only = { .drop_epochs = 1, .runs_only = true };
    for (size_t n = 1; n <= WL_COUNT(rows); n++) {
        struct wl_law_result r = fit_rows(rows, n, runs_only, a), whole = fit_rows(rows, n, usual, a);
        assert_string_equal(only_group(&r)->no_law_reason, only_group(&whole)->no_law_reason);
    }
    wl_arena_free(a);
}

static void an_empty_table_has_no_groups(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_law_result r = fit_rows(NULL, 0, usual, a);
    assert_int_equal(r.n, 0);
    wl_arena_free(a);
}

/* Time and memory of the estimators are linear in the runs. */
static void very_many_runs_have_a_law(void **state)
{
    enum { N = 20000 };
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row *rows = wl_new_array(a, struct row, N);
    for (size_t i = 0; i < N; i++)
        rows[i] = (struct row) { .workers = (double)(1 << i % 3), .run = wl_strf(a, "%zu", i) };
    for (size_t i = 0; i < N; i++) rows[i].time_s = (100 + (double)(i / 3 % 7)) / rows[i].workers;
    struct wl_law_result result = fit_rows(rows, N, usual, a);
    const struct wl_law_group *g = only_group(&result);
    assert_near(g->law->beta, 1, 1e-3);
    assert_near(g->estimates[WL_LAW_THEIL_SEN].beta, 1, 1e-3);
    assert_near(g->estimates[WL_LAW_CR2].beta, 1, 1e-3);
    assert_true(g->estimates[WL_LAW_CR2].beta_se > 0);
    wl_arena_free(a);
}

static void two_points_have_no_error(void **state)
{
    (void)state;
    FIT({ .workers = 1, .run = "1", .time_s = 8 }, { .workers = 8, .run = "1", .time_s = 1 });
    assert_near(g->law->beta, 1, 1e-14);
    assert_true(isnan(g->law->beta_se) && isnan(g->law->beta_lo) && isnan(g->law->p_beta) && isnan(g->law->r2) &&
                g->law->df == 0);
    assert_string_equal(g->law->reason, "no error estimate: a line through 2 points leaves no degrees of freedom");
    assert_note(g, "no error estimate: a line through two worker counts with one run each");
    assert_true(isnan(g->lack_of_fit.p) && isnan(wl_law_at(g, 2).curve_lo));
    wl_arena_free(a);
}

/* The worker counts alone determine the pattern of their residuals. */
static void normality_is_not_tested_with_three_runs(void **state)
{
    (void)state;
    FIT({ .workers = 1, .run = "1", .time_s = 10 }, { .workers = 2, .run = "1", .time_s = 5.5 },
        { .workers = 4, .run = "1", .time_s = 3 });
    assert_true(isnan(g->residuals.shapiro_wilk.p) && isnan(g->residuals.anderson_darling.p));
    assert_false(has_note(g, "not normal"));
    wl_arena_free(a);
}

static void two_worker_counts_with_repeats_have_an_error(void **state)
{
    (void)state;
    FIT({ .workers = 1, .run = "1", .time_s = 8 }, { .workers = 1, .run = "2", .time_s = 8.2 },
        { .workers = 2, .run = "1", .time_s = 4.1 }, { .workers = 2, .run = "2", .time_s = 4.2 });
    assert_ptr_equal(g->law, &g->estimates[WL_LAW_RUN_MEANS]);
    assert_true(g->law->df == 2 && g->law->beta_se > 0);
    assert_note(g, "curvature cannot be tested");
    assert_false(has_note(g, "no error estimate"));
    assert_non_null(g->estimates[WL_LAW_CONFIG_MEANS].reason);
    wl_arena_free(a);
}

static void equal_times_have_no_r2(void **state)
{
    (void)state;
    FIT({ .workers = 1, .run = "1", .time_s = 8 }, { .workers = 2, .run = "1", .time_s = 8 },
        { .workers = 4, .run = "1", .time_s = 8 });
    assert_true(g->law->beta == 0 && !signbit(g->law->beta) && isnan(g->law->r2));
    assert_note(g, "beta is 0 and R2 is undefined");
    wl_arena_free(a);
}

static void last_epoch_of_a_short_run_is_kept(void **state)
{
    (void)state;
    FIT({ .workers = 1, .run = "1", .epoch = 1, .time_s = 8 }, { .workers = 2, .run = "1", .epoch = 1, .time_s = 4 },
        { .workers = 2, .run = "1", .epoch = 2, .time_s = 2 });
    assert_near(g->configs[0].response, 8, 1e-14);
    assert_near(g->configs[1].response, 2, 1e-14);
    assert_true(g->counts.first_epochs == 1 && g->counts.used == 2);
    assert_note(g, "1 run has too few epochs to exclude the warm-up");
    wl_arena_free(a);
}

static void repeated_rows_count_once(void **state)
{
    (void)state;
    FIT({ .workers = 1, .run = "1", .epoch = 1, .time_s = 8 }, { .workers = 1, .run = "1", .epoch = 2, .time_s = 6 },
        { .workers = 1, .run = "1", .epoch = 2, .time_s = 6 }, { .workers = 1, .run = "1", .epoch = 3, .time_s = 6 },
        { .workers = 2, .run = "1", .epoch = 1, .time_s = 5 }, { .workers = 2, .run = "1", .epoch = 2, .time_s = 3 },
        { .workers = 2, .run = "1", .epoch = 2, .time_s = 4 }, { .workers = 2, .run = "1", .time_s = 12 });
    assert_true(g->counts.repeated == 1 && g->counts.totals == 1 && g->counts.first_epochs == 2);
    assert_true(g->counts.used == 4 && g->counts.rows == 8);
    assert_near(g->configs[1].response, sqrt(12), 1e-14);
    assert_note(g, "1 row that repeats an epoch");
    assert_note(g, "1 row with the total of a run");
    assert_note(g, "1 row has the same run and epoch as another row with a different time_s");
    wl_arena_free(a);
}

static void identical_repeats_are_noted(void **state)
{
    (void)state;
    FIT({ .workers = 1, .run = "1", .time_s = 8 }, { .workers = 1, .run = "2", .time_s = 8 },
        { .workers = 2, .run = "1", .time_s = 5 }, { .workers = 2, .run = "2", .time_s = 5 },
        { .workers = 4, .run = "1", .time_s = 3 }, { .workers = 4, .run = "2", .time_s = 3 });
    assert_true(isnan(g->lack_of_fit.p) && g->lack_of_fit.ss_pure == 0);
    assert_note(g, "identical");
    wl_arena_free(a);
}

static void estimated_and_simulated_are_carried(void **state)
{
    (void)state;
    FIT({ .workers = 1, .run = "1", .time_s = 8, .estimated = true },
        { .workers = 2, .run = "1", .time_s = 4, .simulated = true });
    assert_true(g->estimated && g->simulated);
    assert_note(g, "simulated");
    assert_note(g, "estimated");
    wl_arena_free(a);
}

static void outlying_run_is_named(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[12];
    for (int i = 0; i < 12; i++) {
        rows[i] = (struct row) { .workers = 1 << (i / 3), .run = "abc" };
        rows[i].time_s = 9 / rows[i].workers * (i == 7 ? 1.5 : 1 + 0.01 * (i % 3));
        rows[i].run = i == 7 ? "slow" : i % 3 == 0 ? "a" : i % 3 == 1 ? "b" : "c";
    }
    struct wl_law_result result = fit_rows(rows, 12, usual, a);
    assert_note(only_group(&result), "run slow at N = 4 is an outlier");
    wl_arena_free(a);
}

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct wl_law_result r;
    const struct row row = { .workers = 1, .time_s = 1 };
    struct wl_observations obs = table_of(&row, 1, a);
    struct wl_law_options options = { .drop_epochs = -1 };
    assert_int_equal(wl_law_fit(&obs, &options, &r, a, &e), WL_EINVAL);
    options = (struct wl_law_options) { .by = wl_str_split(a, "workloda", ',') };
    assert_int_equal(wl_law_fit(&obs, &options, &r, a, &e), WL_ENOENT);
    assert_string_equal(e.msg, "test: no column \"workloda\"; did you mean \"workload\"?");
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_worker_count_is_refused),
        cmocka_unit_test(nothing_usable_is_refused),
        cmocka_unit_test(runs_without_a_fit_have_a_reason),
        cmocka_unit_test(an_empty_table_has_no_groups),
        cmocka_unit_test(very_many_runs_have_a_law),
        cmocka_unit_test(two_points_have_no_error),
        cmocka_unit_test(normality_is_not_tested_with_three_runs),
        cmocka_unit_test(two_worker_counts_with_repeats_have_an_error),
        cmocka_unit_test(equal_times_have_no_r2),
        cmocka_unit_test(last_epoch_of_a_short_run_is_kept),
        cmocka_unit_test(repeated_rows_count_once),
        cmocka_unit_test(identical_repeats_are_noted),
        cmocka_unit_test(estimated_and_simulated_are_carried),
        cmocka_unit_test(outlying_run_is_named),
        cmocka_unit_test(options_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
