/* Is it a power law? Golden values, error rates and powers of the verdict by simulation with fixed seeds. */
#include "table.h"

#include "../stats/check.h"

enum { COUNTS = 8, RUNS = 3, ROWS = COUNTS * RUNS, CAMPAIGNS = 200 };

static const struct wl_law_options usual = { 0 };

struct truth {
    double beta, overhead; /* (1/N + overhead)^beta */
    double run_sd, config_sd;
    double smallest; /* worker count */
};

static void simulate(struct row *rows, const struct truth *t, uint64_t campaign)
{
    static const char *const labels[RUNS] = { "1", "2", "3" };
    for (size_t i = 0; i < ROWS; i++) {
        const double n = t->smallest * (double)(1u << i / RUNS);
        const double noise =
            t->config_sd * wl_random_normal(41, campaign, i / RUNS) + t->run_sd * wl_random_normal(42, campaign, i);
        rows[i] = (struct row) { .run = labels[i % RUNS], .workers = n, .samples = 640 };
        rows[i].time_s = 1000 * pow(1 / n + t->overhead, t->beta) * exp(noise);
    }
}

struct shares {
    double supported, rejected; /* % */
};

static struct shares shares_of(struct truth t)
{
    struct shares s = { 0 };
    struct row rows[ROWS];
    for (uint64_t k = 0; k < CAMPAIGNS; k++) {
        struct wl_arena *a = wl_arena_new(NULL);
        simulate(rows, &t, k);
        struct wl_law_result r = fit_rows(rows, ROWS, usual, a);
        s.supported += only_group(&r)->verdict == WL_LAW_SUPPORTED ? 100.0 / CAMPAIGNS : 0;
        s.rejected += only_group(&r)->verdict == WL_LAW_REJECTED ? 100.0 / CAMPAIGNS : 0;
        wl_arena_free(a);
    }
    print_message("beta %g, c/W %g, sd of runs %g, of worker counts %g: %.0f %% supported, %.0f %% rejected\n", t.beta,
                  t.overhead, t.run_sd, t.config_sd, s.supported, s.rejected);
    return s;
}

static void power_laws_are_supported(void **state)
{
    (void)state;
    for (double beta = 0.5; beta < 1; beta += 0.4) {
        assert_true(shares_of((struct truth) { beta, 0, 0.01, 0, 1 }).supported > 99);
        struct shares s = shares_of((struct truth) { beta, 0, 0.03, 0, 1 });
        assert_true(s.supported > 88 && s.rejected < 1);
    }
}

static void bends_beyond_the_margin_are_not_supported(void **state)
{
    (void)state;
    static const struct truth bends[] = { { 1, 0.003, 0.01, 0, 1 },
                                          { 1, 0.003, 0.03, 0, 1 },
                                          { 1, 0.003, 0.02, 0.03, 1 },
                                          { 1, 0.01, 0.02, 0.03, 1 },
                                          { 1, 0.03, 0.02, 0.03, 1 } };
    for (size_t i = 0; i < WL_COUNT(bends); i++) assert_true(shares_of(bends[i]).supported <= 5);
    assert_true(shares_of((struct truth) { 1, 0.01, 0.01, 0, 1 }).rejected > 99);
    assert_true(shares_of((struct truth) { 1, 0.01, 0.02, 0.03, 1 }).rejected > 95);
}

static void noise_is_not_a_power_law(void **state)
{
    (void)state;
    assert_true(shares_of((struct truth) { 0, 0, 1, 0, 1 }).supported <= 1);
    assert_true(shares_of((struct truth) { 0, 0, 0.01, 0, 1 }).supported <= 1);
}

/* What all runs of a worker count share is not curvature. */
static void shifts_of_worker_counts_are_not_curvature(void **state)
{
    (void)state;
    struct shares s = shares_of((struct truth) { 0.9, 0, 0.005, 0.03, 1 });
    assert_true(s.rejected <= 6);
}

/* ---- single groups ---- */

static const struct wl_law_group *group_of(struct truth t, double samples_growth, struct wl_law_options options,
                                           struct wl_arena *a)
{
    struct row *rows = wl_new_array(a, struct row, ROWS);
    simulate(rows, &t, 7);
    for (size_t i = 0; i < ROWS; i++) rows[i].samples *= pow(rows[i].workers, samples_growth);
    struct wl_law_result *r = wl_new(a, struct wl_law_result);
    *r = fit_rows(rows, ROWS, options, a);
    return only_group(r);
}

