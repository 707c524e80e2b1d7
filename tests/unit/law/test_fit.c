/* Estimates: known exponents, invariances, values computed by hand, the choice of the wider interval. */
#include "table.h"

enum { MOST = 4096 };

/* `runs` runs at each worker count 1, 2, 4 ... of t = alpha N^-beta exp(noise), `epochs` epochs each, the first one
 * slower. */
static size_t make(struct row *rows, double alpha, double beta, int counts, int repeats, int epochs, double run_sd)
{
    size_t n = 0;
    static char labels[MOST][12];
    for (int c = 0; c < counts; c++)
        for (int r = 0; r < repeats; r++)
            for (int k = 1; k <= epochs; k++) {
                double noise = run_sd * wl_random_normal(7, 0, (uint64_t)(c * 100 + r));
                assert_true(n < MOST);
                snprintf(labels[n], sizeof labels[n], "%d", r + 1);
                rows[n] =
                    (struct row) { .workload = "net", .run = labels[n], .workers = 1 << c, .epoch = k, .samples = 640 };
                rows[n].time_s = alpha * pow(rows[n].workers, -beta) * exp(noise) * (k == 1 && epochs > 1 ? 3 : 1);
                rows[n].energy_j = 50 * rows[n].time_s * rows[n].workers;
                n++;
            }
    return n;
}

static const struct wl_law_options usual = { .drop_epochs = 1 };

static void finds_a_known_exponent(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static struct row rows[MOST];
    size_t n = make(rows, 12.5, 0.87, 5, 3, 4, 0);
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    const struct wl_law_group *g = only_group(&r);
    assert_near(g->law->alpha, 12.5, 1e-12);
    assert_near(g->law->beta, 0.87, 1e-13);
    assert_near(g->law->r2, 1, 1e-12);
    assert_int_equal(g->n_runs, 15);
    assert_int_equal(g->n_configs, 5);
    assert_int_equal(g->counts.first_epochs, 15);
    assert_int_equal(g->counts.used, 45);
    assert_string_equal(g->title, "net");
    assert_int_equal(g->scaling, WL_SCALING_STRONG);
    assert_note(g, "computed, not measured");
    assert_near(g->configs[4].speedup.value, pow(16, 0.87), 1e-9);
    assert_near(g->configs[4].efficiency, pow(16, -0.13), 1e-12);
    assert_near(g->configs[2].energy_ratio.value, pow(4, 0.13), 1e-12);
    wl_arena_free(a);
}

/* Other units of time and of workers leave exponent, error, R2 and p alone. */
static void rescaling_keeps_the_slope(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static struct row rows[MOST];
    size_t n = make(rows, 12.5, 0.6, 5, 3, 2, 0.05);
    struct wl_law_result before = fit_rows(rows, n, usual, a);
    for (size_t i = 0; i < n; i++) rows[i].time_s *= 1e6, rows[i].workers *= 8;
    struct wl_law_result after = fit_rows(rows, n, usual, a);
    const struct wl_law_estimate *p = before.groups[0].law, *q = after.groups[0].law;
    assert_near(q->beta, p->beta, 1e-12);
    assert_near(q->beta_se, p->beta_se, 1e-12);
    assert_near(q->beta_lo, p->beta_lo, 1e-11);
    assert_near(q->r2, p->r2, 1e-12);
    assert_near(q->alpha, p->alpha * 1e6 * pow(8, p->beta), 1e-3);
    wl_arena_free(a);
}

static void order_of_rows_does_not_matter(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static struct row rows[MOST], reversed[MOST];
    size_t n = make(rows, 3, 0.7, 4, 3, 5, 0.05);
    for (size_t i = 0; i < n; i++) reversed[i] = rows[n - 1 - i];
    struct wl_law_result p = fit_rows(rows, n, usual, a), q = fit_rows(reversed, n, usual, a);
    assert_near(q.groups[0].law->beta, p.groups[0].law->beta, 1e-13);
    assert_near(q.groups[0].law->beta_se, p.groups[0].law->beta_se, 1e-13);
    assert_int_equal(q.groups[0].counts.first_epochs, p.groups[0].counts.first_epochs);
    wl_arena_free(a);
}

