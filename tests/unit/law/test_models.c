/* Candidate models: data generated from each, and data that cannot rank them. */
#include "../stats/check.h"
#include "table.h"

enum { COUNTS = 8, RUNS = 3, ROWS = COUNTS * RUNS };

static const struct wl_law_options usual = { .drop_epochs = 1, .thorough = true };

/* Runs at 1, 2 ... 128 workers of t(N) with 0.5 % between runs; samples as given by work. */
static struct wl_law_result campaign(double (*t)(double), double (*work)(double), double sd, struct wl_arena *a)
{
    struct row rows[ROWS];
    static char *const labels[] = { "1", "2", "3" };
    for (uint64_t i = 0; i < ROWS; i++) {
        double workers = (double)(1u << (i / RUNS));
        rows[i] = (struct row) { .workers = workers, .run = labels[i % RUNS], .samples = work(workers) };
        rows[i].time_s = t(workers) * exp(sd * wl_random_normal(5, 0, i));
    }
    return fit_rows(rows, ROWS, usual, a);
}

static double fixed(double n) { return 640 + 0 * n; }
static double growing(double n) { return 640 * n; }

static double amdahl(double n) { return 90 / n + 2.5; }
static double with_log(double n) { return 90 / n + 1 + 0.8 * log2(n); }
static double with_linear(double n) { return 90 / n + 1 + 0.05 * n; }
static double with_constant(double n) { return 90 * pow(n, -0.7) + 4; }
static double plain(double n) { return 90 * pow(n, -0.7); }
static double weak(double n) { return 30 * (1 + 0.05 * log2(n)); }

static double breaks(double n) { return 90 * pow(fmin(n, 11), -0.9) * pow(fmax(n, 11) / 11, -0.3); }

static const struct wl_law_model *model(const struct wl_law_group *g, const char *name)
{
    for (size_t i = 0; i < g->n_models; i++)
        if (wl_str_eq(g->models[i].name, name)) return &g->models[i];
    fail_msg("no model %s", name);
    return NULL;
}

/* The model that generated the data is among the plausible ones, predicts best, and recovers its parameters. */
static void recognised(const char *name, double (*t)(double), double (*work)(double), const double *truth)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_law_result r = campaign(t, work, 0.005, a);
    const struct wl_law_group *g = only_group(&r);
    const struct wl_law_model *m = model(g, name);
    assert_non_null(g->best_model);
    assert_true(m->aicc - g->best_model->aicc < 4);
    for (size_t j = 0; j < m->k; j++) {
        bool kink = wl_str_eq(name, "broken"); /* no errors at a kink: 3 % */
        assert_true(kink || m->se[j] > 0);
        assert_near(m->value[j], truth[j], kink ? 0.03 * truth[j] : 4 * m->se[j]);
    }
    assert_true(m->llo_pct < 8);
    double sum = 0;
    for (size_t i = 0; i < g->n_models; i++) sum += g->models[i].ranked ? g->models[i].weight : 0;
    assert_near(sum, 1, 1e-12);
    wl_arena_free(a);
}

static void each_model_is_recognised(void **state)
{
    (void)state;
    recognised("power", plain, fixed, (const double[]) { 90, 0.7 });
    recognised("amdahl", amdahl, fixed, (const double[]) { 90, 2.5 });
    recognised("power_const", with_constant, fixed, (const double[]) { 90, 0.7, 4 });
    recognised("amdahl_log", with_log, fixed, (const double[]) { 90, 1, 0.8 });
    recognised("amdahl_linear", with_linear, fixed, (const double[]) { 90, 1, 0.05 });
    recognised("broken", breaks, fixed, (const double[]) { 90, 0.9, 0.3, 11 });
    recognised("weak_log", weak, growing, (const double[]) { 30, 0.05 });
}

/* Why models are compared: R2 is near 1 although the power law is far off beyond the data. */
static void a_high_r2_does_not_predict(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_law_result r = campaign(amdahl, fixed, 0.005, a);
    const struct wl_law_group *g = only_group(&r);
    assert_true(g->law->r2 > 0.93);
    assert_true(model(g, "power")->llo_pct > 25 && model(g, "amdahl")->llo_pct < 3);
    assert_string_equal(g->best_predictor->name, "amdahl");
    wl_arena_free(a);
}

static void breakpoint_is_located(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_law_result r = campaign(breaks, fixed, 0.005, a);
    const struct wl_law_breakpoint *b = &only_group(&r)->breakpoint;
    assert_near(b->beta1, 0.9, 0.02);
    assert_near(b->beta2, 0.3, 0.02);
    assert_true(b->lo < 11 && 11 < b->hi && b->hi / b->lo < 1.3 && b->p <= 0.01);
    r = campaign(plain, fixed, 0.02, a);
    assert_true(r.groups[0].breakpoint.p > 0.05);
    wl_arena_free(a);
}

static void negligible_term_is_named(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_law_result r = campaign(plain, fixed, 0, a);
    const struct wl_law_model *m = model(only_group(&r), "amdahl_linear");
    assert_false(m->ranked);
    assert_non_null(strstr(m->reason, "is 0 within rounding"));
    wl_arena_free(a);
}

static void unranked_models_have_a_reason(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct row rows[] = { { .workers = 1, .run = "1", .time_s = 9 }, { .workers = 2, .run = "1", .time_s = 5 } };
    struct wl_law_result r = fit_rows(rows, 2, usual, a);
    const struct wl_law_group *g = only_group(&r);
    assert_null(g->best_model);
    for (size_t i = 0; i < g->n_models; i++) assert_true(g->models[i].reason && isnan(g->models[i].aicc));
    struct wl_law_options energy = { .response = WL_LAW_ENERGY, .thorough = true };
    struct row joules[] = { { .workers = 1, .run = "1", .energy_j = 9 }, { .workers = 2, .run = "1", .energy_j = 5 } };
    r = fit_rows(joules, 2, energy, a);
    assert_true(only_group(&r)->n_models == 0);
    assert_string_equal(r.groups[0].no_models_reason, "the candidate models describe time, not energy");
    wl_arena_free(a);
}

/* The same least squares in R's nls, from make_r_golden.R. */
static void parameters_match_r(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[ROWS];
    struct wl_csv csv;
    size_t n = 0;
    golden_open(&csv, "curve_data.csv", a);
    for (; golden_next(&csv); n++) {
        assert_true(n < ROWS);
        rows[n] = (struct row) { .workers = golden_real(&csv, "workers"), .run = wl_strf(a, "%zu", n), .samples = 640 };
        rows[n].time_s = golden_real(&csv, "t");
    }
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    static const char *const names[] = { "amdahl", "power_const", "amdahl_log", "amdahl_linear" };
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        const struct wl_law_model *m = model(only_group(&r), names[i]);
        for (size_t j = 0; j < m->k; j++) {
            const char *key = wl_strf(a, "%s %s", m->name, m->param[j]);
            agree(key, m->value[j], golden_value("r_values.csv", key, a), 4.5);
            key = wl_strf(a, "%s se", key);
            agree(key, m->se[j], golden_value("r_values.csv", key, a), 4);
        }
        const char *key = wl_strf(a, "%s sse", m->name);
        agree(key, m->sse, golden_value("r_values.csv", key, a), 8);
    }
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_match_r),         cmocka_unit_test(each_model_is_recognised),
        cmocka_unit_test(a_high_r2_does_not_predict), cmocka_unit_test(breakpoint_is_located),
        cmocka_unit_test(negligible_term_is_named),   cmocka_unit_test(unranked_models_have_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
