/* The grid: its trials, those that cannot be run and why, and the order of runs. */
#include "campaign/sweep.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct wl_arena *a;
static struct wl_err e;
static struct wl_experiment x;
static struct wl_grid g;

static int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wl_arena_free(a);
    return 0;
}

/* A grid for a machine with 8 cores from the lines of [sweep] and of the other sections. */
static void make(const char *campaign, const char *sweep, const char *rest)
{
    static double memory_mhz[] = { 1215, 810 };
    struct wl_machine here = { .cores = 8,
                               .cap = { [WL_CAP_POWER] = { "no permission", { .min = NAN, .max = NAN } },
                                        [WL_CAP_CLOCK] = { "no GPU", { .min = NAN, .max = NAN } },
                                        [WL_CAP_MEM_CLOCK] = { NULL, { NAN, 1215, { memory_mhz, 2 } } } } };
    const char *text =
        wl_strf(a,
                "[campaign]\nname = t\n%s\n[sweep]\n%s\n[launch]\ncommand = job {workers} {accumulation} "
                "{threads}\n%s\n",
                campaign, sweep, rest);
    if (wl_experiment_parse("exp.ini", text, NULL, &x, a, &e) < 0) fail_msg("%s", e.msg);
    if (wl_grid_make(&x, &here, &g, a, &e) < 0) fail_msg("%s", e.msg);
}

static void assert_skip(size_t i, const char *why)
{
    if (!g.trials[i].skip) fail_msg("trial %zu was not skipped", i);
    if (!strstr(g.trials[i].skip, why)) fail_msg("'%s' is not in: %s", why, g.trials[i].skip);
}

static void the_product_varies_workers_fastest(void **state)
{
    (void)state;
    make("", "workers = 1,2\nlocal_batch = 8,16", "");
    assert_int_equal(g.n_trials, 4);
    assert_int_equal(g.n_skipped, 0);
    static const int64_t expected[][3] = { { 8, 1, 8 }, { 8, 2, 16 }, { 16, 1, 16 }, { 16, 2, 32 } };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(g.trials[i].local_batch, expected[i][0]);
        assert_int_equal(g.trials[i].workers, expected[i][1]);
        assert_int_equal(g.trials[i].global_batch, expected[i][2]);
        assert_int_equal(g.trials[i].accumulation, 1);
    }
    assert_string_equal(g.trials[1].label, "local_batch=8 workers=2");
}

static void no_sweep_is_one_trial(void **state)
{
    (void)state;
    make("", "", "");
    assert_int_equal(g.n_trials, 1);
    assert_int_equal(g.trials[0].workers, 1);
    assert_int_equal(g.trials[0].threads, 1);
    assert_int_equal(g.trials[0].local_batch, 0);
    assert_true(isnan(g.trials[0].cap.value[WL_CAP_POWER]));
    assert_int_equal(g.n_runs, 3);
}

static void a_missing_batch_is_derived(void **state)
{
    (void)state;
    make("", "workers = 2\nglobal_batch = 64", "");
    assert_int_equal(g.trials[0].local_batch, 32);
    make("", "workers = 2\nglobal_batch = 64\naccumulation = 4", "");
    assert_int_equal(g.trials[0].local_batch, 8);
    make("", "workers = 2\nglobal_batch = 64\nlocal_batch = 8", "");
    assert_int_equal(g.trials[0].accumulation, 4);
    make("", "workers = 2\naccumulation = 3\nlocal_batch = 8", "");
    assert_int_equal(g.trials[0].global_batch, 48);
}

static void batches_that_do_not_divide_are_skipped_with_the_reason(void **state)
{
    (void)state;
    make("", "workers = 1,3\nglobal_batch = 64", "");
    assert_null(g.trials[0].skip);
    assert_skip(1, "global batch 64 is not a multiple of workers x accumulation = 3 x 1");
    make("", "workers = 3\nglobal_batch = 64\nlocal_batch = 16", "");
    assert_skip(0, "not a multiple of workers x local batch = 3 x 16");
    make("", "workers = 2\nglobal_batch = 64\nlocal_batch = 16\naccumulation = 3", "");
    assert_skip(0, "2 x 16 x 3");
    assert_int_equal(g.n_runs, 0);
}

/* The largest values of each axis: their product is beyond 64 bits. */
static void a_batch_that_is_too_large_is_skipped_with_the_reason(void **state)
{
    (void)state;
    make("", "workers = 1000000\nlocal_batch = 1000000000\naccumulation = 1000000", "oversubscribe = yes\n");
    assert_skip(0,
                "workers x local batch x accumulation = 1000000 x 1000000000 x 1000000 is more than 9007199254740992");
    assert_int_equal(g.trials[0].global_batch, 0);
    make("", "workers = 1000000\nlocal_batch = 1000000000", "oversubscribe = yes\n");
    assert_true(!g.trials[0].skip && g.trials[0].global_batch == 1000000000000000);
}

