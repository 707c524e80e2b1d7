/* Envelopes of readings against a plain computation. */
#include "test.h"

#include "serve/envelope.h"

#include <math.h>

static struct wl_readings readings_of(size_t n, uint64_t seed, struct wl_arena *a)
{
    struct wl_readings r = { .n = n, .t_ns = wl_new_array(a, int64_t, n), .value = wl_new_array(a, double, n) };
    int64_t t_ns = 1000;
    for (size_t i = 0; i < n; i++) {
        const double u = wl_random_uniform(seed, 0, i);
        t_ns += 1 + (int64_t)(u * 2e6) + (u > 0.99 ? 500000000 : 0); /* now and then nothing is read for long */
        r.t_ns[i] = t_ns;
        r.value[i] = u < 0.02 ? NAN : 100 + 50 * wl_random_normal(seed, 1, i);
    }
    return r;
}

/* The interval of a reading, as the header describes it. */
static size_t interval_of(int64_t t_ns, int64_t begin_ns, int64_t end_ns, size_t points)
{
    return (size_t)((double)(t_ns - begin_ns) / (((double)(end_ns - begin_ns) + 1) / (double)points));
}

static void check(const struct wl_readings *r, int64_t begin_ns, int64_t end_ns, size_t points, struct wl_arena *a)
{
    const struct wl_envelope v = wl_envelope_of(r, begin_ns, end_ns, points, 0, a);
    double *min = wl_new_array(a, double, points), *max = wl_new_array(a, double, points),
           *sum = wl_new_array(a, double, points);
    size_t *good = wl_new_array(a, size_t, points), *all = wl_new_array(a, size_t, points), n = 0, failed = 0, k = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (r->t_ns[i] < begin_ns || r->t_ns[i] > end_ns) continue;
        const size_t at = interval_of(r->t_ns[i], begin_ns, end_ns, points);
        n++;
        all[at]++;
        failed += isnan(r->value[i]);
        if (isnan(r->value[i])) continue;
        min[at] = good[at] ? fmin(min[at], r->value[i]) : r->value[i];
        max[at] = good[at] ? fmax(max[at], r->value[i]) : r->value[i];
        sum[at] += r->value[i];
        good[at]++;
    }
    assert_int_equal(v.readings, n);
    assert_int_equal(v.failed, failed);
    assert_true(v.reduced && v.n <= 2 * points);
    for (size_t at = 0, last = 0, any = 0; at < points; at++) {
        if (!all[at]) continue;
        if (any && at > last + 1) { /* a gap */
            assert_true(k < v.n && isnan(v.min[k]) && isnan(v.max[k]) && isnan(v.mean[k]));
            k++;
        }
        assert_true(k < v.n);
        if (good[at]) {
            assert_true(v.min[k] == min[at] && v.max[k] == max[at]);
            assert_true(fabs(v.mean[k] - sum[at] / (double)good[at]) < 1e-9);
        } else {
            assert_true(isnan(v.min[k]) && isnan(v.max[k]) && isnan(v.mean[k]));
        }
        assert_true(k == 0 || v.t_s[k] > v.t_s[k - 1]);
        k++;
        last = at;
        any = 1;
    }
    assert_int_equal(k, v.n);
}

static void no_peak_is_lost(void **state)
{
    static const size_t points[] = { 2, 3, 17, 400 };
    const struct wl_readings r = readings_of(5000, 7, *state);
    const int64_t last_ns = r.t_ns[r.n - 1];
    for (size_t i = 0; i < WL_COUNT(points); i++) {
        check(&r, 0, last_ns, points[i], *state);
        check(&r, r.t_ns[1000], r.t_ns[3999], points[i], *state); /* both ends are readings */
        check(&r, -last_ns, 2 * last_ns, points[i], *state);
    }
}

static void few_readings_stay_as_they_are(void **state)
{
    struct wl_readings r = readings_of(10, 3, *state);
    r.value[4] = INFINITY;
    const struct wl_envelope v = wl_envelope_of(&r, INT64_MIN / 4, INT64_MAX / 4, 10, r.t_ns[0], *state);
    assert_false(v.reduced);
    assert_int_equal(v.n, 10);
    assert_true(v.t_s[0] == 0);
    for (size_t i = 0; i < 10; i++) {
        if (isfinite(r.value[i]))
            assert_true(v.min[i] == r.value[i] && v.max[i] == r.value[i] && v.mean[i] == r.value[i]);
        else
            assert_true(isnan(v.min[i]) && isnan(v.max[i]));
    }
    const struct wl_envelope none = wl_envelope_of(&(struct wl_readings) { 0 }, 0, 10, 5, 0, *state);
    assert_int_equal(none.n, 0);
}

static void counters_become_rates(void **state)
{
    int64_t t_ns[] = { 0, 1000000000, 3000000000, 4000000000, 5000000000, 5000000000 };
    double value[] = { 10, 20, 60, 5, NAN, 7 };
    struct wl_readings r = { .n = 6, .t_ns = t_ns, .value = value };
    wl_envelope_rates(&r);
    assert_int_equal(r.n, 5);
    assert_true(r.t_ns[0] == 1000000000 && r.value[0] == 10);
    assert_true(r.t_ns[1] == 3000000000 && r.value[1] == 20);
    assert_true(isnan(r.value[2]) && isnan(r.value[3]) && isnan(r.value[4])); /* reset, failed, no time passed */
    struct wl_readings none = { 0 };
    wl_envelope_rates(&none);
    assert_int_equal(none.n, 0);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(no_peak_is_lost),
        WITH_ARENA(few_readings_stay_as_they_are),
        WITH_ARENA(counters_become_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
