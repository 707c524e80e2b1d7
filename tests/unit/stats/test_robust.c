/* Robust errors and lines: heteroscedastic, clustered and outlying data, against statsmodels, scipy and definitions. */
#include "check.h"

enum { MOST = 32 };

struct campaign {
    size_t n, clusters, cluster[MOST];
    double x[MOST], y[MOST], weight[MOST];
};

static void read_campaign(struct campaign *c, struct wl_arena *a)
{
    struct wl_csv csv;
    *c = (struct campaign) { 0 };
    golden_open(&csv, "robust_data.csv", a);
    for (; golden_next(&csv); c->n++) {
        assert_true(c->n < MOST);
        c->x[c->n] = golden_real(&csv, "x");
        c->y[c->n] = golden_real(&csv, "y");
        c->weight[c->n] = golden_real(&csv, "weight");
        c->cluster[c->n] = (size_t)golden_real(&csv, "cluster");
        if (c->cluster[c->n] >= c->clusters) c->clusters = c->cluster[c->n] + 1;
    }
}

static void hold(const char *quantity, double got, double want_digits, struct wl_arena *a)
{
    agree(quantity, got, golden_value("robust_values.csv", quantity, a), want_digits);
}

/* Against statsmodels (or a definition) and against R. */
static void hold_twice(const char *quantity, double got, double want_digits, struct wl_arena *a)
{
    hold(quantity, got, want_digits, a);
    agree(quantity, got, golden_value("r_values.csv", quantity, a), want_digits);
}

static void hc_errors_match_statsmodels(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct campaign c;
    struct wl_ols o;
    read_campaign(&c, a);
    assert_int_equal(wl_ols_line(&o, c.y, c.x, c.n, a, &e), 0);
    for (int kind = WL_HC0; kind <= WL_HC3; kind++) {
        double se[2];
        wl_ols_hc(&o, c.x, kind, se);
        for (int j = 0; j < 2; j++) hold_twice(wl_strf(a, "hc%d_se%d", kind, j), se[j], 9, a);
    }
    wl_arena_free(a);
}

static void cluster_errors_match_statsmodels(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct campaign c;
    struct wl_ols o;
    double se[2], df[2];
    read_campaign(&c, a);
    assert_int_equal(wl_ols_line(&o, c.y, c.x, c.n, a, &e), 0);
    assert_int_equal(wl_ols_cluster(&o, c.x, &(struct wl_clusters) { c.cluster, c.clusters, WL_CR1 }, se, df, a, &e),
                     0);
    for (int j = 0; j < 2; j++) hold_twice(wl_strf(a, "cr1_se%d", j), se[j], 9, a);
    assert_true(df[1] == 5);
    assert_int_equal(wl_ols_cluster(&o, c.x, &(struct wl_clusters) { c.cluster, c.clusters, WL_CR2 }, se, df, a, &e),
                     0);
    for (int j = 0; j < 2; j++) {
        hold_twice(wl_strf(a, "cr2_se%d", j), se[j], 9, a);
        hold_twice(wl_strf(a, "cr2_df%d", j), df[j], 8, a);
    }
    assert_int_equal(wl_ols_cluster(&o, c.x, &(struct wl_clusters) { c.cluster, 1, WL_CR2 }, se, df, a, &e), WL_EINVAL);
    wl_arena_free(a);
}

/* Every row its own cluster: CR2 is HC2. */
static void cr2_of_single_rows_is_hc2(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct campaign c;
    struct wl_ols o;
    double se[2], df[2], hc[2];
    size_t own[MOST];
    read_campaign(&c, a);
    for (size_t i = 0; i < c.n; i++) own[i] = i;
    assert_int_equal(wl_ols_line(&o, c.y, c.x, c.n, a, &e), 0);
    assert_int_equal(wl_ols_cluster(&o, c.x, &(struct wl_clusters) { own, c.n, WL_CR2 }, se, df, a, &e), 0);
    wl_ols_hc(&o, c.x, WL_HC2, hc);
    agree("intercept", se[0], hc[0], 12);
    agree("slope", se[1], hc[1], 12);
    wl_arena_free(a);
}

static void weighted_line_matches_statsmodels(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct campaign c;
    struct wl_ols o, same;
    read_campaign(&c, a);
    const struct wl_ols_data data = { c.n, 1, c.y, c.x, c.weight, .intercept = true };
    assert_int_equal(wl_ols_fit(&o, &data, a, &e), 0);
    for (size_t j = 0; j < 2; j++) {
        hold(wl_strf(a, "wls_b%zu", j), o.b[j], 12, a);
        hold(wl_strf(a, "wls_se%zu", j), o.se[j], 10, a);
    }
    hold("wls_r2", o.r2, 10, a);
    hold("wls_sigma", o.sigma, 10, a);
    for (size_t i = 0; i < c.n; i++) c.weight[i] *= 1000;
    assert_int_equal(wl_ols_fit(&same, &data, a, &e), 0);
    agree("weights up to a factor", same.se[1], o.se[1], 12);
    agree("its prediction", wl_ols_predict(&same, c.x, 0.95).mean_lo, wl_ols_predict(&o, c.x, 0.95).mean_lo, 12);
    c.weight[3] = 0;
    assert_int_equal(wl_ols_fit(&o, &data, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "weight of row 4"));
    wl_arena_free(a);
}