static void unlike_work_bars_the_verdict(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_law_group *g = group_of((struct truth) { 0.9, 0, 0.01, 0, 1 }, 0.5, usual, a);
    assert_int_equal(g->scaling, WL_SCALING_MIXED);
    assert_int_equal(g->verdict, WL_LAW_UNDECIDED);
    assert_non_null(strstr(g->verdict_reason, "not comparable"));
    wl_arena_free(a);
}

/* Perfect weak scaling: epochs take as long on any number of workers, and that is a power law of the work per time. */
static void weak_scaling_is_judged_per_unit_of_work(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_law_group *g = group_of((struct truth) { 0, 0, 0.01, 0, 1 }, 1, usual, a);
    assert_int_equal(g->scaling, WL_SCALING_WEAK);
    assert_int_equal(g->verdict, WL_LAW_SUPPORTED);
    wl_arena_free(a);
}

static void the_smallest_margin_is_where_the_verdict_turns(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct truth t = { 1, 0.001, 0.02, 0, 1 };
    const double smallest = group_of(t, 0, usual, a)->equivalence.smallest_margin;
    assert_true(smallest > 0.01 && smallest < 0.5);
    assert_int_equal(group_of(t, 0, (struct wl_law_options) { .margin = 1.01 * smallest }, a)->verdict,
                     WL_LAW_SUPPORTED);
    assert_int_not_equal(group_of(t, 0, (struct wl_law_options) { .margin = 0.99 * smallest }, a)->verdict,
                         WL_LAW_SUPPORTED);
    wl_arena_free(a);
}

/* Undecided says what would decide, and measuring that decides four times in five. */
static void what_would_decide_is_named(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_law_group *g = group_of((struct truth) { 0.9, 0, 0.1, 0, 8 }, 0, usual, a);
    assert_int_equal(g->verdict, WL_LAW_UNDECIDED);
    assert_true(g->equivalence.needs_workers > 1024 && g->equivalence.needs_workers <= 1024 * 1024);
    assert_non_null(strstr(g->verdict_reason, "would decide"));
    wl_arena_free(a);
}

static void three_worker_counts_are_too_few(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[ROWS];
    simulate(rows, &(struct truth) { 0.9, 0, 0.01, 0, 1 }, 1);
    struct wl_law_result r = fit_rows(rows, 3 * RUNS, usual, a);
    assert_int_equal(only_group(&r)->verdict, WL_LAW_UNDECIDED);
    assert_string_equal(only_group(&r)->verdict_reason,
                        "3 worker counts, but telling a change of the exponent from scatter needs 4");
    wl_arena_free(a);
}

static double golden_verdict(const char *name, const char *quantity, struct wl_arena *a)
{
    struct wl_csv csv;
    golden_open(&csv, "hier_values.csv", a);
    while (golden_next(&csv))
        if (wl_str_eq(csv.row[0], name) && wl_str_eq(csv.row[1], quantity)) return golden_real(&csv, "value");
    fail_msg("no golden value %s of %s", quantity, name);
    return NAN;
}

static void values_agree_with_numpy(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[16];
    struct wl_csv csv;
    size_t n = 0;
    golden_open(&csv, "hier_data.csv", a);
    for (; golden_next(&csv) && wl_str_eq(csv.row[0], "A"); n++) {
        rows[n] = (struct row) { .run = wl_strf(a, "%zu", n), .workers = golden_real(&csv, "workers"), .samples = 640 };
        rows[n].time_s = golden_real(&csv, "time_s");
    }
    assert_int_equal(n, 14);
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    const struct wl_law_equivalence *q = &only_group(&r)->equivalence;
    agree("change", -q->change, golden_verdict("A", "verdict change", a), 8);
    agree("se", q->se, golden_verdict("A", "verdict se", a), 8);
    agree("smallest margin", q->smallest_margin, golden_verdict("A", "verdict smallest margin", a), 8);
    assert_int_equal(only_group(&r)->verdict, WL_LAW_REJECTED);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_laws_are_supported),
        cmocka_unit_test(bends_beyond_the_margin_are_not_supported),
        cmocka_unit_test(noise_is_not_a_power_law),
        cmocka_unit_test(shifts_of_worker_counts_are_not_curvature),
        cmocka_unit_test(unlike_work_bars_the_verdict),
        cmocka_unit_test(weak_scaling_is_judged_per_unit_of_work),
        cmocka_unit_test(the_smallest_margin_is_where_the_verdict_turns),
        cmocka_unit_test(what_would_decide_is_named),
        cmocka_unit_test(three_worker_counts_are_too_few),
        cmocka_unit_test(values_agree_with_numpy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
