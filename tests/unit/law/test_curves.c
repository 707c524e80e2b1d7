/* Curves with their posterior weights, and many questions answered from one visit of the posterior. */
#include "table.h"

enum { COUNTS = 7, REPEATS = 2, ROWS = COUNTS * REPEATS };

/* Example A of docs/adr/111: Amdahl's law with c/W = 0.01, N = 1 to 64. */
static void example(struct row *rows)
{
    static const double t[COUNTS][REPEATS] = { { 1008, 1014 }, { 512, 505 }, { 261, 258 }, { 134, 136 },
                                               { 72.1, 73 },   { 41.6, 41 }, { 25.5, 26 } };
    static const char *const labels[ROWS] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n" };
    for (int i = 0; i < ROWS; i++)
        rows[i] = (struct row) {
            .run = labels[i], .workers = 1 << i / REPEATS, .samples = 1000, .time_s = t[i / REPEATS][i % REPEATS]
        };
}

static struct wl_law_curves curves_of(struct wl_law_result *r, enum wl_law_response response,
                                      const struct wl_hier_prior *prior, struct wl_arena *a)
{
    struct wl_law_curves c;
    struct wl_err e;
    if (wl_law_curves(only_group(r), response, prior, &c, a, &e)) fail_msg("%s", e.msg);
    return c;
}

/* Values by dense matrices: tests/golden/make_hier_golden.py's model, its components merged as here. */
static void values_agree_with_the_prototype(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        double curve[3], config[3], run[3], exponent[3];
    } want[] = { { 0,
                   { 1009.0563719, 999.8557604, 1019.2568193 },
                   { 1009.0442383, 996.7132327, 1022.5496212 },
                   { 1009.0896276, 986.9980371, 1032.2633908 },
                   { 0.98992947, 0.98940392, 0.99196175 } },
                 { 6,
                   { 25.7453147, 25.3982552, 26.0994442 },
                   { 25.7445939, 25.3395238, 26.1626874 },
                   { 25.7429192, 25.1250820, 26.3824114 },
                   { 0.60509376, 0.57935185, 0.61638604 } } };
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[ROWS];
    example(rows);
    struct wl_law_result r = fit_rows(rows, ROWS, (struct wl_law_options) { 0 }, a);
    const struct wl_law_curves c = curves_of(&r, WL_LAW_TIME, NULL, a);
    assert_int_equal(c.n, COUNTS);
    for (size_t i = 0; i < WL_COUNT(want); i++) {
        const struct wl_law_curves_at *at = &c.at[want[i].at];
        const struct wl_estimate *const got[] = { &at->curve, &at->config, &at->run, &at->exponent };
        const double *const values[] = { want[i].curve, want[i].config, want[i].run, want[i].exponent };
        for (size_t k = 0; k < WL_COUNT(got); k++) {
            assert_near(got[k]->value / values[k][0], 1, 1e-4);
            assert_near(got[k]->lo / values[k][1], 1, 1e-4);
            assert_near(got[k]->hi / values[k][2], 1, 1e-4);
        }
    }
    assert_near(c.families[1].weight, 0.857385, 1e-6);
    assert_string_equal(c.families[1].name, "amdahl");
    wl_arena_free(a);
}

/* Energy proportional to time: its exponent is that of the time, one less for each worker that takes part. */
static void the_exponent_is_that_of_the_response(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[ROWS];
    struct wl_hier_prior power = wl_hier_time_prior;
    for (size_t f = 0; f < WL_HIER_FAMILIES; f++) power.weight[f] = f == WL_HIER_POWER;
    example(rows);
    for (int i = 0; i < ROWS; i++) {
        rows[i].time_s = 1000 / pow(rows[i].workers, 0.8) * (i % 2 ? 1.002 : 0.998);
        rows[i].energy_j = 200 * rows[i].workers * rows[i].time_s;
    }
    struct wl_law_result time = fit_rows(rows, ROWS, (struct wl_law_options) { 0 }, a),
                         energy = fit_rows(rows, ROWS, (struct wl_law_options) { .response = WL_LAW_ENERGY }, a);
    const struct wl_law_curves t = curves_of(&time, WL_LAW_TIME, &power, a),
                               e = curves_of(&energy, WL_LAW_ENERGY, &power, a);
    assert_near(t.beta.value, 0.8, 0.002);
    assert_true(t.beta.lo < 0.8 && t.beta.hi > 0.8 && t.beta.hi - t.beta.lo < 0.02);
    assert_near(e.beta.value, t.beta.value - 1, 1e-9);
    assert_near(e.growth, 1, 0);
    assert_int_equal(e.n_families, 1); /* the others have no prior weight */
    assert_near(e.at[3].exponent.value, e.beta.value, 1e-9);
    wl_arena_free(a);
}

static void one_worker_count_has_no_curve(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[] = { { .run = "a", .workers = 4, .time_s = 10 }, { .run = "b", .workers = 4, .time_s = 11 } };
    struct wl_law_result r = fit_rows(rows, 2, (struct wl_law_options) { 0 }, a);
    const struct wl_law_curves c = curves_of(&r, WL_LAW_TIME, NULL, a);
    assert_non_null(strstr(c.refusal, "one worker count"));
    assert_int_equal(c.n, 0);
    assert_true(isnan(c.configuration_sd));
    wl_arena_free(a);
}

/* ---- one visit ---- */

static struct wl_law_posterior posterior_of(struct wl_law_result *r, struct wl_arena *a)
{
    struct wl_law_posterior p;
    struct wl_err e;
    if (wl_law_posterior(only_group(r), WL_LAW_TIME, NULL, false, &p, a, &e)) fail_msg("%s", e.msg);
    return p;
}

