/* What a limit needs while a run is under way: the energy so far, and the forecast of the whole work. */
#include "run/meter.h"
#include "run/work_rate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const int64_t S = WL_NS_PER_S;

/* Two GPUs with counters, and a CPU package that does not count beside them. */
static struct wl_device devices[] = { { .uuid = "GPU-a" }, { .uuid = "GPU-b" }, { .uuid = "rapl:package-0" } };
static struct wl_channel channels[] = {
    { .device = 0, .quantity = WL_ENERGY, .scope = WL_SCOPE_GPU },
    { .device = 0, .quantity = WL_POWER, .scope = WL_SCOPE_GPU },
    { .device = 1, .quantity = WL_POWER, .scope = WL_SCOPE_GPU, .simulated = true },
    { .device = 2, .quantity = WL_ENERGY, .scope = WL_SCOPE_PACKAGE },
};
static struct wl_sensors sensors = { .devices = devices, .n_devices = 3, .channels = channels, .n_channels = 4 };

static void add(struct wl_run_meter *m, double t_s, uint32_t channel, double value)
{
    wl_run_meter_add(m, &(struct wl_sample) { (int64_t)(t_s * (double)S), value, channel });
}

/* From 2 s on: the counter grows by 100 W, the other GPU draws 50 W, then 70 W. */
static struct wl_run_meter *metered(struct wl_arena *a)
{
    struct wl_run_meter *m = wl_run_meter_new(&sensors, a);
    add(m, 1, 0, 5000), add(m, 1, 2, 900), add(m, 1, 3, 0);
    wl_run_meter_begin(m, 2 * S);
    add(m, 2, 0, 5060), add(m, 2, 2, 50);
    add(m, 3, 0, 5160), add(m, 3, 1, 1e6), add(m, 3, 2, NAN), add(m, 3, 3, 1e6);
    add(m, 4, 0, 5260), add(m, 4, 2, 50);
    wl_run_meter_update(m);
    add(m, 5, 0, 5360), add(m, 5, 2, 90);
    wl_run_meter_update(m);
    return m;
}

static void energy_counts_from_the_start_on_and_over_gaps(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_run_meter *m = metered(a);
    assert_true(wl_run_meter_has_energy(m));
    assert_float_equal(wl_run_meter_at(m, 5 * S), 300 + 50 * 2 + 70, 1e-9);
    assert_float_equal(wl_run_meter_at(m, 4 * S), 200 + 50 * 2, 1e-9);
    assert_float_equal(wl_run_meter_at(m, 6 * S), 470 + 170, 1e-9); /* at the power of the last update */
    assert_int_equal(wl_run_meter_provenance(m), WL_SIMULATED);
    wl_arena_free(a);
}

static void gpus_that_the_job_does_not_name_do_not_count(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_run_meter *m = wl_run_meter_new(&sensors, a);
    struct wl_mark mark;
    assert_int_equal(wl_mark_make(&mark, 1, 0, WL_MARK_START, "gpu=GPU-a", NULL), 0);
    wl_run_meter_mark(m, &mark);
    wl_run_meter_begin(m, S);
    for (int t = 1; t < 4; t++) {
        add(m, t, 0, 100 * t), add(m, t, 2, 500);
        wl_run_meter_update(m);
    }
    assert_float_equal(wl_run_meter_at(m, 3 * S), 200, 1e-9);
    assert_int_equal(wl_run_meter_provenance(m), WL_MEASURED);
    wl_arena_free(a);
}

static bool mark(struct wl_work_rate *w, double t_s, int rank, enum wl_mark_word word, const char *fields)
{
    struct wl_mark m;
    assert_int_equal(wl_mark_make(&m, (int64_t)(t_s * (double)S), rank, word, fields, NULL), 0);
    return wl_work_rate_mark(w, &m);
}

static void add_point(struct wl_work_rate *w, double t_s, double energy_j)
{
    wl_work_rate_add(w, (double[WL_WORK_COSTS]) { [WL_WORK_TIME] = t_s, [WL_WORK_ENERGY] = energy_j });
}

