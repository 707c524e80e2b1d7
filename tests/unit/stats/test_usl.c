/* The Universal Scalability Law against published values, and its bounds. */
#include "check.h"

#include "stats/stats.h"

/* SPEC SDM91 on a Sun SPARCcenter 2000 (Gunther 2007): alpha, beta, gamma of R's package usl 3.0, in its README. */
static void published_values(void **state)
{
    (void)state;
    static const double n[] = { 1, 18, 36, 72, 108, 144, 216 },
                        x[] = { 64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_usl u;
    struct wl_err e;
    assert_int_equal(wl_usl_fit(n, x, 7, &u, a, &e), 0);
    assert_true(fabs(u.sigma / 0.0277285 - 1) < 1e-5 && fabs(u.sigma_se / 0.0091217 - 1) < 1e-4);
    assert_true(fabs(u.kappa - 0.0001044) < 5e-8 && fabs(u.kappa_se - 0.0000199) < 5e-8);
    assert_true(fabs(u.gamma / 89.9952330 - 1) < 1e-5 && fabs(u.gamma_se / 14.2134894 - 1) < 1e-4);
    assert_true(fabs(u.peak_workers - 96.5196) < 1e-3 && fabs(u.peak - wl_usl_at(&u, 96.5196)) < 1e-3);
    assert_true(u.df == 4);
    wl_arena_free(a);
}

/* Without a fall of the throughput kappa would be negative: it is 0, and there is no peak. */
static void a_parameter_at_its_bound_is_zero(void **state)
{
    (void)state;
    double n[6], x[6];
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_usl u;
    struct wl_err e;
    for (int i = 0; i < 6; i++) {
        n[i] = 1 << i;
        x[i] = 20 * pow(n[i], 0.8);
    }
    assert_int_equal(wl_usl_fit(n, x, 6, &u, a, &e), 0);
    assert_true(u.kappa == 0 && isnan(u.kappa_se) && isnan(u.peak_workers));
    assert_true(u.sigma > 0.01 && u.sigma < 0.1 && u.sigma_se > 0 && u.df == 4);
    for (int i = 0; i < 6; i++) x[i] = 3 * pow(n[i], 1.1); /* better than linear: neither */
    assert_int_equal(wl_usl_fit(n, x, 6, &u, a, &e), 0);
    assert_true(u.kappa == 0 && u.sigma == 0 && u.gamma > 3 && u.df == 5);
    wl_arena_free(a);
}

/* Replicates in any order count as points: the same as a fit to all of them. */
static void replicates_are_points(void **state)
{
    (void)state;
    static const double n[] = { 1, 4, 16, 4, 1, 64, 16, 64 }, x[] = { 10, 35, 90, 36, 10.4, 120, 94, 118 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_usl u, moved;
    struct wl_err e;
    assert_int_equal(wl_usl_fit(n, x, 8, &u, a, &e), 0);
    assert_true(u.df == 5);
    double squares = 0;
    for (int i = 0; i < 8; i++) squares += pow(x[i] - wl_usl_at(&u, n[i]), 2);
    assert_true(fabs(u.residual_sd - sqrt(squares / 5)) < 1e-9);
    for (int sign = -1; sign <= 1; sign += 2) { /* no better one beside it */
        double other = 0;
        moved = u;
        moved.sigma *= 1 + 0.01 * sign;
        for (int i = 0; i < 8; i++) other += pow(x[i] - wl_usl_at(&moved, n[i]), 2);
        assert_true(other > squares);
    }
    wl_arena_free(a);
}

static void too_little_is_refused(void **state)
{
    (void)state;
    static const double n[] = { 1, 2, 2, 1, 4 }, x[] = { 10, 18, 19, 11, 30 }, bad[] = { 10, 18, 19, 11, 0 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_usl u;
    struct wl_err e;
    assert_int_equal(wl_usl_fit(n, x, 4, &u, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "three parameters need 4 at 3 worker counts"));
    assert_int_equal(wl_usl_fit(n, x, 5, &u, a, &e), 0);
    assert_int_equal(wl_usl_fit(n, bad, 5, &u, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "throughput 0 at 4 workers"));
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_values),
        cmocka_unit_test(a_parameter_at_its_bound_is_zero),
        cmocka_unit_test(replicates_are_points),
        cmocka_unit_test(too_little_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
