/* Does a 95 % interval of beta cover the truth 95 times in 100? Simulated campaigns with fixed seeds: 8 worker counts,
 * 3 runs each, 5 epochs a run; run-to-run deviation 3 %, epochs 2 %, and where asked 3 % that hits a worker count as a
 * whole. The error of a frequency over 2000 campaigns is 0.5 %. */
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
    double reported, run_means, config_means, pooled_epochs;
};

static bool covers(double lo, double hi) { return lo <= beta && beta <= hi; }

/* What treating each epoch as independent would have given. */
static bool pooled_covers(const struct row *rows, struct wl_arena *a)
{
    double x[ROWS], y[ROWS];
    for (int i = 0; i < ROWS; i++) x[i] = log(rows[i].workers), y[i] = log(rows[i].time_s);
    struct wl_ols o;
    struct wl_err e;
    assert_int_equal(wl_ols_fit(&o, y, x, ROWS, 1, true, a, &e), 0);
    return fabs(-o.b[1] - beta) <= wl_ols_half_width(&o, 1, 0.95);
}

static struct shares coverage(double config_sd)
{
    struct shares s = { 0 };
    struct row rows[ROWS];
    for (uint64_t i = 0; i < CAMPAIGNS; i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        simulate(rows, i, config_sd);
        struct wl_law_result r = fit_rows(rows, ROWS, (struct wl_law_options) { .drop_epochs = 1 }, a);
        const struct wl_law_group *g = only_group(&r);
        s.reported += covers(g->law->beta_lo, g->law->beta_hi);
        s.run_means += covers(g->run_means.beta_lo, g->run_means.beta_hi);
        s.config_means += covers(g->config_means.beta_lo, g->config_means.beta_hi);
        s.pooled_epochs += pooled_covers(rows, a);
        wl_arena_free(a);
    }
    s.reported *= 100.0 / CAMPAIGNS, s.run_means *= 100.0 / CAMPAIGNS;
    s.config_means *= 100.0 / CAMPAIGNS, s.pooled_epochs *= 100.0 / CAMPAIGNS;
    print_message("worker-count sd %.2f: reported %.1f %%, run means %.1f %%, worker-count means %.1f %%, pooled "
                  "epochs %.1f %%\n",
                  config_sd, s.reported, s.run_means, s.config_means, s.pooled_epochs);
    return s;
}

static void with_run_effects(void **state)
{
    (void)state;
    struct shares s = coverage(0);
    assert_true(s.run_means > 93.5 && s.run_means < 96.5);
    assert_true(s.config_means > 93.5 && s.config_means < 96.5);
    assert_true(s.reported > 93.5); /* the wider of two may cover more */
    assert_true(s.pooled_epochs < 75);
}

static void with_effects_on_worker_counts(void **state)
{
    (void)state;
    struct shares s = coverage(0.03);
    assert_true(s.reported > 93.5 && s.reported < 97);
    assert_true(s.config_means > 93.5 && s.config_means < 96.5);
    assert_true(s.run_means < 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(with_run_effects),
                                        cmocka_unit_test(with_effects_on_worker_counts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