/* More epochs of the same runs do not add evidence. */
static void epochs_do_not_add_degrees_of_freedom(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static struct row rows[MOST];
    size_t n = make(rows, 3, 0.7, 4, 3, 2, 0.05);
    struct wl_law_result few = fit_rows(rows, n, usual, a);
    n = make(rows, 3, 0.7, 4, 3, 40, 0.05);
    struct wl_law_result many = fit_rows(rows, n, usual, a);
    assert_true(many.groups[0].estimates[WL_LAW_RUN_MEANS].df == 10);
    assert_near(many.groups[0].estimates[WL_LAW_RUN_MEANS].beta_se, few.groups[0].estimates[WL_LAW_RUN_MEANS].beta_se,
                1e-12);
    wl_arena_free(a);
}

/* Three runs at 1, 2, 4 workers with ln t = 0, -1, -1 (in units of ln 2): slope -1/2, SSE = 1/6 (ln 2)^2. */
static void matches_values_computed_by_hand(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct row rows[] = { { .workers = 1, .run = "1", .time_s = 1 },
                                { .workers = 2, .run = "1", .time_s = 0.5 },
                                { .workers = 4, .run = "1", .time_s = 0.5 } };
    struct wl_law_result r = fit_rows(rows, 3, usual, a);
    const struct wl_law_group *g = only_group(&r);
    assert_string_equal(g->title, "all runs");
    assert_near(g->law->beta, 0.5, 1e-14);
    assert_near(g->law->sigma, sqrt(1.0 / 6) * log(2), 1e-14);
    assert_near(g->law->beta_se, sqrt(1.0 / 12), 1e-14);
    double half = tan(M_PI * 0.475) * sqrt(1.0 / 12); /* t(1) is Cauchy */
    assert_near(g->law->beta_hi, 0.5 + half, 1e-11);
    assert_near(g->law->r2, 0.75, 1e-14);
    assert_note(g, "one run per worker count");
    assert_note(g, "3 worker counts over a factor of 4");
    wl_arena_free(a);
}

/* All runs of a worker count shift together: the interval over their means is the wider one and is reported. */
static void reports_the_wider_interval(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static struct row rows[MOST];
    size_t n = make(rows, 3, 0.7, 6, 4, 1, 0.001);
    for (size_t i = 0; i < n; i++) rows[i].time_s *= rows[i].workers == 2 || rows[i].workers == 16 ? 1.2 : 1;
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    const struct wl_law_group *g = only_group(&r);
    assert_ptr_equal(g->law, &g->estimates[WL_LAW_CONFIG_MEANS]);
    assert_true(g->estimates[WL_LAW_CONFIG_MEANS].df == 4 && g->estimates[WL_LAW_RUN_MEANS].df == 22);
    assert_true(g->estimates[WL_LAW_CONFIG_MEANS].beta_hi - g->estimates[WL_LAW_CONFIG_MEANS].beta_lo >
                g->estimates[WL_LAW_RUN_MEANS].beta_hi - g->estimates[WL_LAW_RUN_MEANS].beta_lo);
    assert_near(g->estimates[WL_LAW_CONFIG_MEANS].beta, g->estimates[WL_LAW_RUN_MEANS].beta,
                1e-12); /* balanced: the same line */
    assert_true(g->lack_of_fit.p < 1e-10 && g->lack_of_fit.df1 == 4 && g->lack_of_fit.df2 == 18);
    wl_arena_free(a);
}

