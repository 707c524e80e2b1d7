/* Intensities and prices over time: means by prefix sums against the sum over the steps, coverage, columns, units. */
#include "carbon/carbon.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { MINUTE = 60 };
static const int64_t SECOND = 1000000000;

/* Rows at these seconds. */
static struct wl_grid_steps steps_at(const double *t_s, const double *v, size_t n, struct wl_arena *a)
{
    struct wl_grid_steps s = { .v = wl_new_array(a, double, n), .t_ns = wl_new_array(a, int64_t, n), .n = n };
    for (size_t i = 0; i < n; i++) s.v[i] = v[i], s.t_ns[i] = (int64_t)t_s[i] * SECOND;
    s.usual_ns = s.t_ns[1] - s.t_ns[0];
    return s;
}

static void a_mean_is_weighted_by_time(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static const double t_s[] = { 0, 100, 200, 300 }, v[] = { 10, 40, -20, 70 };
    const struct wl_grid_steps s = steps_at(t_s, v, 4, a);
    double mean[4];
    wl_grid_steps_means(&s, 150, mean, a);
    assert_float_equal(mean[0], (10 * 100 + 40 * 50) / 150., 1e-12);
    assert_float_equal(mean[1], (40 * 100 - 20 * 50) / 150., 1e-12);
    assert_float_equal(mean[2], (-20 * 100 + 70 * 50) / 150., 1e-12);
    assert_true(isnan(mean[3])); /* the last row holds for 100 s */
    wl_grid_steps_means(&s, 0, mean, a);
    assert_float_equal(mean[3], 70, 0);
    wl_grid_steps_means(&s, 400, mean, a);
    assert_float_equal(mean[0], 25, 1e-12);
    wl_grid_steps_means(&s, 401, mean, a);
    assert_true(isnan(mean[0]));
    wl_grid_steps_means(&s, 1e300, mean, a); /* beyond any integer */
    assert_true(isnan(mean[0]) && isnan(wl_grid_steps_mean(&s, 0, 1e300)));
    assert_true(isnan(wl_grid_steps_mean(&s, -SECOND, 10)));
    wl_arena_free(a);
}

/* Random files with missing fields and gaps: every start, windows from nothing to more than the file. */
static void prefix_sums_match_the_sum_over_the_steps(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    enum { ROWS = 400 };
    size_t covered = 0, missing = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        double t_s[ROWS], v[ROWS], mean[ROWS];
        for (size_t i = 0; i < ROWS; i++) {
            const double u = wl_random_uniform(seed, 1, i);
            t_s[i] = i ? t_s[i - 1] + 5 * MINUTE * (i > 1 && u < .01 ? 3 : i > 1 && u < .05 ? 1.4 : 1) : 1.7e9;
            v[i] = wl_random_uniform(seed, 2, i) < .005 ? NAN : 600 * wl_random_uniform(seed, 3, i) - 100;
        }
        const struct wl_grid_steps s = steps_at(t_s, v, ROWS, a);
        for (size_t k = 0; k < 12; k++) {
            const double duration_s = k ? 7.3 * exp2((double)k + 2) : 0;
            wl_grid_steps_means(&s, duration_s, mean, a);
            for (size_t i = 0; i < ROWS; i++) {
                const double slow = wl_grid_steps_mean(&s, s.t_ns[i], duration_s);
                assert_true(isnan(slow) == isnan(mean[i]));
                if (isnan(slow)) {
                    missing++;
                    continue;
                }
                covered++;
                assert_float_equal(mean[i], slow, 1e-7);
            }
        }
    }
    assert_true(covered > 10000 && missing > 10000);
    wl_arena_free(a);
}

/* Five-minute rows of a year: each start once. Summed over the steps, a start of a month visits 8,640 rows. */
static void a_year_of_five_minutes_takes_no_time(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const size_t n = 365 * 288;
    double *t_s = wl_new_array(a, double, n), *v = wl_new_array(a, double, n), *mean = wl_new_array(a, double, n);
    for (size_t i = 0; i < n; i++) t_s[i] = 300. * (double)i, v[i] = (double)(i % 288);
    const struct wl_grid_steps s = steps_at(t_s, v, n, a);
    const int64_t begin_ns = wl_clock_process_cpu_ns();
    wl_grid_steps_means(&s, 30 * 86400., mean, a);
    const double spent_s = (double)(wl_clock_process_cpu_ns() - begin_ns) / 1e9;
    if (spent_s > .5) fail_msg("%zu starts took %.2f s of CPU time", n, spent_s);
    assert_float_equal(mean[n / 2], 287 / 2., 1e-9); /* whole days */
    wl_arena_free(a);
}

/* ---- prices ---- */

/* A file in memory. */
static const char *file_of(const char *text, struct wl_arena *a)
{
    const int fd = memfd_create("prices", 0);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    return wl_strf(a, "/proc/self/fd/%d", fd);
}

