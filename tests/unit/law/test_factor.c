/* Does a factor change the law? Invariances, and error rates of the verdict. */
#include "table.h"

enum { LEVELS = 3, COUNTS = 6, REPEATS = 3, ROWS = LEVELS * COUNTS * REPEATS };

struct campaign {
    double beta[LEVELS];
    double run_sd, config_sd; /* of ln t: between runs, and between worker counts of a level as a whole */
    uint64_t seed;
};

static void make(struct row *rows, const struct campaign *c)
{
    static const char *const labels[REPEATS] = { "1", "2", "3" };
    size_t n = 0;
    for (int l = 0; l < LEVELS; l++)
        for (int k = 0; k < COUNTS; k++)
            for (int r = 0; r < REPEATS; r++, n++) {
                double noise = c->run_sd * wl_random_normal(21, c->seed, n) +
                               c->config_sd * wl_random_normal(22, c->seed, (uint64_t)(l * COUNTS + k));
                rows[n] = (struct row) { .workload = "net", .run = labels[r], .workers = 1 << k, .samples = 640 };
                rows[n].power_cap_w = 100 + 50 * l;
                rows[n].time_s = 60 / (1 + 0.2 * l) * pow(rows[n].workers, -c->beta[l]) * exp(noise);
            }
}

static struct wl_factor_result compare_rows(const struct row *rows, size_t n, double margin, struct wl_arena *a)
{
    struct wl_observations obs = table_of(rows, n, a);
    struct wl_factor_options options = { .factor = "power_cap_w", .margin = margin };
    struct wl_factor_result out;
    struct wl_err e;
    if (wl_factor_compare(&obs, &options, &out, a, &e)) fail_msg("%s", e.msg);
    assert_int_equal(out.n, 1);
    return out;
}

static double share_of(const struct campaign *like, size_t campaigns, enum wl_factor_verdict verdict)
{
    size_t hits = 0;
    for (uint64_t k = 0; k < campaigns; k++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct row rows[ROWS];
        struct campaign c = *like;
        c.seed = k;
        make(rows, &c);
        hits += compare_rows(rows, ROWS, 0.05, a).groups[0].verdict == verdict;
        wl_arena_free(a);
    }
    return (double)hits / (double)campaigns;
}

/* Equal slopes are rejected in about 5 % of cases or fewer, also where all runs of a worker count shift together. */
static void equal_slopes_are_rarely_rejected(void **state)
{
    (void)state;
    const struct campaign runs = { { 0.8, 0.8, 0.8 }, 0.03, 0, 0 }, configs = { { 0.8, 0.8, 0.8 }, 0.02, 0.03, 0 };
    double by_runs = share_of(&runs, 400, WL_FACTOR_DIFFERENT),
           by_configs = share_of(&configs, 400, WL_FACTOR_DIFFERENT);
    print_message("equal slopes called different: %.3f with scatter between runs, %.3f with worker counts that move\n",
                  by_runs, by_configs);
    assert_true(by_runs <= 0.08 && by_configs <= 0.09);
}

/* Slopes that differ by the margin are found equivalent in about 5 % of cases or fewer; equal ones are at low noise. */
static void equivalence_has_few_false_positives(void **state)
{
    (void)state;
    const struct campaign apart = { { 0.8, 0.8, 0.85 }, 0.03, 0, 0 }, same = { { 0.8, 0.8, 0.8 }, 0.01, 0, 0 };
    const struct campaign noisy = { { 0.8, 0.8, 0.8 }, 0.15, 0, 0 };
    assert_true(share_of(&apart, 200, WL_FACTOR_EQUIVALENT) <= 0.08);
    assert_true(share_of(&same, 100, WL_FACTOR_EQUIVALENT) >= 0.9);
    assert_true(share_of(&noisy, 100, WL_FACTOR_EQUIVALENT) <= 0.05);
}

/* n (ln(2 pi sse / n) + 1) + 2 k + 2 k (k + 1) / (n - k - 1), k the parameters and sigma (Hurvich and Tsai 1989). */
static double aicc(double sse, double n, double parameters)
{
    const double k = parameters + 1;
    return n * (log(2 * M_PI * sse / n) + 1) + 2 * k + 2 * k * (k + 1) / (n - k - 1);
}

/* A common slope has one parameter per level and one more, separate slopes have two per level. */
static void aicc_counts_every_parameter(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct campaign c = { { 0.8, 0.81, 0.8 }, 0.03, 0, 3 };
    struct row rows[ROWS];
    make(rows, &c);
    const struct wl_factor_group *g = compare_rows(rows, ROWS, 0.05, a).groups;
    assert_near(g->aicc_common, aicc(g->over_runs.sse_common, ROWS, LEVELS + 1), 1e-9);
    assert_near(g->aicc_separate, aicc(g->over_runs.sse_separate, ROWS, 2 * LEVELS), 1e-9);
    wl_arena_free(a);
}