static void more_workers_than_cores_need_permission(void **state)
{
    (void)state;
    make("", "workers = 8,9", "");
    assert_null(g.trials[0].skip);
    assert_int_equal(g.trials[0].threads, 1);
    assert_skip(1, "9 workers, but 8 cores");
    make("", "workers = 4\nthreads = 2,3", "");
    assert_null(g.trials[0].skip);
    assert_skip(1, "4 workers x 3 threads, but 8 cores");
    make("", "workers = 9,100", "oversubscribe = yes");
    assert_int_equal(g.n_skipped, 0);
}

static void caps_that_cannot_be_set_are_skipped(void **state)
{
    (void)state;
    make("", "power_cap_w = 150", "");
    assert_skip(0, "150 W cannot be set: no permission");
    make("", "clock_mhz = 900", "");
    assert_skip(0, "900 MHz cannot be set: no GPU");
    make("", "mem_clock_mhz = 810, 1000, 2000", "");
    assert_null(g.trials[0].skip);
    assert_true(g.trials[0].cap.value[WL_CAP_MEM_CLOCK] == 810 && isnan(g.trials[0].cap.value[WL_CAP_CLOCK]));
    assert_skip(1, "1000 MHz is out of range: it takes 1215, 810 MHz");
    assert_skip(2, "2000 MHz");
}

/* A value for each row of the table of settings comes back from the trial. */
static void every_axis_is_a_setting_of_the_trial(void **state)
{
    (void)state;
    struct wl_text sweep = WL_TEXT(a);
    for (const struct wl_setting *r = wl_settings_table; r->name; r++)
        if (!r->observed && r->type != WL_SETTING_CHOICE)
            wl_text_addf(&sweep, "%s = %d\n", r->name, wl_str_eq(r->name, "global_batch") ? 8 : 2);
    make("", sweep.s, "");
    const struct wl_settings set = wl_trial_settings(&g.trials[0]);
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        if (r->observed || r->type == WL_SETTING_CHOICE) continue;
        const char *text = wl_setting_string(r, &set);
        if (!text && isnan(wl_setting_real(r, &set))) fail_msg("%s is missing", r->name);
        if (r->type == WL_SETTING_TEXT) assert_string_equal(text, "2");
    }
    assert_true(set.global_batch == 8 && set.accumulation == 2 && set.mem_clock_mhz == 2);
}

static void weak_scaling_gives_samples_in_proportion(void **state)
{
    (void)state;
    make("scaling = weak", "workers = 1,4", "[data]\nsamples = 1000");
    assert_int_equal(g.trials[0].samples, 1000);
    assert_int_equal(g.trials[1].samples, 4000);
    make("", "workers = 1,4", "[data]\nsamples = 1000");
    assert_int_equal(g.trials[1].samples, 1000);
}

static void each_repeat_runs_every_trial_once(void **state)
{
    (void)state;
    make("repeats = 5", "workers = 1,2,3,4\nlocal_batch = 1,2,3", "");
    assert_int_equal(g.n_runs, 60);
    bool reordered = false;
    for (int64_t repeat = 1; repeat <= 5; repeat++) {
        int seen[12] = { 0 };
        for (size_t i = 0; i < 12; i++) {
            const struct wl_planned_run *r = &g.runs[(size_t)(repeat - 1) * 12 + i];
            assert_int_equal(r->repeat, repeat);
            seen[r->trial]++;
            reordered |= r->trial != i;
        }
        for (size_t i = 0; i < 12; i++) assert_int_equal(seen[i], 1);
    }
    assert_true(reordered);
}

/* Drifts during a repeat affect other trials in the next one: no two repeats have the same order. */
static void each_repeat_has_its_own_order(void **state)
{
    (void)state;
    make("repeats = 5", "workers = 1,2,3,4\nlocal_batch = 1,2,3", "");
    for (size_t one = 0; one < 5; one++)
        for (size_t other = 0; other < one; other++) {
            size_t same = 0;
            for (size_t i = 0; i < 12; i++) same += g.runs[12 * one + i].trial == g.runs[12 * other + i].trial;
            if (same > 6)
                fail_msg("%zu of 12 trials have the same position in repeats %zu and %zu", same, other + 1, one + 1);
        }
}

