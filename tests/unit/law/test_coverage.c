/* Does a 95 % interval of beta cover the truth 95 times in 100? Simulated campaigns with fixed seeds: 8 worker counts,
 * 3 runs each, 5 epochs per run; standard deviation 3 % between runs, 2 % between epochs and, in one test, 3 % between
 * worker counts. The error of a frequency over 2000 campaigns is 0.5 %. */
#include "table.h"

enum { COUNTS = 8, RUNS = 3, EPOCHS = 5, ROWS = COUNTS * RUNS * EPOCHS, CAMPAIGNS = 2000 };

static const double beta = 0.8;

static void simulate(struct row *rows, uint64_t campaign, double config_sd)
{
    static char *const labels[] = { "1", "2", "3" };
    for (uint64_t c = 0, i = 0; c < COUNTS; c++)
        for (uint64_t r = 0; r < RUNS; r++)
            for (uint64_t k = 0; k < EPOCHS; k++, i++) {
                double noise = config_sd * wl_random_normal(11, campaign, c) +
                               0.03 * wl_random_normal(12, campaign, c * RUNS + r) +
                               0.02 * wl_random_normal(13, campaign, i);
                rows[i] = (struct row) { .run = labels[r], .workers = (double)(1u << c), .epoch = (double)(k + 1) };
                rows[i].time_s = 100 * pow(rows[i].workers, -beta) * exp(noise);
            }
}

struct shares {
    double reported, run_means, config_means, pooled_epochs, cr2;
    double rejected; /* as a power law, which it is */
};

static bool covers(const struct wl_law_estimate *e) { return e->beta_lo <= beta && beta <= e->beta_hi; }

static struct shares coverage(double config_sd)
{
    struct shares s = { 0 };
    struct row rows[ROWS];
    for (uint64_t i = 0; i < CAMPAIGNS; i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        simulate(rows, i, config_sd);
        struct wl_law_result r = fit_rows(rows, ROWS, (struct wl_law_options) { .drop_epochs = 1 }, a);
        const struct wl_law_group *g = only_group(&r);
        s.reported += covers(g->law);
        s.run_means += covers(&g->estimates[WL_LAW_RUN_MEANS]);
        s.config_means += covers(&g->estimates[WL_LAW_CONFIG_MEANS]);
        s.pooled_epochs += covers(&g->estimates[WL_LAW_POOLED_EPOCHS]);
        s.cr2 += covers(&g->estimates[WL_LAW_CR2]);
        s.rejected += g->verdict == WL_LAW_REJECTED;
        wl_arena_free(a);
    }
    const double percent = 100.0 / CAMPAIGNS;
    s.reported *= percent, s.run_means *= percent, s.config_means *= percent;
    s.pooled_epochs *= percent, s.cr2 *= percent, s.rejected *= percent;
    print_message(
        "worker-count sd %.2f: reported %.1f %%, run means %.1f %%, worker-count means %.1f %%, pooled epochs "
        "%.1f %%, CR2 %.1f %%; rejected %.1f %%\n",
        config_sd, s.reported, s.run_means, s.config_means, s.pooled_epochs, s.cr2, s.rejected);
    return s;
}

static void interval_covers_beta_with_run_effects(void **state)
{
    (void)state;
    struct shares s = coverage(0);
    assert_true(s.run_means > 93.5 && s.run_means < 96.5);
    assert_true(s.config_means > 93.5 && s.config_means < 96.5);
    assert_true(s.reported > 93.5); /* the wider of two may cover more */
    assert_true(s.pooled_epochs < 75);
    assert_true(s.rejected < 2);
    assert_true(s.cr2 > 92 && s.cr2 < 97);
}

static void interval_covers_beta_with_worker_count_effects(void **state)
{
    (void)state;
    struct shares s = coverage(0.03);
    assert_true(s.reported > 93.5 && s.reported < 97);
    assert_true(s.config_means > 93.5 && s.config_means < 96.5);
    assert_true(s.run_means < 90);
    assert_true(s.rejected < 5);
    assert_true(s.cr2 > 92 && s.cr2 < 97);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(interval_covers_beta_with_run_effects),
                                        cmocka_unit_test(interval_covers_beta_with_worker_count_effects) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