static void curve_interval_is_within_run_interval(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static struct row rows[MOST];
    size_t n = make(rows, 3, 0.7, 4, 3, 1, 0.05);
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    const struct wl_law_group *g = only_group(&r);
    const struct wl_law_point *curve = wl_law_curve(g, 5, a);
    assert_near(curve[0].workers, 1, 1e-15);
    assert_near(curve[4].workers, 8, 1e-12);
    assert_near(curve[0].value, g->law->alpha, 1e-12);
    assert_near(curve[0].curve_lo, g->law->alpha_lo, 1e-12);
    for (int i = 0; i < 5; i++) {
        assert_true(curve[i].run_lo < curve[i].curve_lo && curve[i].curve_lo < curve[i].value);
        assert_true(curve[i].run_hi > curve[i].curve_hi && curve[i].curve_hi > curve[i].value);
    }
    struct wl_law_point far = wl_law_at(g, 64);
    assert_true(far.curve_hi / far.curve_lo > curve[4].curve_hi / curve[4].curve_lo);
    assert_true(isnan(wl_law_at(g, 0).value));
    wl_arena_free(a);
}

/* Weak scaling: speed-up and energy count work, not epochs. */
static void weak_scaling_counts_samples(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct row rows[] = {
        { .workers = 1, .run = "1", .time_s = 10, .energy_j = 100, .samples = 500 },
        { .workers = 4, .run = "1", .time_s = 12.5, .energy_j = 500, .samples = 2000 },
    };
    struct wl_law_result r = fit_rows(rows, 2, usual, a);
    const struct wl_law_group *g = only_group(&r);
    assert_int_equal(g->scaling, WL_SCALING_WEAK);
    assert_near(g->configs[1].speedup.value, 3.2, 1e-12);
    assert_near(g->configs[1].efficiency, 0.8, 1e-12);
    assert_near(g->configs[1].energy_ratio.value, 1.25, 1e-12);
    assert_true(isnan(g->configs[1].speedup.lo) && g->configs[0].speedup.value == 1);
    wl_arena_free(a);
}

static void energy_can_be_the_response(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static struct row rows[MOST];
    size_t n = make(rows, 3, 0.7, 4, 2, 3, 0);
    struct wl_law_options options = { .response = WL_LAW_ENERGY, .drop_epochs = 1 };
    struct wl_law_result r = fit_rows(rows, n, options, a);
    assert_near(only_group(&r)->law->beta, -0.3, 1e-12);
    assert_near(r.groups[0].law->alpha, 150, 1e-9);
    wl_arena_free(a);
}

/* ln t = 4 - 0.9 x + 0.05 x^2: curvature and local exponents. */
static void curvature_is_detected(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static struct row rows[MOST];
    size_t n = make(rows, 1, 0, 6, 3, 1, 1e-4);
    for (size_t i = 0; i < n; i++) {
        double x = log(rows[i].workers);
        rows[i].time_s *= exp(4 - 0.9 * x + 0.05 * x * x);
    }
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    const struct wl_law_group *g = only_group(&r);
    assert_near(g->quadratic.q, 0.05, 1e-3);
    assert_true(g->quadratic.p < 1e-6 && g->quadratic.df == 3);
    assert_near(g->configs[0].local_beta, 0.9, 2e-3);
    assert_near(g->configs[5].local_beta, 0.9 - 0.1 * log(32), 2e-3);
    assert_true(g->configs[5].local_lo < g->configs[5].local_beta && g->configs[5].local_beta < g->configs[5].local_hi);
    assert_int_equal(g->verdict, WL_LAW_REJECTED);
    assert_near(g->equivalence.change, -0.1 * log(10), 2e-3);
    assert_non_null(strstr(g->verdict_reason, "beta falls by 0.23 per factor of 10"));
    wl_arena_free(a);
}

