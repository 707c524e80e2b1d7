/* Forecasts: coverage, the unit of work, what is refused, and the words. */
#include "table.h"

enum { COUNTS = 6, REPEATS = 3, ROWS = COUNTS * REPEATS };

static const struct wl_law_options usual = { 0 };

/* t = 100/N + c with 2 % between runs, at 1, 2 ... 32 workers. */
static void amdahl_campaign(struct row *rows, double c, uint64_t campaign)
{
    static const char *const labels[REPEATS] = { "1", "2", "3" };
    for (int i = 0; i < ROWS; i++) {
        double workers = 1 << i / REPEATS;
        double noise = 0.02 * wl_random_normal(11, campaign, (uint64_t)i);
        rows[i] = (struct row) { .run = labels[i % REPEATS], .workers = workers, .samples = 640 };
        rows[i].time_s = (100 / workers + c) * exp(noise);
    }
}

static struct wl_law_posterior posterior_of(const struct wl_law_group *g, enum wl_law_response response,
                                            struct wl_arena *a)
{
    struct wl_law_posterior p;
    struct wl_err e;
    if (wl_law_posterior(g, response, NULL, false, &p, a, &e)) fail_msg("%s", e.msg);
    return p;
}

/* The interval covers one more run, at 16 workers and at twice the measured range, at least at its level. */
static void intervals_cover_a_new_run(void **state)
{
    (void)state;
    enum { CAMPAIGNS = 80 };
    static const double at[] = { 16, 64 };
    int covered[2] = { 0 };
    for (uint64_t k = 0; k < CAMPAIGNS; k++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct row rows[ROWS];
        amdahl_campaign(rows, 4, k);
        struct wl_law_result r = fit_rows(rows, ROWS, usual, a);
        struct wl_law_posterior p = posterior_of(only_group(&r), WL_LAW_TIME, a);
        for (size_t j = 0; j < 2; j++) {
            struct wl_law_forecast f = wl_law_forecast_at(&p, at[j], a);
            double seen = (100 / at[j] + 4) * exp(0.02 * wl_random_normal(12, k, j));
            covered[j] += f.lo <= seen && seen <= f.hi;
        }
        wl_arena_free(a);
    }
    print_message("95 %% intervals hold %d and %d of %d new runs at 16 and 64 workers\n", covered[0], covered[1],
                  CAMPAIGNS);
    assert_true(covered[0] >= 0.90 * CAMPAIGNS && covered[1] >= 0.94 * CAMPAIGNS); /* one standard error is 2.4 % */
}

/* Far away it widens and says so; a run's interval holds that of configurations. */
static void a_far_forecast_is_wide_and_says_so(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[ROWS];
    amdahl_campaign(rows, 4, 1);
    struct wl_law_result r = fit_rows(rows, ROWS, usual, a);
    struct wl_law_posterior p = posterior_of(only_group(&r), WL_LAW_TIME, a);
    struct wl_law_forecast near = wl_law_forecast_at(&p, 12, a), far = wl_law_forecast_at(&p, 2048, a);
    assert_true(near.ratio == 1 && far.ratio == 64);
    assert_non_null(strstr(near.reach, "within the measured worker counts"));
    assert_non_null(strstr(near.reach, ": narrow"));
    assert_non_null(strstr(far.reach, "64 times the largest"));
    assert_non_null(strstr(far.reach, "the data say little there"));
    assert_true(far.hi / far.lo > 4 && near.hi / near.lo < 1.25);
    assert_true(far.lo < far.value && far.value < far.hi);
    assert_true(near.lo < near.config_lo && near.config_hi < near.hi);
    assert_true(far.narrower < 1 && far.measure_at == 64);
    wl_arena_free(a);
}

/* Beyond an upturn that the data leave possible, the density of the posterior rises at the upper end of its interval.
 */
