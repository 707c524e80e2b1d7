/* Distributions against 60-digit values, and quantiles against their own distributions. */
#include "check.h"

static double evaluate(const char *f, double x, double a, double b)
{
    if (wl_str_eq(f, "normal_cdf")) return wl_normal_cdf(x);
    if (wl_str_eq(f, "normal_sf")) return wl_normal_sf(x);
    if (wl_str_eq(f, "t_cdf")) return wl_t_cdf(x, a);
    if (wl_str_eq(f, "t_sf")) return wl_t_sf(x, a);
    if (wl_str_eq(f, "f_sf")) return wl_f_sf(x, a, b);
    if (wl_str_eq(f, "chi2_sf")) return wl_chi2_sf(x, a);
    fail_msg("no such function: %s", f);
    return NAN;
}

static void distributions_match_60_digit_values(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_csv csv;
    golden_open(&csv, "distributions.csv", a);
    int rows = 0;
    double worst = 16;
    for (; golden_next(&csv); rows++) {
        double x = golden_real(&csv, "x"), p1 = golden_real(&csv, "a"), p2 = golden_real(&csv, "b");
        double truth = golden_real(&csv, "value"), got = evaluate(csv.row[0], x, p1, p2);
        agree(wl_strf(a, "%s(%g; %g, %g)", csv.row[0], x, p1, p2), got, truth, 12);
        worst = fmin(worst, digits(got, truth));
    }
    print_message("%d values, the worst has %.1f digits\n", rows, worst);
    assert_true(rows > 550);
    wl_arena_free(a);
}

static const double tails[] = { 1e-280, 1e-100, 1e-30, 1e-12,  1e-5, 0.003, 0.025, 0.1,
                                0.24,   0.26,   0.4,   0.4999, 0.5,  0.6,   0.9,   0.999 };

enum which { NORMAL, T, F };

static double quantile(enum which w, double p, double df1, double df2)
{
    switch (w) {
    case NORMAL: return wl_normal_quantile(p);
    case T: return wl_t_quantile(p, df1);
    case F: return wl_f_quantile(p, df1, df2);
    }
    return NAN;
}

static double probability(enum which w, double x, double df1, double df2)
{
    switch (w) {
    case NORMAL: return wl_normal_cdf(x);
    case T: return wl_t_cdf(x, df1);
    case F: return wl_f_sf(1 / x, df2, df1); /* P(X <= x), without a difference from 1 */
    }
    return NAN;
}

/* The quantile brings the distribution back to p, or, where a last digit of x moves p by more than that, p lies
 * between the values 1e-12 to the left and to the right. Quantiles outside the range of a double are skipped. */
static void inverts(enum which w, double p, double df1, double df2)
{
    double x = quantile(w, p, df1, df2);
    if (!(fabs(x) > 1e-300 && fabs(x) < 1e300) || digits(probability(w, x, df1, df2), p) >= 12) return;
    double left = probability(w, x * (1 - 1e-12), df1, df2), right = probability(w, x * (1 + 1e-12), df1, df2);
    if (!(fmin(left, right) <= p && p <= fmax(left, right)))
        fail_msg("distribution %d (%g, %g): quantile of %g is %.17g, where p is %.17g", w, df1, df2, p, x,
                 probability(w, x, df1, df2));
}

static void quantiles_invert_the_distribution(void **state)
{
    (void)state;
    static const double dfs[] = { 0.5, 1, 2, 3, 7.5, 30, 400, 1e5 };
    for (size_t i = 0; i < WL_COUNT(tails); i++) {
        inverts(NORMAL, tails[i], 0, 0);
        for (size_t j = 0; j < WL_COUNT(dfs); j++) {
            inverts(T, tails[i], dfs[j], 0);
            inverts(T, 1 - tails[i], dfs[j], 0);
            for (size_t k = 0; k < WL_COUNT(dfs); k++) inverts(F, tails[i], dfs[j], dfs[k]);
        }
    }
}

/* Critical values as printed in tables. */
static void quantiles_match_textbook_tables(void **state)
{
    (void)state;
    agree("normal", wl_normal_quantile(0.975), 1.959963984540054, 15);
    agree("t, 1 df: Cauchy", wl_t_quantile(0.975, 1), tan(M_PI * 0.475), 13);
    agree("t, 2 df", wl_t_quantile(0.975, 2), 0.95 / sqrt(2 * 0.975 * 0.025), 14);
    agree("t, 10 df", wl_t_quantile(0.975, 10), 2.2281388519862747, 14);
    agree("chi2, 2 df: exponential", wl_chi2_sf(3, 2), exp(-1.5), 14);
    agree("F(1, 10) is t(10) squared", wl_f_quantile(0.95, 1, 10), pow(2.2281388519862747, 2), 13);
    agree("t at infinite df is normal", wl_t_quantile(0.9, INFINITY), wl_normal_quantile(0.9), 15);
    agree("t far out, 1 df", wl_t_two_sided(1e200, 1), 2 / (M_PI * 1e200), 12);
}

static void outside_the_domain_is_nan(void **state)
{
    (void)state;
    const double bad[] = { wl_t_cdf(1, 0),     wl_t_cdf(NAN, 3),           wl_t_quantile(1.1, 3), wl_t_quantile(0, 0),
                           wl_f_sf(1, -1, 2),  wl_f_quantile(-1e-9, 2, 2), wl_chi2_sf(1, -2),     wl_normal_quantile(2),
                           wl_normal_cdf(NAN), wl_f_sf(NAN, 1, 1) };
    for (size_t i = 0; i < WL_COUNT(bad); i++)
        if (!isnan(bad[i])) fail_msg("case %zu gives %g, not NAN", i, bad[i]);
    assert_true(wl_t_quantile(0, 3) == -INFINITY && wl_t_quantile(1, 3) == INFINITY && wl_t_quantile(0.5, 3) == 0);
    assert_true(wl_f_quantile(0, 2, 3) == 0 && wl_f_quantile(1, 2, 3) == INFINITY);
    assert_true(wl_f_sf(-1, 2, 3) == 1 && wl_chi2_sf(-1, 3) == 1 && wl_f_sf(INFINITY, 2, 3) == 0);
}

static void moments_match_definitions(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const double v[] = { 10000000.2, 10000000.1, 10000000.3, 10000000.1 };
    agree("mean", wl_mean(v, 4), 10000000.175, 15);
    agree("sd of small spread", wl_sd(v, 4), 0.0957427107756338, 8);
    agree("even median", wl_median(v, 4, a), 10000000.15, 15);
    agree("odd median", wl_median(v, 3, a), 10000000.2, 16);
    assert_true(isnan(wl_mean(v, 0)) && isnan(wl_sd(v, 1)) && isnan(wl_median(v, 0, a)));
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distributions_match_60_digit_values), cmocka_unit_test(quantiles_invert_the_distribution),
        cmocka_unit_test(quantiles_match_textbook_tables),     cmocka_unit_test(outside_the_domain_is_nan),
        cmocka_unit_test(moments_match_definitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