static void the_order_follows_from_the_seed(void **state)
{
    (void)state;
    make("seed = 4\nrepeats = 3", "workers = 1,2,3,4,5,6", "");
    struct wl_grid first = g;
    make("seed = 4\nrepeats = 6", "workers = 1,2,3,4,5,6", "");
    for (size_t i = 0; i < first.n_runs; i++) assert_int_equal(first.runs[i].trial, g.runs[i].trial);
    make("seed = 5\nrepeats = 3", "workers = 1,2,3,4,5,6", "");
    size_t same = 0;
    for (size_t i = 0; i < g.n_runs; i++) same += first.runs[i].trial == g.runs[i].trial;
    assert_true(same < g.n_runs);
    make("order = sequential\nrepeats = 2", "workers = 1,2,3", "");
    for (size_t i = 0; i < g.n_runs; i++) assert_int_equal(g.runs[i].trial, i % 3);
}

static void a_grid_of_too_many_trials_is_refused(void **state)
{
    (void)state;
    struct wl_text many = WL_TEXT(a);
    for (int i = 1; i <= 400; i++) wl_text_addf(&many, "%s%d", i > 1 ? "," : "", i);
    const char *text = wl_strf(a,
                               "[campaign]\nname = t\n[sweep]\nlocal_batch = %s\nthreads = %s\n[launch]\n"
                               "command = job {local_batch} {threads}\n",
                               many.s, many.s);
    struct wl_machine here = { .cores = 8 };
    if (wl_experiment_parse("exp.ini", text, NULL, &x, a, &e) < 0) fail_msg("%s", e.msg);
    assert_int_equal(wl_grid_make(&x, &here, &g, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "more than 100000 trials"));
}

/* ---- progress ---- */

struct progress {
    double done, total, left_s;
    const char *note;
};

static void on_tick(void *ctx, double done, double total, double left_s, const char *note)
{
    *(struct progress *)ctx = (struct progress) { done, total, left_s, note };
}

/* Three runs of two trials: the first has taken 10 s, the other is unknown. */
static void progress_says_when_a_run_exceeds_its_estimate(void **state)
{
    (void)state;
    struct progress seen;
    const struct wl_sweep_opts opts = { .on_tick = on_tick, .ctx = &seen };
    struct wl_planned_run runs[] = { { .trial = 0 }, { .trial = 1 }, { .trial = 0 } };
    double took_s[] = { 0, 0 }, took_n[] = { 0, 0 };
    bool to_do[] = { true, true, true };
    struct wl_sweep s = { .opts = &opts,
                          .grid = { .n_trials = 2, .runs = runs, .n_runs = 3 },
                          .to_do = to_do,
                          .n_to_do = 3,
                          .took_s = took_s,
                          .took_n = took_n,
                          .a = a };

    struct wl_sweep_progress t = wl_sweep_progress_new(&s, 0, "first", a);
    wl_sweep_progress_update(&t, 1000); /* no run has finished yet */
    assert_true(seen.left_s < 0);
    assert_string_equal(seen.note, "first");

    took_s[0] = 10;
    took_n[0] = 1;
    s.passed = 1;
    to_do[0] = false;
    t = wl_sweep_progress_new(&s, 1, "second", a);
    wl_sweep_progress_update(&t, 4);
    assert_float_equal(seen.left_s, 16, 1e-9);
    assert_float_equal(seen.done, 1.4, 1e-9);
    wl_sweep_progress_update(&t, 11); /* within the usual differences of repeats */
    assert_string_equal(seen.note, "second");
    wl_sweep_progress_update(&t, 60);
    assert_float_equal(seen.left_s, 10, 1e-9);
    assert_string_equal(seen.note, "second, beyond its estimate of 10.0 s");

    s.passed = 2;
    to_do[1] = false;
    t = wl_sweep_progress_new(&s, 2, "last", a);
    wl_sweep_progress_update(&t, 60);
    assert_float_equal(seen.left_s, 0, 0); /* not one second forever */
    assert_true(seen.done < seen.total);
    assert_non_null(strstr(seen.note, "beyond its estimate"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_product_varies_workers_fastest),
        TEST(no_sweep_is_one_trial),
        TEST(a_missing_batch_is_derived),
        TEST(batches_that_do_not_divide_are_skipped_with_the_reason),
        TEST(a_batch_that_is_too_large_is_skipped_with_the_reason),
        TEST(more_workers_than_cores_need_permission),
        TEST(caps_that_cannot_be_set_are_skipped),
        TEST(every_axis_is_a_setting_of_the_trial),
        TEST(weak_scaling_gives_samples_in_proportion),
        TEST(each_repeat_runs_every_trial_once),
        TEST(each_repeat_has_its_own_order),
        TEST(the_order_follows_from_the_seed),
        TEST(a_grid_of_too_many_trials_is_refused),
        TEST(progress_says_when_a_run_exceeds_its_estimate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