/* What is asked together does not change an answer: intervals, families, and what a measurement would narrow. */
static void one_visit_answers_like_many(void **state)
{
    (void)state;
    static const double workers[] = { 3, 64, 128, 1000, 0.5 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[ROWS];
    example(rows);
    struct wl_law_result r = fit_rows(rows, ROWS, (struct wl_law_options) { 0 }, a);
    const struct wl_law_posterior p = posterior_of(&r, a);
    const struct wl_hier_predictions *all = wl_hier_predictions_new(&p.fit, workers, WL_COUNT(workers), a);
    const struct wl_law_forecast *together = wl_law_forecasts(&p, workers, WL_COUNT(workers), a);
    for (size_t i = 0; i < WL_COUNT(workers); i++) {
        for (int family = WL_HIER_ALL; family <= WL_HIER_AMDAHL_LINEAR; family++)
            for (int what = WL_HIER_CURVE; what <= WL_HIER_RUN; what++) {
                const struct wl_hier_query query = { workers[i], (enum wl_hier_what)what, family, false };
                const struct wl_hier_mixture m = wl_hier_prediction(all, i, query.what, family, a),
                                             one = wl_hier_predict(&p.fit, &query, a);
                if (!one.n) continue;
                assert_near(wl_hier_mean(&m), wl_hier_mean(&one), 1e-12);
                assert_near(wl_hier_quantile(&m, 0.975), wl_hier_quantile(&one, 0.975), 1e-12);
            }
        const struct wl_hier_query query = { workers[i], WL_HIER_CONFIG, WL_HIER_ALL, false };
        assert_near(wl_hier_prediction_sd_after(all, i, WL_HIER_CONFIG, 2, 3),
                    wl_hier_sd_after(&p.fit, &query, workers[2], 3), 1e-12);
        const struct wl_law_forecast alone = wl_law_forecast_at(&p, workers[i], a);
        assert_near(together[i].hi / alone.hi, 1, 1e-12);
        assert_near(together[i].measure_at, alone.measure_at, 0);
        assert_near(together[i].narrower, alone.narrower, 1e-12);
    }
    wl_arena_free(a);
}

/* More worker counts than one visit takes, and more measured ones than are considered for another measurement. */
static void long_lists_are_answered(void **state)
{
    (void)state;
    enum { MEASURED = 40, ASKED = 150 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[MEASURED];
    double asked[ASKED];
    for (int i = 0; i < MEASURED; i++)
        rows[i] = (struct row) { .run = wl_strf(a, "%d", i), .workers = i + 1, .time_s = 100.0 / (i + 1) + 1 };
    for (int i = 0; i < ASKED; i++) asked[i] = 10 + i;
    struct wl_law_result r = fit_rows(rows, MEASURED, (struct wl_law_options) { 0 }, a);
    const struct wl_law_posterior p = posterior_of(&r, a);
    const struct wl_law_forecast *f = wl_law_forecasts(&p, asked, ASKED, a);
    for (int i = 0; i < ASKED; i++) {
        assert_near(f[i].workers, asked[i], 0);
        assert_near(f[i].value / (100 / asked[i] + 1), 1, 0.05);
        assert_true(f[i].measure_at >= 1 && f[i].measure_at <= 80);
    }
    assert_near(f[ASKED - 1].measure_at, 80, 0);
    wl_arena_free(a);
}

/* Halley's steps leave the flat part between two components, and reach both tails. */
static void quantiles_of_a_mixture_in_two_parts(void **state)
{
    (void)state;
    double weight[] = { 0.5, 0.5 - 1e-6, 1e-6 }, mean[] = { -40, 40, 1000 }, sd[] = { 0.01, 0.5, 3 };
    const struct wl_hier_mixture m = { weight, mean, sd, 3 };
    for (double p = 1e-7; p < 1; p += 0.0371) assert_near(wl_hier_cdf(&m, wl_hier_quantile(&m, p)), p, 1e-9);
    assert_near(wl_hier_cdf(&m, wl_hier_quantile(&m, 1 - 1e-8)), 1 - 1e-8, 1e-9);
}

/* A break is judged with five worker counts on each side, and counted on both. */
static void a_break_needs_five_worker_counts_on_each_side(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[12];
    for (size_t n = 9; n <= 12; n += 3) {
        for (size_t i = 0; i < n; i++) {
            const double workers = pow(2, (double)i), reached = fmin(workers, 30);
            rows[i] = (struct row) { .run = wl_strf(a, "%zu", i), .workers = workers };
            rows[i].time_s =
                1000 * pow(reached, -0.95) * pow(workers / reached, -0.4) * (1 + 0.002 * cos((double)(7 * i)));
        }
        struct wl_law_result r = fit_rows(rows, n, (struct wl_law_options) { .thorough = true }, a);
        const struct wl_law_breakpoint *b = &only_group(&r)->breakpoint;
        assert_true(b->p < 0.05 && b->workers > 16 && b->workers < 64);
        assert_int_equal(b->before, 5);
        assert_int_equal(b->after, n - 5);
        assert_true(b->compared == (n - 5 >= 5));
    }
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_agree_with_the_prototype),
        cmocka_unit_test(the_exponent_is_that_of_the_response),
        cmocka_unit_test(one_worker_count_has_no_curve),
        cmocka_unit_test(one_visit_answers_like_many),
        cmocka_unit_test(long_lists_are_answered),
        cmocka_unit_test(quantiles_of_a_mixture_in_two_parts),
        cmocka_unit_test(a_break_needs_five_worker_counts_on_each_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
