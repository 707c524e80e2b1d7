/* Means, deviations and one-way analysis of variance against NIST's certified values: how many digits are kept. Where
 * the data have 13 leading digits in common, most of the loss is in storing them as doubles. */
#include "check.h"

enum { MOST = 18009 };

static size_t column_of(const char *file, const char *problem, double *treatment, double *value, struct wl_arena *a)
{
    struct wl_csv csv;
    size_t n = 0;
    golden_open(&csv, file, a);
    while (golden_next(&csv)) {
        if (!wl_str_eq(csv.row[0], problem)) continue;
        assert_true(n < MOST);
        if (treatment) treatment[n] = golden_real(&csv, "treatment");
        value[n++] = golden_real(&csv, "value");
    }
    return n;
}

static void moments_match_nist(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    double *v = wl_new_array(a, double, MOST);
    struct wl_csv csv;
    golden_open(&csv, "nist_univariate_values.csv", a);
    while (golden_next(&csv)) {
        char *name = wl_strdup(a, csv.row[0]);
        double mean = golden_real(&csv, "mean"), sd = golden_real(&csv, "sd"), lag1 = golden_real(&csv, "lag1");
        size_t n = column_of("nist_univariate_data.csv", name, NULL, v, a);
        double by_mean = digits(wl_mean(v, n), mean), by_sd = digits(wl_sd(v, n), sd);
        double by_lag = digits(wl_autocorrelation(v, n).lag1, lag1);
        print_message("%-9s mean %4.1f digits, deviation %4.1f, lag-1 autocorrelation %4.1f\n", name, by_mean, by_sd,
                      by_lag);
        if (by_mean < 14 || by_sd < 8 || by_lag < 8) fail_msg("%s keeps too few digits", name);
    }
    wl_arena_free(a);
}

/* The generated sets: nine treatments around different centres, in tenths, on a large common offset. */
static size_t made_up(const char *problem, size_t each, double *treatment, double *value)
{
    const double base = problem[5] <= '3' ? 10 : problem[5] <= '6' ? 1e7 : 1e13;
    for (size_t t = 0; t < 9; t++)
        for (size_t i = 0; i < each; i++) {
            double middle = t == 0 ? 4 : t % 2 ? 3 : 5, around = i == 0 ? 0 : i % 2 ? -1 : 1;
            treatment[t * each + i] = (double)t;
            value[t * each + i] = (base + middle + around) / 10;
        }
    return 9 * each;
}

/* F of equal treatments: the lack of fit of one mean, with treatments as the different x. */
static void one_way_anova_matches_nist(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    double *treatment = wl_new_array(a, double, MOST), *v = wl_new_array(a, double, MOST);
    struct wl_csv csv;
    golden_open(&csv, "nist_anova_values.csv", a);
    while (golden_next(&csv)) {
        char *name = wl_strdup(a, csv.row[0]);
        double f = golden_real(&csv, "f"), within = golden_real(&csv, "within");
        bool hidden = strncmp(name, "SmLs", 4) == 0;
        size_t each = (size_t)golden_real(&csv, "each");
        size_t n = hidden ? made_up(name, each, treatment, v) : column_of("nist_anova_data.csv", name, treatment, v, a);
        struct wl_ols mean;
        struct wl_err e;
        assert_int_equal(wl_ols_fit(&mean, &(struct wl_ols_data) { .n = n, .y = v, .intercept = true }, a, &e), 0);
        struct wl_lack_of_fit got = wl_lack_of_fit(treatment, v, n, mean.sse, 1, a);
        double by_f = digits(got.f, f), by_within = digits(got.ss_pure, within);
        print_message("%-7s F %4.1f digits, sum of squares within %4.1f\n", name, by_f, by_within);
        agree("degrees of freedom", got.df1, golden_real(&csv, "df1"), 16);
        agree("degrees of freedom", got.df2, golden_real(&csv, "df2"), 16);
        double want = hidden && name[5] >= '7' ? 2 : 8;
        if (fmin(by_f, by_within) < want) fail_msg("%s: %.1f digits, wanted %g", name, fmin(by_f, by_within), want);
    }
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(moments_match_nist),
                                        cmocka_unit_test(one_way_anova_matches_nist) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
