/* Sensors with a known response under square waves of load: are period, window and lag found, and is the truth within
 * the stated errors? The GPUs are those of tests/fake/gpu_model.h on a simulated clock. */
#include "gpu_model.h"

#include "base/random.h"
#include "power/calibration/fit.h"
#include "power/calibration/waves.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define S  WL_NS_PER_S
#define MS (S / 1000)

enum { MOST_EVENTS = 1024, MOST_READINGS = 40000 };

static struct fake_event events[MOST_EVENTS];
static int64_t edges[MOST_EVENTS], t_ns[MOST_READINGS];
static double value[MOST_READINGS];

/* A simulated case: a profile with another lag, rise or noise, read by one of its sensors. */
struct played {
    struct fake_profile p;
    bool average;    /* the 1 s mean */
    double poll_s;   /* between readings, on average */
    double stamps_s; /* error of the edges' time stamps */
    uint64_t seed;
};

/* The waves of the calibration as events and as edges with time stamps; returns how many, and the end. */
static size_t play_waves(const struct played *how, struct fake_gpu *g, uint32_t *n_events, int64_t *end)
{
    struct wl_wave waves[WL_MAX_WAVES];
    size_t n = wl_calibration_waves(how->p.update_s, waves), n_edges = 0;
    int64_t t = S;
    events[0] = (struct fake_event) { 0 };
    *n_events = 1;
    for (size_t w = 0; w < n; w++)
        for (int k = 0; k < 2 * waves[w].periods; k++) {
            assert_true(*n_events < MOST_EVENTS);
            events[(*n_events)++] = (struct fake_event) { t, { .high = k % 2 == 0 ? 1 : 0, .since_ns = t } };
            edges[n_edges] = t + (int64_t)(1e9 * how->stamps_s * wl_random_normal(how->seed, 7, n_edges));
            n_edges++;
            t += (int64_t)(waves[w].period_s / 2 * 1e9);
        }
    *end = t;
    fake_gpu_init(g, &how->p, how->seed, 0, 0.03, events, n_events);
    return n_edges;
}

static int fit_played(const struct played *how, struct wl_calibration *out, struct wl_arena *a, struct wl_err *e)
{
    struct fake_gpu gpu;
    uint32_t n_events;
    int64_t end;
    size_t n_edges = play_waves(how, &gpu, &n_events, &end), n = 0;
    double step_ns = how->poll_s * 1e9;
    for (double t = 0; t < (double)end && n < MOST_READINGS;
         t += step_ns * (0.7 + 0.6 * wl_random_uniform(how->seed, 8, n)), n++) {
        t_ns[n] = (int64_t)t;
        double w = how->average ? fake_average_reading_w(&gpu, t_ns[n]) : fake_power_reading_w(&gpu, t_ns[n]);
        value[n] = round(w * 1e3) / 1e3;
    }
    struct wl_time_series s = { t_ns, value, n };
    struct wl_load_edges load = { edges, n_edges };
    struct wl_fitted rise_s = { how->p.tau_s, 0 };
    return wl_calibration_fit(&s, &load, how->average ? &rise_s : NULL, out, a, e);
}

static struct played play(const char *profile)
{
    return (struct played) { .p = *fake_profile_find(profile), .poll_s = 1e-3, .stamps_s = 1e-4, .seed = 1 };
}

static void assert_near(const char *what, const struct wl_fitted *got, double want, double tolerance)
{
    if (!(fabs(got->value - want) <= tolerance))
        fail_msg("%s: %.3f ms (standard error %.3f), not %.3f +- %.3f", what, 1e3 * got->value, 1e3 * got->se,
                 1e3 * want, 1e3 * tolerance);
}

