/* Tests of assumptions, series, bootstrap and the studentised range, against scipy, statsmodels and definitions. */
#include "check.h"

enum { MOST = 512 };

static size_t sample_of(const char *name, double *v, struct wl_arena *a)
{
    struct wl_csv csv;
    size_t n = 0;
    golden_open(&csv, "samples.csv", a);
    while (golden_next(&csv))
        if (wl_str_eq(csv.row[0], name)) {
            assert_true(n < MOST);
            v[n++] = golden_real(&csv, "value");
        }
    return n;
}

static void hold(const char *quantity, double got, double want_digits, struct wl_arena *a)
{
    agree(quantity, got, golden_value("inference_values.csv", quantity, a), want_digits);
}

static void hold_by_r(const char *quantity, double got, double want_digits, struct wl_arena *a)
{
    hold(quantity, got, want_digits, a);
    agree(quantity, got, golden_value("r_values.csv", quantity, a), want_digits);
}

static void normality_tests_match_scipy(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static const char *const names[] = { "three", "five", "nine", "twenty", "hundred" };
    double v[MOST];
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        size_t n = sample_of(names[i], v, a);
        struct wl_hypothesis_test w = wl_shapiro_wilk(v, n, a), square = wl_anderson_darling(v, n, a);
        hold_by_r(wl_strf(a, "shapiro %s w", names[i]), w.statistic, 9, a);
        hold_by_r(wl_strf(a, "shapiro %s p", names[i]), w.p, 7, a);
        if (n < 8) {
            assert_true(isnan(square.p));
            continue;
        }
        hold(wl_strf(a, "anderson %s a", names[i]), square.statistic, 10, a);
        hold(wl_strf(a, "anderson %s p", names[i]), square.p, 8, a);
    }
    const double same[] = { 2, 2, 2, 2, 2, 2, 2, 2 };
    assert_true(isnan(wl_shapiro_wilk(same, 8, a).p) && isnan(wl_anderson_darling(same, 8, a).p));
    assert_true(isnan(wl_shapiro_wilk(v, 2, a).p));
    wl_arena_free(a);
}

static void line_diagnostics_match_statsmodels(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct wl_ols o;
    double x[MOST], y[MOST];
    size_t n = golden_points("robust_data.csv", x, y, MOST, a);
    assert_int_equal(wl_ols_line(&o, y, x, n, a, &e), 0);
    struct wl_hypothesis_test spread = wl_breusch_pagan(&o, x, a), curve = wl_ramsey_reset(&o, y, x, a);
    hold_by_r("breusch_pagan", spread.statistic, 9, a);
    hold_by_r("breusch_pagan p", spread.p, 9, a);
    hold_by_r("reset", curve.statistic, 9, a);
    hold_by_r("reset p", curve.p, 9, a);
    assert_true(spread.df1 == 1 && curve.df1 == 2 && curve.df2 == (double)n - 4);
    double flat[] = { 1, 1, 1, 1 }, ramp[] = { 1, 2, 3, 4 };
    assert_int_equal(wl_ols_line(&o, flat, ramp, 4, a, &e), 0);
    assert_true(isnan(wl_breusch_pagan(&o, ramp, a).p) && isnan(wl_ramsey_reset(&o, flat, ramp, a).p));
    wl_arena_free(a);
}

static void vif_matches_statsmodels(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct wl_csv csv;
    struct wl_ols o;
    double x[3 * 30], y[30], vif[3];
    size_t n = 0;
    golden_open(&csv, "ols_data.csv", a);
    while (golden_next(&csv)) {
        if (!wl_str_eq(csv.row[0], "plane")) continue;
        assert_true(n < 30);
        for (size_t j = 0; j < 3; j++) x[n + j * 30] = golden_real(&csv, wl_strf(a, "x%zu", j + 1));
        y[n++] = golden_real(&csv, "y");
    }
    assert_int_equal(n, 30);
    const struct wl_ols_data data = { .n = n, .columns = 3, .y = y, .x = x, .intercept = true };
    assert_int_equal(wl_ols_fit(&o, &data, a, &e), 0);
    wl_ols_vif(&o, vif);
    for (size_t j = 0; j < 3; j++) hold(wl_strf(a, "vif %zu", j), vif[j], 11, a);
    wl_arena_free(a);
}