/* A power law up to 16 workers, 30 % above it from 32 on. */
static void departure_is_detected(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static struct row rows[MOST];
    size_t n = make(rows, 50, 0.9, 7, 3, 1, 0.005);
    for (size_t i = 0; i < n; i++) rows[i].time_s *= rows[i].workers >= 32 ? 1.3 : 1;
    struct wl_law_result r = fit_rows(rows, n, (struct wl_law_options) { .beyond = 16 }, a);
    const struct wl_law_group *g = only_group(&r);
    assert_int_equal(g->n_departures, 2);
    assert_true(g->departure_base == 16 && g->departures[0].workers == 32 && g->departures[1].workers == 64);
    assert_near(g->departures[0].excess_pct, 30, 3);
    assert_true(g->departures[0].p_holm < 1e-3 && g->departures[1].p_holm < 1e-3);
    r = fit_rows(rows, n, (struct wl_law_options) { .beyond = 2 }, a); /* two worker counts are too few for a base */
    assert_true(r.groups[0].n_departures == 0 && isnan(r.groups[0].departure_base));
    wl_arena_free(a);
}

static void power_law_is_supported(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static struct row rows[MOST];
    size_t n = make(rows, 50, 0.9, 8, 3, 1, 0.02);
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    assert_int_equal(only_group(&r)->verdict, WL_LAW_SUPPORTED);
    n = make(rows, 50, 0.9, 4, 3, 1, 0.02);
    r = fit_rows(rows, n, usual, a);
    assert_int_equal(only_group(&r)->verdict, WL_LAW_UNDECIDED);
    wl_arena_free(a);
}

/* One run twice as slow pulls the line but not the median of slopes. */
static void robust_estimates_resist_an_outlier(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static struct row rows[MOST];
    size_t n = make(rows, 50, 0.9, 6, 3, 1, 0.001);
    rows[n - 1].time_s *= 3;
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    const struct wl_law_group *g = only_group(&r);
    assert_near(g->estimates[WL_LAW_THEIL_SEN].beta, 0.9, 0.002);
    assert_near(g->estimates[WL_LAW_HUBER].beta, 0.9, 0.002);
    assert_true(g->estimates[WL_LAW_RUN_MEANS].beta < 0.87);
    assert_true(isnan(g->estimates[WL_LAW_WLS].beta) && g->estimates[WL_LAW_WLS].reason);
    for (size_t i = 0; i < WL_LAW_ESTIMATORS; i++)
        assert_true(!isnan(g->estimates[i].beta_se) || g->estimates[i].reason);
    wl_arena_free(a);
}

/* Seven runs with one worker, five with two and six with four: the weight of a mean is its number of runs over their
 * variance. */
static void weights_are_runs_over_variance(void **state)
{
    (void)state;
    static const double y[3][7] = { { 4.1, 4.0, 3.9, 4.2, 4.05, 3.95, 4.1 },
                                    { 3.5, 3.3, 3.4, 3.6, 3.2 },
                                    { 2.71, 2.7, 2.69, 2.72, 2.7, 2.68 } };
    static const size_t runs[3] = { 7, 5, 6 };
    static const char *const labels[] = { "1", "2", "3", "4", "5", "6", "7" };
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[18] = { 0 };
    double w[3], x[3], mean[3], sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    size_t n = 0;
    for (int k = 0; k < 3; k++) {
        for (size_t r = 0; r < runs[k]; r++)
            rows[n++] = (struct row) {
                .workload = "net", .run = labels[r], .workers = 1 << k, .samples = 640, .time_s = exp(y[k][r])
            };
        const double sd = wl_sd(y[k], runs[k]);
        w[k] = (double)runs[k] / (sd * sd);
        x[k] = log(1 << k);
        mean[k] = wl_mean(y[k], runs[k]);
        sw += w[k], sx += w[k] * x[k], sy += w[k] * mean[k];
    }
    for (int k = 0; k < 3; k++) {
        sxx += w[k] * (x[k] - sx / sw) * (x[k] - sx / sw);
        sxy += w[k] * (x[k] - sx / sw) * (mean[k] - sy / sw);
    }
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    assert_near(only_group(&r)->estimates[WL_LAW_WLS].beta, -sxy / sxx, 1e-12);
    wl_arena_free(a);
}

