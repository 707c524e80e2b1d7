/* Forecasts: coverage, refusals, contributing models. */
#include "table.h"

enum { COUNTS = 6, REPEATS = 3, ROWS = COUNTS * REPEATS };

static const struct wl_law_options usual = { .thorough = true };

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

/* The interval covers one more run, at 16 workers and at twice the measured range, at least at its level. */
static void intervals_cover_a_new_run(void **state)
{
    (void)state;
    enum { CAMPAIGNS = 150 };
    static const double at[] = { 16, 64 };
    int covered[2] = { 0 };
    for (uint64_t k = 0; k < CAMPAIGNS; k++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct row rows[ROWS];
        amdahl_campaign(rows, 4, k);
        struct wl_law_result r = fit_rows(rows, ROWS, usual, a);
        for (size_t j = 0; j < 2; j++) {
            struct wl_law_forecast f = wl_law_forecast_at(only_group(&r), at[j], false, a);
            double seen = (100 / at[j] + 4) * exp(0.02 * wl_random_normal(12, k, j));
            covered[j] += f.lo <= seen && seen <= f.hi;
        }
        wl_arena_free(a);
    }
    print_message("95 %% intervals hold %d and %d of %d new runs at 16 and 64 workers\n", covered[0], covered[1],
                  CAMPAIGNS);
    assert_true(covered[0] >= 0.90 * CAMPAIGNS && covered[1] >= 0.93 * CAMPAIGNS);
}

static void far_extrapolation_is_refused_unless_forced(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[ROWS];
    amdahl_campaign(rows, 4, 1);
    struct wl_law_result r = fit_rows(rows, ROWS, usual, a);
    const struct wl_law_group *g = only_group(&r);
    struct wl_law_forecast f = wl_law_forecast_at(g, 129, false, a);
    assert_non_null(strstr(f.refusal, "4.03 times"));
    assert_true(isnan(f.value) && !f.basis);
    f = wl_law_forecast_at(g, 129, true, a);
    assert_true(!f.refusal && f.lo < f.value && f.value < f.hi && f.ratio == 129.0 / 32);
    f = wl_law_forecast_at(g, 128, false, a);
    assert_null(f.refusal);
    assert_non_null(wl_law_forecast_at(g, 0, true, a).refusal);
    wl_arena_free(a);
}

/* A model with a leave-largest-out error above 25 % contributes within the range but not outside it. */
static void failed_models_do_not_contribute_outside_the_range(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[ROWS];
    amdahl_campaign(rows, 4, 2);
    struct wl_law_result r = fit_rows(rows, ROWS, usual, a);
    const struct wl_law_group *g = only_group(&r);
    struct wl_law_forecast within = wl_law_forecast_at(g, 12, false, a), beyond = wl_law_forecast_at(g, 64, false, a);
    assert_string_equal(g->models[0].name, "power");
    assert_true(g->models[0].llo_pct > 25);
    assert_null(within.components[0].reason);
    assert_non_null(strstr(beyond.components[0].reason, "leave-largest-out error is"));
    double sum = 0;
    for (size_t i = 0; i < beyond.n_components; i++)
        if (!beyond.components[i].reason) sum += beyond.components[i].weight;
    assert_near(sum, 1, 1e-12);
    assert_near(beyond.value, 100.0 / 64 + 4, 0.4);
    assert_true(log(beyond.hi / beyond.lo) > log(within.hi / within.lo));
    wl_arena_free(a);
}

/* Energy has no candidate models: the power law is used within the range, and outside it only when forced. */
static void energy_is_forecast_by_the_power_law(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[ROWS];
    amdahl_campaign(rows, 4, 3);
    for (int i = 0; i < ROWS; i++) rows[i].energy_j = 100 * rows[i].time_s * rows[i].workers;
    struct wl_law_result r =
        fit_rows(rows, ROWS, (struct wl_law_options) { .response = WL_LAW_ENERGY, .thorough = true }, a);
    struct wl_law_forecast f = wl_law_forecast_at(only_group(&r), 4, false, a);
    assert_string_equal(f.basis, "power_law");
    assert_near(f.value, wl_law_at(only_group(&r), 4).value, 1e-12);
    assert_non_null(wl_law_forecast_at(only_group(&r), 64, false, a).refusal);
    assert_null(wl_law_forecast_at(only_group(&r), 64, true, a).refusal);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_cover_a_new_run),
        cmocka_unit_test(far_extrapolation_is_refused_unless_forced),
        cmocka_unit_test(failed_models_do_not_contribute_outside_the_range),
        cmocka_unit_test(energy_is_forecast_by_the_power_law),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