/* 60 s of start-up, then a step a second: 100 steps take 160 s. */
static void the_start_is_not_taken_for_the_rate(void **state)
{
    (void)state;
    struct wl_work_rate w = wl_work_rate_none;
    for (int step = 1; step <= 20; step++) {
        char fields[64];
        snprintf(fields, sizeof fields, "step=%d total=100", step);
        assert_true(mark(&w, 60 + step, 0, WL_MARK_STEP, fields));
        assert_false(mark(&w, 60 + step, 0, WL_MARK_STEP, fields)); /* nothing more */
        add_point(&w, 60 + step, 1000 + 5 * step);
    }
    const struct wl_work_forecast t = wl_work_rate_forecast(&w, WL_WORK_TIME);
    assert_float_equal(t.value, 160, 1e-9);
    assert_true(t.lo > 159.999 && t.hi < 160.001);
    assert_float_equal(wl_work_rate_forecast(&w, WL_WORK_ENERGY).value, 1500, 1e-9);
    struct wl_arena *a = wl_arena_new(NULL);
    assert_string_equal(wl_work_rate_text(&w, a), "20 of 100 steps");
    wl_arena_free(a);
}

static void epochs_are_work_where_steps_have_no_total(void **state)
{
    (void)state;
    struct wl_work_rate w = wl_work_rate_none;
    mark(&w, 0, 1, WL_MARK_START, "epochs=99");
    mark(&w, 0, 0, WL_MARK_START, "epochs=10");
    assert_false(mark(&w, 1, 0, WL_MARK_STEP, "step=7"));
    assert_true(mark(&w, 2, 0, WL_MARK_EPOCH_END, "epoch=4"));
    assert_float_equal(wl_work_rate_share(&w), .4, 1e-12);
    assert_false(mark(&w, 3, 0, WL_MARK_EPOCH_END, "epoch=4"));
    mark(&w, 4, 0, WL_MARK_EPOCH_END, "epoch=11"); /* more than it said */
    assert_true(isnan(wl_work_rate_share(&w)));
}

static void without_a_total_there_is_no_forecast(void **state)
{
    (void)state;
    struct wl_work_rate w = wl_work_rate_none;
    for (int i = 1; i < 9; i++) {
        mark(&w, i, 0, WL_MARK_EPOCH_END, "epoch=1");
        add_point(&w, i, i);
    }
    assert_true(isnan(wl_work_rate_forecast(&w, WL_WORK_TIME).value));
    assert_null(wl_work_rate_text(&w, NULL));
}

/* Of many jobs whose steps take times drawn at random, the interval at a third of the work holds the total of 95 %. */
static void the_interval_holds_the_total(void **state)
{
    (void)state;
    enum { JOBS = 2000, STEPS = 120, SEEN = 40 };
    int inside = 0;
    srand(7);
    for (int job = 0; job < JOBS; job++) {
        struct wl_work_rate w = wl_work_rate_none;
        struct wl_work_forecast f = { NAN, NAN, NAN };
        double t_s = 30;
        w.total = STEPS;
        for (int step = 1; step <= STEPS; step++) {
            t_s += .5 + (double)rand() / RAND_MAX;
            w.step = step;
            if (step <= SEEN) add_point(&w, t_s, t_s);
            if (step == SEEN) f = wl_work_rate_forecast(&w, WL_WORK_TIME);
        }
        inside += f.lo <= t_s && t_s <= f.hi;
    }
    if (inside < .93 * JOBS || inside > .97 * JOBS) fail_msg("%d of %d totals are inside", inside, JOBS);
}

/* More points than are kept: the first and the last stay, and with them the rate. */
static void long_jobs_keep_their_first_point(void **state)
{
    (void)state;
    struct wl_work_rate w = wl_work_rate_none;
    w.total = 1000;
    for (int step = 1; step <= 900; step++) {
        w.step = step;
        add_point(&w, 100 + step, 2 * step);
        assert_true(w.n <= WL_COUNT(w.v) && w.v[0].share == .001 && w.v[w.n - 1].share == step / 1000.0);
    }
    assert_float_equal(wl_work_rate_forecast(&w, WL_WORK_TIME).value, 1100, 1e-6);
    assert_true(w.v[1].share > .1); /* those between thin out, the oldest most */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_counts_from_the_start_on_and_over_gaps),
        cmocka_unit_test(gpus_that_the_job_does_not_name_do_not_count),
        cmocka_unit_test(the_start_is_not_taken_for_the_rate),
        cmocka_unit_test(epochs_are_work_where_steps_have_no_total),
        cmocka_unit_test(without_a_total_there_is_no_forecast),
        cmocka_unit_test(the_interval_holds_the_total),
        cmocka_unit_test(long_jobs_keep_their_first_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
