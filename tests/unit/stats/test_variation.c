/* Variation over time and devices: against the definitions, with readings missing, and the coverage of its interval. */
#include "check.h"

enum { DEVICES = 3, INSTANTS = 50 };

static void fill(double v[DEVICES * INSTANTS])
{
    for (size_t d = 0; d < DEVICES; d++)
        for (size_t t = 0; t < INSTANTS; t++) v[d * INSTANTS + t] = 60 + 5 * (double)d + 8 * wl_random_normal(7, d, t);
}

/* The definitions, straight. */
static double pooled(const double *v, size_t n)
{
    double kept[DEVICES * INSTANTS];
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(v[i])) kept[k++] = v[i];
    return wl_sd(kept, k) / wl_mean(kept, k);
}

static void variation_matches_definition(void **state)
{
    (void)state;
    double v[DEVICES * INSTANTS], within = 0, between = 0;
    fill(v);
    for (size_t d = 0; d < DEVICES; d++) within += pooled(v + d * INSTANTS, INSTANTS) / DEVICES;
    for (size_t t = 0; t < INSTANTS; t++) {
        double row[DEVICES];
        for (size_t d = 0; d < DEVICES; d++) row[d] = v[d * INSTANTS + t];
        between += wl_sd(row, DEVICES) / INSTANTS;
    }
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_variation r = wl_variation_estimate(v, DEVICES, INSTANTS, 0.95, 1, a);
    double mean = wl_mean(v, DEVICES * INSTANTS);
    agree("mean", r.mean.value, mean, 13);
    agree("over time", r.cv_time.value, within, 13);
    agree("between devices", r.cv_devices.value, between / mean, 13);
    agree("pooled", r.cv_pooled.value, pooled(v, DEVICES * INSTANTS), 13);
    const struct wl_estimate *all[] = { &r.mean, &r.cv_time, &r.cv_devices, &r.cv_pooled };
    for (size_t i = 0; i < WL_COUNT(all); i++) assert_true(all[i]->lo < all[i]->value && all[i]->value < all[i]->hi);

    struct wl_variation again = wl_variation_estimate(v, DEVICES, INSTANTS, 0.95, 1, a);
    assert_true(again.cv_time.lo == r.cv_time.lo && again.cv_time.hi == r.cv_time.hi);
    wl_arena_free(a);
}

/* A missing reading is not counted; a device without readings does not affect the others. */
static void missing_readings_are_not_counted(void **state)
{
    (void)state;
    double v[DEVICES * INSTANTS];
    fill(v);
    v[3] = NAN;
    for (size_t t = 0; t < INSTANTS; t++) v[2 * INSTANTS + t] = NAN;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_variation r = wl_variation_estimate(v, DEVICES, INSTANTS, 0.95, 1, a);
    agree("over time", r.cv_time.value, (pooled(v, INSTANTS) + pooled(v + INSTANTS, INSTANTS)) / 2, 13);
    agree("pooled", r.cv_pooled.value, pooled(v, DEVICES * INSTANTS), 13);
    assert_false(isnan(r.cv_devices.value));
    wl_arena_free(a);
}

static void undefined_variation_is_nan(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    double one[20], none[20], zero[20] = { 0 };
    for (size_t i = 0; i < 20; i++) one[i] = 50, none[i] = NAN;
    struct wl_variation r = wl_variation_estimate(one, 1, 20, 0.95, 1, a);
    assert_true(r.mean.value == 50 && r.cv_time.value == 0 && isnan(r.cv_devices.value));
    r = wl_variation_estimate(none, 1, 20, 0.95, 1, a);
    assert_true(isnan(r.mean.value) && isnan(r.cv_time.value) && isnan(r.cv_pooled.value));
    r = wl_variation_estimate(zero, 1, 20, 0.95, 1, a);
    assert_true(r.mean.value == 0 && isnan(r.cv_time.value)); /* no mean to hold the spread against */
    r = wl_variation_estimate(one, 1, 3, 0.95, 1, a);
    assert_true(r.mean.value == 50 && isnan(r.mean.lo)); /* too short for an interval */
    r = wl_variation_estimate(one, 1, 0, 0.95, 1, a);
    assert_true(isnan(r.mean.value));
    wl_arena_free(a);
}

/* Autocorrelated readings (rho = 0.6): the interval of the mean covers it nearly at its level; one for
 * independent readings would in three of four cases. 300 series, error 1.3 %. */
static void interval_covers_the_mean_of_autocorrelated_readings(void **state)
{
    (void)state;
    enum { SERIES = 300, N = 900 };
    int covered = 0;
    double v[N];
    for (uint64_t k = 0; k < SERIES; k++) {
        double x = wl_random_normal(3, k, N) / sqrt(1 - 0.36);
        for (size_t t = 0; t < N; t++) {
            x = 0.6 * x + wl_random_normal(3, k, t);
            v[t] = 50 + x;
        }
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_variation r = wl_variation_estimate(v, 1, N, 0.95, k, a);
        covered += r.mean.lo <= 50 && 50 <= r.mean.hi;
        wl_arena_free(a);
    }
    assert_in_range(covered, SERIES * 88 / 100, SERIES * 98 / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(variation_matches_definition),
                                        cmocka_unit_test(missing_readings_are_not_counted),
                                        cmocka_unit_test(undefined_variation_is_nan),
                                        cmocka_unit_test(interval_covers_the_mean_of_autocorrelated_readings) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