static void the_interval_of_a_run_holds_that_of_its_configuration(void **state)
{
    (void)state;
    static const double times[] = { 1011, 508, 259, 135, 72.5, 41.3, 25.7 }, at[] = { 64, 128, 1024, 4096 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[2 * WL_COUNT(times)];
    for (size_t i = 0; i < WL_COUNT(rows); i++)
        rows[i] = (struct row) { .run = i % 2 ? "1" : "2",
                                 .workers = 1 << i / 2,
                                 .samples = 640,
                                 .time_s = times[i / 2] * (i % 2 ? 1.005 : 0.995) };
    struct wl_law_result r = fit_rows(rows, WL_COUNT(rows), usual, a);
    struct wl_law_posterior p = posterior_of(only_group(&r), WL_LAW_TIME, a);
    const struct wl_law_forecast *f = wl_law_forecasts(&p, at, WL_COUNT(at), a);
    for (size_t i = 0; i < WL_COUNT(at); i++) assert_true(f[i].lo <= f[i].config_lo && f[i].config_hi <= f[i].hi);
    const struct wl_law_fan fan = wl_law_fan(&p, 1, 4096, 13, 0.01, a);
    for (size_t i = 0; i < fan.n; i++) assert_true(fan.lo[i] <= fan.config_lo[i] && fan.config_hi[i] <= fan.hi[i]);
    wl_arena_free(a);
}

static void two_worker_counts_are_enough_and_one_is_refused(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[ROWS];
    amdahl_campaign(rows, 4, 2);
    struct wl_law_result r = fit_rows(rows, 2 * REPEATS, usual, a);
    struct wl_law_posterior p = posterior_of(only_group(&r), WL_LAW_TIME, a);
    struct wl_law_forecast f = wl_law_forecast_at(&p, 4, a);
    assert_true(f.lo < 29 && 29 < f.hi);
    assert_string_equal(f.families[2].name, "power_const");
    assert_string_equal(f.families[2].reason, "2 worker counts: two shape parameters need 4");
    r = fit_rows(rows, REPEATS, usual, a);
    assert_string_equal(posterior_of(only_group(&r), WL_LAW_TIME, a).refusal, "one worker count: measure another");
    wl_arena_free(a);
}

/* The mixture of families: their weights sum to 1, and the curve of the truth has the most. */
static void families_are_weighed(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[ROWS];
    amdahl_campaign(rows, 4, 2);
    struct wl_law_result r = fit_rows(rows, ROWS, usual, a);
    struct wl_law_posterior p = posterior_of(only_group(&r), WL_LAW_TIME, a);
    struct wl_law_forecast f = wl_law_forecast_at(&p, 64, a);
    double sum = 0;
    assert_int_equal(f.n_families, 5);
    for (size_t i = 0; i < f.n_families; i++) sum += f.families[i].weight;
    assert_near(sum, 1, 1e-12);
    assert_string_equal(f.families[1].name, "amdahl");
    assert_true(f.families[1].weight > f.families[0].weight);
    assert_near(f.value, 100.0 / 64 + 4, 0.6);
    wl_arena_free(a);
}

/* Under weak scaling an epoch grows with the workers, and energy is the sum over them: a perfect law is t = const
 * there, and E = const or proportional to N. */
static void the_unit_of_work_follows_scaling_and_response(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[ROWS];
    amdahl_campaign(rows, 0, 3);
    for (int i = 0; i < ROWS; i++) {
        rows[i].time_s *= rows[i].workers;
        rows[i].samples *= rows[i].workers;
        rows[i].energy_j = 300 * rows[i].time_s * rows[i].workers;
    }
    struct wl_law_result r = fit_rows(rows, ROWS, usual, a);
    assert_int_equal(only_group(&r)->scaling, WL_SCALING_WEAK);
    struct wl_law_posterior p = posterior_of(only_group(&r), WL_LAW_TIME, a);
    assert_true(p.growth == 1);
    assert_ptr_equal(p.fit.prior, &wl_hier_time_prior);
    struct wl_law_forecast f = wl_law_forecast_at(&p, 64, a);
    assert_true(f.value > 95 && f.value < 112);
    const struct wl_law_options energy = { .response = WL_LAW_ENERGY };
    r = fit_rows(rows, ROWS, energy, a);
    p = posterior_of(only_group(&r), WL_LAW_ENERGY, a);
    assert_true(p.growth == 2);
    assert_ptr_equal(p.fit.prior, &wl_hier_energy_prior);
    f = wl_law_forecast_at(&p, 64, a);
    assert_true(f.value > 95 * 300 * 64 && f.value < 112 * 300 * 64);
    wl_arena_free(a);
}

static void unlike_work_is_refused_unless_forced(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[ROWS];
    struct wl_law_posterior p;
    struct wl_err e;
    amdahl_campaign(rows, 4, 4);
    for (int i = 0; i < ROWS; i++) rows[i].samples = rows[i].workers == 2 ? 64000 : 640;
    struct wl_law_result r = fit_rows(rows, ROWS, usual, a);
    assert_non_null(strstr(posterior_of(only_group(&r), WL_LAW_TIME, a).refusal, "epochs are not comparable"));
    assert_int_equal(wl_law_posterior(only_group(&r), WL_LAW_TIME, NULL, true, &p, a, &e), 0);
    assert_null(p.refusal);
    assert_non_null(strstr(p.notes.v[0], "forced"));
    wl_arena_free(a);
}

/* As if the other runs were not there; with more runs the band is narrower. */
static void some_runs_give_the_law_that_they_have_alone(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[ROWS], first[ROWS];
    bool take[ROWS];
    size_t n = 0;
    struct wl_law_posterior some;
    struct wl_err e;
    amdahl_campaign(rows, 4, 5);
    for (int i = 0; i < ROWS; i++)
        if (i % REPEATS == 0) first[n++] = rows[i];
    struct wl_law_result all = fit_rows(rows, ROWS, usual, a), alone = fit_rows(first, n, usual, a);
    const struct wl_law_group *g = only_group(&all);
    for (size_t i = 0; i < g->n_runs; i++) take[i] = wl_str_eq(g->runs[i].label, "1");
    assert_int_equal(wl_law_posterior_of_runs(g, take, WL_LAW_TIME, &some, a, &e), 0);
    const struct wl_law_posterior p = posterior_of(only_group(&alone), WL_LAW_TIME, a),
                                  whole = posterior_of(g, WL_LAW_TIME, a);
    const struct wl_law_forecast f = wl_law_forecast_at(&some, 32, a), same = wl_law_forecast_at(&p, 32, a),
                                 narrow = wl_law_forecast_at(&whole, 32, a);
    assert_near(f.config_lo, same.config_lo, 1e-12);
    assert_near(f.config_hi, same.config_hi, 1e-12);
    assert_true(narrow.config_hi / narrow.config_lo < f.config_hi / f.config_lo);
    for (size_t i = 0; i < g->n_runs; i++) take[i] = g->runs[i].workers == 8;
    assert_int_equal(wl_law_posterior_of_runs(g, take, WL_LAW_TIME, &some, a, &e), 0);
    assert_non_null(strstr(some.refusal, "one worker count"));
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_cover_a_new_run),
        cmocka_unit_test(a_far_forecast_is_wide_and_says_so),
        cmocka_unit_test(the_interval_of_a_run_holds_that_of_its_configuration),
        cmocka_unit_test(two_worker_counts_are_enough_and_one_is_refused),
        cmocka_unit_test(families_are_weighed),
        cmocka_unit_test(the_unit_of_work_follows_scaling_and_response),
        cmocka_unit_test(unlike_work_is_refused_unless_forced),
        cmocka_unit_test(some_runs_give_the_law_that_they_have_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