/* Sixty epochs per run, the first nineteen slower: one is excluded, and the note says that this is too few. */
static void long_warm_up_is_noted(void **state)
{
    enum { COUNTS = 3, RUNS = 2, EPOCHS = 60, ROWS = COUNTS * RUNS * EPOCHS };
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row *rows = wl_new_array(a, struct row, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        double epoch = (double)(i % EPOCHS) + 1, slow = epoch <= 19 ? 0.5 : 0;
        rows[i] = (struct row) { .workers = (double)(1 << i / (RUNS * EPOCHS)), .epoch = epoch };
        rows[i].run = i / EPOCHS % RUNS ? "2" : "1";
        rows[i].time_s = 100 / rows[i].workers * exp(slow + 0.01 * wl_random_normal(3, 0, i));
    }
    struct wl_law_result r = fit_rows(rows, ROWS, (struct wl_law_options) { .drop_epochs = 1 }, a);
    const struct wl_law_series *s = &only_group(&r)->series;
    assert_true(s->runs == 6 && s->runs_longer_warm_up == 6 && s->warm_up >= 20 && s->runs_unsettled == 6);
    assert_true(fabs(s->lag1) < 0.3 && s->ess_share > 0.5 && s->ess_share <= 1);
    assert_near(s->run_se, 0.01 / sqrt(40), 0.0005); /* 40 epochs of 1 % each, nearly independent */
    assert_near(s->run_se_batches, s->run_se, 0.0008);
    assert_note(only_group(&r),
                wl_strf(a, "MSER-5 would exclude more epochs than --drop-epochs in 6 of 6 runs, up to %zu epochs",
                        s->warm_up));
    assert_note(only_group(&r), "6 runs do not settle in the first quarter");
    r = fit_rows(rows, ROWS, (struct wl_law_options) { .drop_epochs = (int64_t)s->warm_up }, a);
    assert_true(only_group(&r)->series.runs_longer_warm_up == 0);
    wl_arena_free(a);
}

/* Scatter that grows with N, so that most residuals are small and a few large: the tests detect it, and the bootstrap
 * still gives an interval. */
static void unequal_scatter_is_noted(void **state)
{
    enum { ROWS = 60 };
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row *rows = wl_new_array(a, struct row, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        double workers = (double)(1 << i / 10), noise = wl_random_normal(9, 0, i);
        rows[i] = (struct row) { .workers = workers, .run = wl_strf(a, "%zu", i % 10) };
        rows[i].time_s = 100 / workers * exp(0.01 * workers * noise);
    }
    struct wl_law_result r = fit_rows(rows, ROWS, (struct wl_law_options) { .drop_epochs = 1, .bootstrap = true }, a);
    const struct wl_law_group *g = only_group(&r);
    const struct wl_law_estimate *draws = &g->estimates[WL_LAW_BOOTSTRAP];
    assert_true(g->residuals.shapiro_wilk.p < 1e-3 && g->residuals.breusch_pagan.p < 1e-3);
    assert_note(g, "residuals of runs are not normal");
    assert_note(g, "the scatter of runs changes with N");
    assert_true(draws->beta_lo < draws->beta && draws->beta < draws->beta_hi && draws->beta_se > 0);
    assert_true(g->quadratic.p_bh == g->quadratic.p); /* of one group there is nothing to adjust */
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_runs_over_variance),
        cmocka_unit_test(long_warm_up_is_noted),
        cmocka_unit_test(unequal_scatter_is_noted),
        cmocka_unit_test(finds_a_known_exponent),
        cmocka_unit_test(rescaling_keeps_the_slope),
        cmocka_unit_test(order_of_rows_does_not_matter),
        cmocka_unit_test(epochs_do_not_add_degrees_of_freedom),
        cmocka_unit_test(matches_values_computed_by_hand),
        cmocka_unit_test(reports_the_wider_interval),
        cmocka_unit_test(curve_interval_is_within_run_interval),
        cmocka_unit_test(weak_scaling_counts_samples),
        cmocka_unit_test(energy_can_be_the_response),
        cmocka_unit_test(curvature_is_detected),
        cmocka_unit_test(departure_is_detected),
        cmocka_unit_test(power_law_is_supported),
        cmocka_unit_test(robust_estimates_resist_an_outlier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