/* Update period to 1 %; window and lag to 2 ms or 5 %. */
static void check(const struct played *how, double window_s, double lag_s)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_calibration c = { 0 };
    struct wl_err e;
    if (fit_played(how, &c, a, &e) < 0) fail_msg("%s", e.msg);
    printf("%s: update %.2f (%.2f) ms, window %.2f (%.2f), lag %.2f (%.2f), rise %.2f (%.2f), %.1f to %.1f W, %.2f W "
           "off, %zu updates\n",
           how->p.key, 1e3 * c.update_s.value, 1e3 * c.update_s.se, 1e3 * c.window_s.value, 1e3 * c.window_s.se,
           1e3 * c.lag_s.value, 1e3 * c.lag_s.se, 1e3 * c.rise_s.value, 1e3 * c.rise_s.se, c.off_w, c.on_w,
           c.residual_w, c.updates);
    assert_near("update", &c.update_s, how->p.update_s, 0.01 * how->p.update_s);
    assert_near("window", &c.window_s, window_s, fmax(2e-3, 0.05 * window_s));
    assert_near("lag", &c.lag_s, lag_s, fmax(2e-3, 0.05 * lag_s));
    assert_near("rise", &c.rise_s, how->p.tau_s, 2e-3);
    wl_arena_free(a);
}

static void known_profiles_are_fitted(void **state)
{
    (void)state;
    for (size_t i = 0; fake_profile_at(i); i++) {
        struct played how = play(fake_profile_at(i)->key);
        check(&how, how.p.window_s, how.p.lag_s);
    }
}

static void lags_and_windows_are_fitted(void **state)
{
    (void)state;
    static const struct {
        double update_s, window_s, lag_s, tau_s;
    } cases[] = { { 0.100, 0.100, 0.030, 0.01 },
                  { 0.100, 0.025, 0.055, 0.02 },
                  { 0.015, 0.010, 0.005, 0.005 },
                  { 0.050, 0.005, 0.120, 0.01 } };
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct played how = play("A100");
        how.p.update_s = cases[i].update_s;
        how.p.window_s = cases[i].window_s;
        how.p.lag_s = cases[i].lag_s;
        how.p.tau_s = cases[i].tau_s;
        check(&how, cases[i].window_s, cases[i].lag_s);
    }
}

static void the_one_second_mean_is_fitted(void **state)
{
    (void)state;
    struct played how = play("H100");
    how.average = true;
    check(&how, 1, 0);
    how = play("V100");
    how.average = true;
    check(&how, 1, 0);
}

/* For 40 noisy sensors the truth is within two standard errors in at least 36. */
static void stated_errors_cover_the_truth(void **state)
{
    (void)state;
    enum { CASES = 40 };
    int window = 0, lag = 0;
    for (int i = 0; i < CASES; i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct played how = play("A100");
        struct wl_calibration c = { 0 };
        struct wl_err e;
        how.seed = (uint64_t)i + 1;
        how.p.noise_w = 5;
        how.p.lag_s = 0.02;
        how.stamps_s = 5e-4;
        if (fit_played(&how, &c, a, &e) < 0) fail_msg("%s", e.msg);
        window += fabs(c.window_s.value - how.p.window_s) <= 2 * c.window_s.se;
        lag += fabs(c.lag_s.value - how.p.lag_s) <= 2 * c.lag_s.se;
        wl_arena_free(a);
    }
    printf("window within two errors in %d of %d, lag in %d\n", window, CASES, lag);
    assert_true(window >= 36 && lag >= 36);
}

static void readings_that_do_not_follow_the_load_are_rejected(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct played how = play("A100");
    struct wl_calibration c = { 0 };
    struct wl_err e;
    how.p.full_w = how.p.idle_w + 1;
    how.p.noise_w = 5;
    assert_int_equal(fit_played(&how, &c, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "do not follow the load"));
    how = play("A100");
    how.poll_s = 0.5;
    assert_int_equal(fit_played(&how, &c, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "too few"));
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_profiles_are_fitted),
        cmocka_unit_test(lags_and_windows_are_fitted),
        cmocka_unit_test(the_one_second_mean_is_fitted),
        cmocka_unit_test(stated_errors_cover_the_truth),
        cmocka_unit_test(readings_that_do_not_follow_the_load_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