static void autocorrelation_matches_definition(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static const char *const names[] = { "series", "warm" };
    double v[MOST];
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        size_t n = sample_of(names[i], v, a);
        struct wl_autocorrelation d = wl_autocorrelation(v, n);
        hold(wl_strf(a, "dependence %s lag1", names[i]), d.lag1, 11, a);
        hold(wl_strf(a, "dependence %s tau", names[i]), d.tau, 11, a);
        hold(wl_strf(a, "dependence %s ess", names[i]), d.ess, 11, a);
        hold(wl_strf(a, "dependence %s se", names[i]), d.se, 11, a);
        hold(wl_strf(a, "dependence %s se_batches", names[i]), d.se_batches, 11, a);
        hold(wl_strf(a, "mser5 %s", names[i]), (double)wl_mser5(v, n), 15, a);
    }
    const double same[] = { 3, 3, 3, 3 };
    assert_true(isnan(wl_autocorrelation(same, 4).tau));
    assert_true(isnan(wl_autocorrelation(v, 1).se) && isnan(wl_autocorrelation(v, 0).se));
    assert_true(wl_mser5(v, 9) == 0 && wl_mser5(v, 0) == 0);
    wl_arena_free(a);
}

/* Two statistics of a sample: its coefficient of variation, and one that only the whole sample defines. */
static void variation(const size_t *index, size_t n, double *out, void *data)
{
    const double *v = data;
    double picked[MOST] = { 0 };
    bool whole = true;
    for (size_t i = 0; i < n; i++) picked[i] = v[index[i]], whole &= index[i] == i;
    out[0] = wl_sd(picked, n) / wl_mean(picked, n);
    out[1] = whole ? 3 : NAN;
}

static void bootstrap_matches_definition(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    double v[MOST];
    struct wl_bootstrap_interval got[2];
    struct wl_bootstrap b = { .k = 2, .draws = 999, .key = 5, .statistic = variation, .data = v };
    b.n = sample_of("hundred", v, a);
    assert_int_equal(wl_bootstrap(&b, 0.95, got, a, &e), 0);
    hold("bootstrap value", got[0].value, 12, a);
    hold("bootstrap se", got[0].se, 11, a);
    hold("bootstrap lo", got[0].lo, 11, a);
    hold("bootstrap hi", got[0].hi, 11, a);
    hold("bootstrap bca_lo", got[0].bca_lo, 9, a);
    hold("bootstrap bca_hi", got[0].bca_hi, 9, a);
    assert_true(got[0].draws == 999);
    assert_true(got[1].value == 3 && got[1].draws == 0 && isnan(got[1].lo) && isnan(got[1].bca_hi));
    b.n = 1;
    assert_int_equal(wl_bootstrap(&b, 0.95, got, a, &e), WL_EINVAL);
    assert_string_equal(e.msg, "a bootstrap needs at least two cases and 20 draws, got 1 and 999");
    wl_arena_free(a);
}

static void studentised_range_matches_scipy(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_csv csv;
    size_t rows = 0;
    golden_open(&csv, "range.csv", a);
    for (; golden_next(&csv); rows++) {
        double q = golden_real(&csv, "q"), k = golden_real(&csv, "k"), df = golden_real(&csv, "df");
        if (isnan(df)) df = INFINITY;
        agree(wl_strf(a, "range_sf(%g; %g, %g)", q, k, df), wl_studentised_range_sf(q, k, df),
              golden_real(&csv, "value"), 12);
    }
    assert_true(rows > 10);
    for (double df = 1; df < 1e5; df *= 3) /* of two means it is Student's t */
        for (double t = 0.01; t < 30; t *= 2)
            agree(wl_strf(a, "two means, t = %g, df = %g", t, df), wl_studentised_range_sf(t * M_SQRT2, 2, df),
                  wl_t_two_sided(t, df), 12);
    assert_true(wl_studentised_range_sf(0, 3, 4) == 1 && wl_studentised_range_sf(INFINITY, 3, 4) == 0 &&
                isnan(wl_studentised_range_sf(1, 1, 4)));
    wl_arena_free(a);
}