static void prices_are_per_kwh_in_the_currency_of_their_column(void **state)
{
    (void)state;
    static const struct {
        const char *column, *currency;
        double scale;
    } cases[] = {
        { "price_per_kwh", NULL, 1 },
        { "price_usd_per_kwh", "USD", 1 },
        { "Price (EUR/MWhe)", "EUR", 1e-3 },
        { "Day-ahead Price [EUR/MWh]", "EUR", 1e-3 },
        { "price_GBP_per_mwh", "GBP", 1e-3 },
        { "price_per_mwh_usd", "USD", 1e-3 },
        { "usd_price / kWh", "USD", 1 },
        { "Price in NOK per MWh", "NOK", 1e-3 },
        { "Price [\u20ac/MWh]", "EUR", 1e-3 },
        { "Tariff C price (\u00a3/kWh)", "GBP", 1 },
        { "price_pence_per_kwh", "GBP", 1e-2 },
        { "Price p/kWh", "GBP", 1e-2 },
        { "Price [EUR ct/kWh]", "EUR", 1e-2 },
        { "price_cents_per_kwh_usd", "USD", 1e-2 },
        { "Price [\u00f8re/kWh DKK]", "DKK", 1e-2 },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_grid_steps s;
        struct wl_err e;
        const char *currency = NULL;
        const char *text =
            wl_strf(a, "timestamp,%s\n2026-01-01T00:00:00Z,50\n2026-01-01T01:00:00Z,-2\n", cases[i].column);
        if (wl_grid_price_read(file_of(text, a), &s, &currency, a, &e)) fail_msg("%s", e.msg);
        assert_int_equal(s.n, 2);
        assert_float_equal(s.v[0], 50 * cases[i].scale, 1e-15);
        assert_float_equal(s.v[1], -2 * cases[i].scale, 1e-15); /* paid for use */
        assert_true(wl_str_eq(currency, cases[i].currency));
        assert_string_equal(s.column, cases[i].column);
    }
    wl_arena_free(a);
}

static void bad_prices_name_line_value_and_what_was_expected(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "timestamp,price\n1,2\n2,3\n", ": no column of prices with their unit: price_eur_per_mwh" },
        { "when,price_per_kwh\n1,2\n2,3\n", ": no column of times: timestamp, datetime" },
        { "timestamp,price_per_kwh\n1767225600,2\n", ": fewer than two rows" },
        { "timestamp,price_per_kwh\n1767225600,2\n1767225600,2\n",
          ":3: timestamp = 1767225600: expected a time after that of the row before" },
        { "timestamp,price_per_kwh\n1767225600,2\n1767229200,5000\n",
          ":3: price_per_kwh = 5000: expected a price from -1000 to 1000 per kWh" },
        { "timestamp,Price [ct/kWh]\n1,2\n2,3\n",
          ":1: column \"Price [ct/kWh]\": several currencies have \"ct\": expected a currency by its ISO code" },
        { "timestamp,price_ore_per_kwh\n1,2\n2,3\n", "several currencies have \"ore\"" },
        { "# market\ntimestamp,price incl VAT/kWh\n1,2\n2,3\n",
          ":2: column \"price incl VAT/kWh\": unknown word \"incl\"" },
        { "timestamp,price_vat_per_kwh\n1,2\n2,3\n", "unknown word \"vat\": expected a currency by its ISO code" },
        { "timestamp,Price [$/MWh]\n1,2\n2,3\n", "unknown word \"$\"" },
        { "timestamp,price_eur_per_mwh_usd\n1,2\n2,3\n", "a second currency \"usd\"" },
        { "timestamp,price_pence_eur_per_kwh\n1,2\n2,3\n", "the currency does not have \"pence\"" },
        { "timestamp,price_jpy_ct_per_kwh\n1,2\n2,3\n", "the currency does not have \"ct\"" },
        { "timestamp,ct/kWh price\n1,2\n2,3\n", "several currencies have \"ct\"" },
        { "timestamp,kr/kWh price\n1,2\n2,3\n", "unknown word \"kr\"" },
        { "timestamp,price_eur_per_kwh_month\n1,2\n2,3\n", "unknown word \"month\"" },
        { "timestamp,price_per_kwh\n2026-02-31T00:00Z,2\n",
          ":2: timestamp = \"2026-02-31T00:00Z\": expected a time as" },
        { "timestamp,price_per_kwh\nyesterday,2\n", ":2: timestamp = \"yesterday\": expected a time as 2026-01-31" },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_grid_steps s;
        struct wl_err e = { 0 };
        const char *currency = NULL;
        assert_int_equal(wl_grid_price_read(file_of(cases[i].text, a), &s, &currency, a, &e), WL_EINVAL);
        if (!strstr(e.msg, cases[i].message)) fail_msg("%s, not %s", e.msg, cases[i].message);
    }
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mean_is_weighted_by_time),
        cmocka_unit_test(prefix_sums_match_the_sum_over_the_steps),
        cmocka_unit_test(a_year_of_five_minutes_takes_no_time),
        cmocka_unit_test(prices_are_per_kwh_in_the_currency_of_their_column),
        cmocka_unit_test(bad_prices_name_line_value_and_what_was_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