static void units_and_order_do_not_matter(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct campaign c = { { 0.8, 0.85, 0.9 }, 0.02, 0, 5 };
    struct row rows[ROWS], other[ROWS];
    make(rows, &c);
    for (size_t i = 0; i < ROWS; i++) {
        other[i] = rows[ROWS - 1 - i];
        other[i].time_s *= 1e3;
        other[i].workers *= 4;
    }
    const struct wl_factor_group *p = compare_rows(rows, ROWS, 0.05, a).groups;
    const struct wl_factor_group *q = compare_rows(other, ROWS, 0.05, a).groups;
    assert_int_equal(p->verdict, WL_FACTOR_DIFFERENT);
    assert_int_equal(q->verdict, WL_FACTOR_DIFFERENT);
    assert_near(q->tests->f, p->tests->f, 1e-7);
    assert_near(q->tests->pairs[2].difference, p->tests->pairs[2].difference, 1e-12);
    assert_near(q->tests->pairs[1].p_same, p->tests->pairs[1].p_same, 1e-9);
    assert_near(q->slowdowns[3].ratio.value, p->slowdowns[3].ratio.value, 1e-12);
    wl_arena_free(a);
}

/* With runs_needed runs and the observed scatter, two equal slopes are found equivalent in 80 % of cases. */
static void runs_needed_gives_the_power(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct campaign c = { { 0.8, 0.8, 0.8 }, 0.12, 0, 9 };
    struct row rows[ROWS];
    make(rows, &c);
    const struct wl_factor_group *g = compare_rows(rows, ROWS, 0.05, a).groups;
    assert_int_equal(g->verdict, WL_FACTOR_UNDECIDED);
    double sigma = g->over_runs.sigma, sxx = 0, n = g->runs_needed * COUNTS, df = LEVELS * (n - 2);
    for (int k = 0; k < COUNTS; k++) sxx += g->runs_needed * pow((k - 2.5) * log(2), 2);
    double se = sigma * sqrt(2 / sxx), reach = 0.05 / se - wl_t_quantile(0.95, df);
    assert_true(wl_t_cdf(reach, df) - wl_t_cdf(-reach, df) >= 0.8);
    wl_arena_free(a);
}

static void cap_is_compared_with_uncapped(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct campaign c = { { 0.8, 0.8, 0.8 }, 0.02, 0, 3 };
    struct row rows[ROWS];
    make(rows, &c);
    for (size_t i = ROWS / 3; i < ROWS; i++) rows[i].power_cap_w = 0; /* missing: no cap was set */
    const struct wl_factor_group *g = compare_rows(rows, ROWS, 0.05, a).groups;
    assert_int_equal(g->n_levels, 2);
    assert_string_equal(g->levels[g->base].value, "uncapped");
    const struct wl_factor_group *one = compare_rows(rows, ROWS / 3, 0.05, a).groups;
    assert_string_equal(one->refusal, "nothing to compare: power_cap_w has one value here, 100");
    wl_arena_free(a);
}

/* At one worker count no law can be fitted; the base is still the highest level, and uncapped is above any cap. */
static void base_is_highest_level_without_a_law(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct campaign c = { { 0.8, 0.8, 0.8 }, 0.02, 0, 3 };
    struct row rows[ROWS];
    make(rows, &c);
    for (size_t i = 0; i < ROWS; i++) rows[i].workers = 4;
    const struct wl_factor_group *g = compare_rows(rows, ROWS, 0.05, a).groups;
    assert_non_null(g->refusal);
    assert_int_equal(g->highest, LEVELS - 1);
    assert_int_equal(g->base, LEVELS - 1);
    for (size_t i = 0; i < ROWS; i++) rows[i].power_cap_w = i % 2 ? 0 : 100;
    g = compare_rows(rows, ROWS, 0.05, a).groups;
    assert_string_equal(g->levels[g->highest].value, "uncapped");
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_slopes_are_rarely_rejected),    cmocka_unit_test(equivalence_has_few_false_positives),
        cmocka_unit_test(aicc_counts_every_parameter),         cmocka_unit_test(units_and_order_do_not_matter),
        cmocka_unit_test(runs_needed_gives_the_power),         cmocka_unit_test(cap_is_compared_with_uncapped),
        cmocka_unit_test(base_is_highest_level_without_a_law),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