/* Many at once: the same as one by one, down to the underflow of the tail and with ties. */
static void many_studentised_ranges_are_those_of_one_by_one(void **state)
{
    (void)state;
    enum { MANY = 300 };
    static const struct {
        double k, df, largest;
    } cases[] = { { 3, 4, 40 }, { 100, 198, 12 }, { 20, INFINITY, 60 }, { 9, 2.5, 1e4 } };
    struct wl_arena *a = wl_arena_new(NULL);
    double q[MANY], p[MANY];
    for (size_t c = 0; c < WL_COUNT(cases); c++) {
        for (size_t i = 0; i < MANY; i++) q[i] = cases[c].largest * pow((double)(i * 7 % MANY) / MANY, 3);
        q[5] = q[6] = 0, q[7] = NAN, q[8] = INFINITY, q[9] = q[10];
        wl_studentised_range_sf_all(q, MANY, cases[c].k, cases[c].df, p, a);
        assert_true(p[5] == 1 && p[6] == 1 && isnan(p[7]) && p[8] == 0 && p[9] == p[10]);
        for (size_t i = 0; i < MANY; i += 3) {
            const double one = wl_studentised_range_sf(q[i], cases[c].k, cases[c].df);
            if (!isnan(q[i]) && one > 1e-300)
                agree(wl_strf(a, "range_sf(%g; %g, %g)", q[i], cases[c].k, cases[c].df), p[i], one, 9);
            else if (!isnan(q[i]))
                assert_true(p[i] <= 1e-299);
        }
    }
    wl_arena_free(a);
}

static void benjamini_hochberg_matches_statsmodels(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const double p[] = { 0.04, 0.01, 0.03, NAN, 0.9, 0.012 };
    double got[6];
    wl_benjamini_hochberg(p, 6, got, a);
    assert_true(isnan(got[3]));
    for (size_t i = 0; i < 6; i++)
        if (i != 3) hold(wl_strf(a, "bh %zu", i - (i > 3)), got[i], 14, a);
    wl_arena_free(a);
}

/* By hand (Holm 1979): the smallest of five p values times five, the next times four, never decreasing. */
static void holm_matches_hand_computation(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const double p[] = { 0.01, 0.04, 0.03, NAN, 0.005, 0.9 }, want[] = { 0.04, 0.09, 0.09, NAN, 0.025, 0.9 };
    double got[6];
    wl_holm(p, 6, got, a);
    assert_true(isnan(got[3]));
    for (size_t i = 0; i < 6; i++)
        if (i != 3) assert_float_equal(got[i], want[i], 1e-15);
    wl_arena_free(a);
}

/* Of log-normal errors the interval is exact: the standard errors of the logarithms add as squares. Of intervals with
 * unequal sides, each end of the ratio is made of the sides that lead there. */
static void the_interval_of_a_ratio_is_that_of_its_parts(void **state)
{
    (void)state;
    const double z = 1.959963984540054, sa = 0.02, sb = 0.05;
    const struct wl_estimate a = { 300, 300 * exp(-z * sa), 300 * exp(z * sa) },
                             b = { 200, 200 * exp(-z * sb), 200 * exp(z * sb) };
    const struct wl_estimate r = wl_ratio_interval(&a, &b);
    agree("ratio", r.value, 1.5, 14);
    agree("lower end", r.lo, 1.5 * exp(-z * sqrt(sa * sa + sb * sb)), 14);
    agree("upper end", r.hi, 1.5 * exp(z * sqrt(sa * sa + sb * sb)), 14);
    const struct wl_estimate above = { 10, 10, 20 }, below = { 10, 5, 10 }, exact = { 10, 10, 10 };
    const struct wl_estimate up = wl_ratio_interval(&above, &below), down = wl_ratio_interval(&exact, &above);
    agree("nothing below", up.lo, 1, 14);
    agree("both above", up.hi, exp(sqrt(2) * log(2)), 14);
    agree("below, of what is divided by", down.lo, 0.5, 14);
    agree("nothing above", down.hi, 1, 14);
    const struct wl_estimate open = { 10, NAN, NAN }, negative = { 10, -1, 20 }, none = { NAN, NAN, NAN },
                             zero = { 0, 0, 1 };
    assert_true(isnan(wl_ratio_interval(&open, &a).lo) && isnan(wl_ratio_interval(&a, &open).hi));
    assert_true(isnan(wl_ratio_interval(&a, &negative).lo) && !isnan(wl_ratio_interval(&a, &negative).value));
    assert_true(isnan(wl_ratio_interval(&none, &a).value) && isnan(wl_ratio_interval(&a, &zero).value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normality_tests_match_scipy),
        cmocka_unit_test(line_diagnostics_match_statsmodels),
        cmocka_unit_test(vif_matches_statsmodels),
        cmocka_unit_test(autocorrelation_matches_definition),
        cmocka_unit_test(bootstrap_matches_definition),

        cmocka_unit_test(studentised_range_matches_scipy),
        cmocka_unit_test(many_studentised_ranges_are_those_of_one_by_one),
        cmocka_unit_test(benjamini_hochberg_matches_statsmodels),
        cmocka_unit_test(holm_matches_hand_computation),
        cmocka_unit_test(the_interval_of_a_ratio_is_that_of_its_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
