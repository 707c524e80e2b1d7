/* Metrics of forecasts over the globe, on a grid small enough to compute them by hand: three lines of latitude, 60 N,
 * the equator and 60 S, of two points each. cos(latitude) is 1/2, 1, 1/2, so the lines weigh 3/4, 3/2, 3/4. */
#include "train/workloads/weather_metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { CHANNELS = 2, HEIGHT = 3, WIDTH = 2, PLANE = HEIGHT * WIDTH, FIELD = CHANNELS * PLANE };

/* What was to be forecast is 1 everywhere; this is what is added to it. */
static const float wrong[FIELD] = { 1, 1, 0, 2, 0, 0, /* channel a */
                                    0, 0, 0, 0, 3, 3 /* channel b */ };
static const float wrong_before[FIELD] = { 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 6 };

struct globe {
    struct wl_arena *a;
    struct wl_train_task job;
    struct wl_weather f;
    double sum[WL_MAX_SUMS];
};

static void open_globe(struct globe *g, const float *climate)
{
    static const double latitude[HEIGHT] = { 60, 0, -60 };
    static const char *const names[CHANNELS] = { "a", "b" }, *const units[CHANNELS] = { "K", "m" };
    static const float mean[CHANNELS] = { 0, 0 }, deviation[CHANNELS] = { 2, 10 };
    struct wl_err e = { 0 };
    *g = (struct globe) { .a = wl_arena_new(NULL) };
    g->job = (struct wl_train_task) { .arena = g->a, .data = "globe" };
    g->f.steps = 1;
    g->f.grid = (struct wl_era5_grid) { .channels = CHANNELS,
                                        .height = HEIGHT,
                                        .width = WIDTH,
                                        .latitude = latitude,
                                        .names = names,
                                        .units = units,
                                        .mean = mean,
                                        .deviation = deviation,
                                        .climatology = climate };
    if (wl_weather_metrics(&g->job, &g->f, &e)) fail_msg("%s", e.msg);
}

/* Forecasts of `samples` samples, all alike. */
static void forecast(struct globe *g, int samples)
{
    float *target = wl_new_array(g->a, float, (size_t)samples *FIELD);
    float *made = wl_new_array(g->a, float, (size_t)samples *FIELD);
    float *before = wl_new_array(g->a, float, (size_t)samples *FIELD);
    for (int i = 0; i < samples * FIELD; i++) {
        target[i] = 1;
        made[i] = 1 + wrong[i % FIELD];
        before[i] = 1 + wrong_before[i % FIELD];
    }
    wl_weather_metrics_add(&g->f, 0, samples, before, target, made, g->sum + WL_SUM_CUSTOM);
    g->sum[WL_SUM_COUNTED] += samples;
}

static void expect(const struct globe *g, const char *name, double want)
{
    for (size_t i = 0; i < g->job.n_metrics; i++) {
        const struct wl_train_metric *m = &g->job.metrics[i];
        if (!wl_str_eq(m->name, name)) continue;
        const double found = m->value(m, g->sum);
        if (!(fabs(found - want) <= 1e-12 * fabs(want))) fail_msg("%s is %.15g, by hand %.15g", name, found, want);
        return;
    }
    fail_msg("there is no metric %s", name);
}

/* Squared errors of the lines of channel a: 2, 4, 0; of b: 0, 0, 18. Weighted means over the 6 points:
 * (3/4 x 2 + 3/2 x 4)/6 = 5/4 and (3/4 x 18)/6 = 9/4; without weights 1 and 3. Persistence: (3/4 x 4)/6 = 1/2 and
 * (3/4 x 72)/6 = 9. Units come back by the deviations, 2 and 10. */
static void errors_are_weighted_by_area(void **state)
{
    struct globe g;
    (void)state;
    open_globe(&g, NULL);
    for (int k = 0; k < 2; k++) {
        forecast(&g, 1 + k); /* one sample, then two more: the mean stays */
        expect(&g, "rmse_a", 2 * sqrt(1.25));
        expect(&g, "rmse_b", 10 * 1.5);
        expect(&g, "persistence_rmse_a", 2 * sqrt(0.5));
        expect(&g, "persistence_rmse_b", 10 * 3);
    }
    wl_arena_free(g.a);
}

/* The share of persistence's error that is avoided, mean over the channels: 1 - sqrt(5/2) and 1 - 1/2. */
static void skill_is_what_persistence_gets_wrong_and_the_network_does_not(void **state)
{
    struct globe g;
    (void)state;
    open_globe(&g, NULL);
    forecast(&g, 1);
    expect(&g, "skill", (1 - sqrt(2.5) + 0.5) / 2);
    wl_arena_free(g.a);
}

/* Against a climatology of 0: of channel a forecast 2 2, 1 3, 1 1 and truth 1 everywhere. Products by line 4, 4, 2,
 * squares of the forecast 8, 10, 2, of the truth 2, 2, 2: 10.5 / sqrt(22.5 x 6). Of b: 2, 2, 8; 2, 2, 32; 2, 2, 2. */
static void anomalies_are_weighted_by_area(void **state)
{
    static const float climate[FIELD] = { 0 };
    struct globe g;
    (void)state;
    open_globe(&g, climate);
    forecast(&g, 1);
    expect(&g, "acc_a", 10.5 / sqrt(22.5 * 6));
    expect(&g, "acc_b", (1.5 + 3 + 6) / sqrt((1.5 + 3 + 24) * 6));
    wl_arena_free(g.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_weighted_by_area),
        cmocka_unit_test(skill_is_what_persistence_gets_wrong_and_the_network_does_not),
        cmocka_unit_test(anomalies_are_weighted_by_area),
    };
    return cmocka_run_group_tests_name("forecast", tests, NULL, NULL);
}