static void robust_lines_match_scipy_and_statsmodels(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct campaign c;
    read_campaign(&c, a);
    struct wl_robust_line sen = wl_theil_sen(c.x, c.y, c.n, 0.95, a), huber;
    hold("sen_b0", sen.b0, 13, a);
    hold("sen_b1", sen.b1, 13, a);
    hold("sen_lo", sen.lo, 13, a);
    hold("sen_hi", sen.hi, 13, a);
    assert_int_equal(wl_huber(c.x, c.y, c.n, 0.95, &huber, a, &e), 0);
    hold("huber_b0", huber.b0, 8, a);
    hold("huber_b1", huber.b1, 8, a);
    hold("huber_se1", huber.se, 8, a);
    hold("huber_scale", huber.scale, 8, a);
    wl_arena_free(a);
}

static void undefined_robust_lines_are_nan(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct wl_robust_line out;
    const double x[] = { 1, 2, 3, 4 }, same[] = { 2, 2, 2, 2 }, on[] = { 1, 2, 3, 9 };
    assert_true(isnan(wl_theil_sen(same, x, 4, 0.95, a).b1) && isnan(wl_theil_sen(x, x, 1, 0.95, a).b1));
    agree("two points", wl_theil_sen(x, on, 2, 0.95, a).b1, 1, 15);
    assert_int_equal(wl_huber(x, same, 4, 0.95, &out, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "its scale is 0"));
    assert_int_equal(wl_huber(x, on, 2, 0.95, &out, a, &e), WL_EINVAL);
    assert_int_equal(wl_huber(same, on, 4, 0.95, &out, a, &e), WL_EINVAL);
    wl_arena_free(a);
}

/* Holm's own steps: smallest times n, next times n - 1, never falling, at most 1. */
static void holm_steps_match_definition(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const double p[] = { 0.04, 0.01, NAN, 0.03, 0.9 }, want[] = { 0.09, 0.04, NAN, 0.09, 0.9 };
    double got[5];
    wl_holm(p, 5, got, a);
    for (int i = 0; i < 5; i++) {
        if (isnan(want[i]))
            assert_true(isnan(got[i]));
        else
            agree("adjusted p", got[i], want[i], 14);
    }
    wl_arena_free(a);
}

static double median_of_all_slopes(const double *x, const double *y, size_t n, struct wl_arena *a)
{
    double *slopes = wl_new_array(a, double, n *n / 2);
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (x[i] != x[j]) slopes[m++] = (y[i] - y[j]) / (x[i] - x[j]);
    return wl_median(slopes, m, a);
}

/* The search for a rank among the slopes finds the very slope that sorting all of them does; also among ties. */
static void theil_sen_is_the_median_of_all_slopes(void **state)
{
    enum { N = 900 };
    (void)state;
    for (int rounding = 0; rounding < 3; rounding++) {
        struct wl_arena *a = wl_arena_new(NULL);
        double x[N], y[N];
        for (size_t i = 0; i < N; i++) {
            x[i] = log((double)(1 << i % 7));
            y[i] = 3 - 0.9 * x[i] + 0.3 * wl_random_normal(5, 0, i);
            if (rounding) y[i] = rounding == 1 ? rint(4 * y[i]) / 4 : 3;
        }
        struct wl_robust_line line = wl_theil_sen(x, y, N, 0.95, a);
        double want = median_of_all_slopes(x, y, N, a);
        if (!(fabs(line.b1 - want) <= 1e-14)) fail_msg("%.17g is not %.17g", line.b1, want);
        assert_true(line.lo <= line.b1 && line.b1 <= line.hi);
        assert_true(rounding == 2 ? line.lo == line.hi : line.lo < line.hi);
        wl_arena_free(a);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void medians_are_those_of_sorted_values(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t n = 1; n < 200; n++) {
        double v[200], sorted[200];
        for (size_t i = 0; i < n; i++) sorted[i] = v[i] = rint((double)(n % 3 + 1) * wl_random_normal(7, n, i));
        qsort(sorted, n, sizeof *sorted, by_value);
        assert_true(wl_median(v, n, a) == (sorted[(n - 1) / 2] + sorted[n / 2]) / 2);
    }
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hc_errors_match_statsmodels),
        cmocka_unit_test(cluster_errors_match_statsmodels),
        cmocka_unit_test(cr2_of_single_rows_is_hc2),
        cmocka_unit_test(weighted_line_matches_statsmodels),
        cmocka_unit_test(robust_lines_match_scipy_and_statsmodels),
        cmocka_unit_test(undefined_robust_lines_are_nan),
        cmocka_unit_test(holm_steps_match_definition),
        cmocka_unit_test(theil_sen_is_the_median_of_all_slopes),
        cmocka_unit_test(medians_are_those_of_sorted_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
