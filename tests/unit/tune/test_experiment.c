/* Axes of an experiment file, and the search of one from its trials. */
#include "tune/experiment_axes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int axes_of(const char *sweep, struct wl_tune_experiment *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_experiment x;
    *out = (struct wl_tune_experiment) { 0 };
    const char *text = wl_strf(a, "[campaign]\nname = x\n[sweep]\nworkload = resnet50\nepochs = 1\n%s", sweep);
    if (wl_experiment_parse("x.ini", text, NULL, &x, a, e) < 0) fail_msg("%s", e->msg);
    return wl_tune_axes(&x, out, a, e);
}

static void axes_with_several_numbers_are_searched(void **state)
{
    (void)state;
    struct wl_err e;
    struct wl_tune_experiment x;
    struct wl_arena *a = wl_arena_new(NULL);
    const char *sweep = "workers = 4\nlocal_batch = 32,8,16\nthreads = 2,1\npower_cap_w = 200,300,250\n";
    assert_int_equal(axes_of(sweep, &x, a, &e), 0);
    assert_int_equal(x.n_axes, 3);
    const struct wl_tune_axis *batch = &x.axes[0], *cap = &x.axes[1], *threads = &x.axes[2];
    assert_string_equal(batch->key, "local_batch");
    assert_true(batch->is_memory && batch->value[0] == 8 && batch->value[2] == 32 && batch->start == 2);
    assert_string_equal(batch->text[0], "8");
    assert_string_equal(cap->key, "power_cap_w");
    assert_true(cap->is_cap && cap->start == 2 && cap->value[2] == 300); /* the reference, wherever the file has it */
    assert_true(!threads->is_memory && threads->start == 1);
    wl_arena_free(a);
}

static void words_and_a_single_value_are_refused(void **state)
{
    (void)state;
    struct wl_err e;
    struct wl_tune_experiment x;
    struct wl_arena *a = wl_arena_new(NULL);
    assert_int_equal(axes_of("local_batch = 4\nprecision = f32,bf16\n", &x, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "precision"));
    assert_int_equal(axes_of("local_batch = 4\nworkers = 4\n", &x, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "nothing to choose"));
    wl_arena_free(a);
}

/* Adds the trials that the search asks for, with these costs, until it is done; 0: the value runs out of memory. */
static void search(struct wl_tune_axis *axis, const double *cost, struct wl_arena *a)
{
    struct wl_err e;
    struct wl_tune_goal goal = { .objective = WL_ADVISE_MIN_TIME, .slowdown = NAN };
    for (;;) {
        size_t value;
        if (wl_tune_axis_next(axis, &goal, &value, a, &e) < 0) fail_msg("%s", e.msg);
        if (axis->done || axis->n_trials == WL_TUNE_TRIALS_MAX) return;
        struct wl_tune_trial *t = &axis->trials[axis->n_trials++];
        *t = (struct wl_tune_trial) { .value = value, .t_s = cost[value], .energy_j = NAN };
        if (cost[value] == 0) t->state = WL_TUNE_OUT_OF_MEMORY;
        if (cost[value] == 0) t->why = "out of memory";
    }
}

static void a_batch_that_does_not_fit_excludes_larger_ones(void **state)
{
    (void)state;
    struct wl_err e;
    struct wl_tune_experiment x;
    struct wl_arena *a = wl_arena_new(NULL);
    static const double cost[] = { 9, 6, 5, 0, 0, 0 };
    assert_int_equal(axes_of("local_batch = 16,8,32,64,128,256\n", &x, a, &e), 0);
    search(&x.axes[0], cost, a);
    assert_true(x.axes[0].done && x.axes[0].chosen);
    assert_int_equal(x.axes[0].choice, 2);
    assert_int_equal(x.axes[0].trials[0].value, 1); /* the first of the file */
    size_t smallest = 6;
    for (size_t i = 0; i < x.axes[0].n_trials; i++) {
        size_t v = x.axes[0].trials[i].value;
        assert_true(v < smallest); /* nothing larger than what failed is tried */
        if (cost[v] == 0) smallest = v;
    }
    wl_arena_free(a);
}

/* Threads that fail say nothing about more threads. */
static void a_failure_of_another_axis_excludes_only_itself(void **state)
{
    (void)state;
    struct wl_err e;
    struct wl_tune_experiment x;
    struct wl_arena *a = wl_arena_new(NULL);
    static const double cost[] = { 9, 0, 3 };
    assert_int_equal(axes_of("local_batch = 4\nthreads = 1,2,4\n", &x, a, &e), 0);
    search(&x.axes[0], cost, a);
    assert_true(x.axes[0].done && x.axes[0].chosen);
    assert_int_equal(x.axes[0].choice, 2);
    wl_arena_free(a);
}

static void nothing_that_can_be_measured_is_no_choice(void **state)
{
    (void)state;
    struct wl_err e;
    struct wl_tune_experiment x;
    struct wl_arena *a = wl_arena_new(NULL);
    static const double none[3] = { 0 };
    assert_int_equal(axes_of("local_batch = 8,16,32\n", &x, a, &e), 0);
    search(&x.axes[0], none, a);
    assert_true(x.axes[0].done && !x.axes[0].chosen);
    wl_arena_free(a);
}

/* A trial that did not reach the target says that its batch costs more, and is not tried again. */
static void a_trial_that_misses_the_target_is_a_lower_bound(void **state)
{
    (void)state;
    struct wl_err e;
    struct wl_tune_experiment x;
    struct wl_arena *a = wl_arena_new(NULL);
    static const double cost[] = { 12, 10, 13, 20, 20, 20 };
    struct wl_tune_goal goal = { .objective = WL_ADVISE_MIN_TIME, .slowdown = NAN };
    assert_int_equal(axes_of("local_batch = 16,8,32,64,128,256\n", &x, a, &e), 0);
    struct wl_tune_axis *axis = &x.axes[0];
    size_t missed = 0, value;
    while (wl_tune_axis_next(axis, &goal, &value, a, &e) == 0 && !axis->done && axis->n_trials < WL_TUNE_TRIALS_MAX) {
        bool misses = value >= 3;
        missed += misses;
        axis->trials[axis->n_trials++] =
            (struct wl_tune_trial) { .value = value,
                                     .state = misses ? WL_TUNE_NOT_REACHED : WL_TUNE_MEASURED,
                                     .t_s = cost[value],
                                     .energy_j = NAN };
        if (value == 1 && axis->n_trials == 1) assert_true(isinf(axis->limit)); /* nothing is known before it */
    }
    assert_true(axis->done && axis->chosen && axis->choice == 1);
    assert_true(axis->limit == 20); /* twice the best */
    assert_true(missed >= 1 && missed <= 3);
    for (size_t i = 0; i < axis->n_trials; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(axis->trials[i].value != axis->trials[k].value || axis->trials[k].state == WL_TUNE_MEASURED);
    wl_arena_free(a);
}

/* A run that ends early, before the target, is cheap and not a choice. */
static void a_cheap_trial_that_misses_the_target_is_not_chosen(void **state)
{
    (void)state;
    struct wl_err e;
    struct wl_tune_experiment x;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_tune_goal goal = { .objective = WL_ADVISE_MIN_TIME, .slowdown = NAN };
    assert_int_equal(axes_of("local_batch = 16,32,64\n", &x, a, &e), 0);
    struct wl_tune_axis *axis = &x.axes[0];
    size_t value, missed = 0;
    while (wl_tune_axis_next(axis, &goal, &value, a, &e) == 0 && !axis->done && axis->n_trials < WL_TUNE_TRIALS_MAX) {
        missed += value > 0;
        axis->trials[axis->n_trials++] =
            (struct wl_tune_trial) { .value = value,
                                     .state = value ? WL_TUNE_NOT_REACHED : WL_TUNE_MEASURED,
                                     .t_s = value ? 5 : 10,
                                     .energy_j = NAN };
    }
    assert_true(axis->done && axis->chosen && missed > 0);
    assert_int_equal(axis->choice, 0);
    wl_arena_free(a);
}

static void the_largest_batch_is_that_of_one_setting(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static const struct {
        const char *sweep, *args, *why; /* why: NULL: it is searched */
    } cases[] = { { "local_batch = 8\n", "{local_batch}", NULL },
                  { "local_batch = 64,8\nworkers = 2\n", "{workers} {local_batch}", NULL },
                  { "global_batch = 64\nworkers = 2\n", "{workers} {global_batch}", NULL },
                  { "workers = 2\n", "{workers}", "no batch" },
                  { "local_batch = 8\nworkers = 1,2\n", "{workers} {local_batch}", "workers has several values" } };
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_err e;
        struct wl_experiment file;
        struct wl_tune_experiment x = { 0 };
        const char *text =
            wl_strf(a, "[campaign]\nname = x\n[launch]\ncommand = run %s\n[sweep]\n%s", cases[i].args, cases[i].sweep);
        if (wl_experiment_parse("x.ini", text, NULL, &file, a, &e) < 0) fail_msg("%s", e.msg);
        int rc = wl_tune_axis_of_batch(&file, &x, a, &e);
        if (rc == 0 && cases[i].why) fail_msg("%s is accepted", cases[i].sweep);
        if (rc == 0) assert_true(x.n_axes == 1 && x.axes[0].is_memory);
        if (rc < 0) assert_non_null(strstr(e.msg, cases[i].why));
    }
    wl_arena_free(a);
}

static void objectives_and_failures(void **state)
{
    (void)state;
    struct wl_tune_trial t = { .t_s = 3, .energy_j = 5 };
    struct wl_tune_goal goal = { .objective = WL_ADVISE_MIN_ENERGY };
    assert_true(wl_tune_trial_cost(&t, &goal) == 5);
    goal.objective = WL_ADVISE_MIN_EDP;
    assert_true(wl_tune_trial_cost(&t, &goal) == 15);
    goal.objective = WL_ADVISE_MIN_ED2P;
    assert_true(wl_tune_trial_cost(&t, &goal) == 45);
    goal.objective = WL_ADVISE_MIN_TIME;
    assert_true(wl_tune_trial_cost(&t, &goal) == 3);
    const char *torch = "RuntimeError: CUDA out of memory. Tried to allocate";
    assert_int_equal(wl_tune_failure_of("exit status 1", torch), WL_TUNE_OUT_OF_MEMORY);
    assert_int_equal(wl_tune_failure_of("exit status 1", "torch.OutOfMemoryError"), WL_TUNE_OUT_OF_MEMORY);
    assert_int_equal(wl_tune_failure_of("took longer than 3 s", NULL), WL_TUNE_FAILED);
    assert_int_equal(wl_tune_failure_of("ended by signal 9 (Killed)", NULL), WL_TUNE_OUT_OF_MEMORY); /* the kernel */
    assert_int_equal(wl_tune_failure_of("ended by signal 11 (Segmentation fault)", NULL), WL_TUNE_FAILED);
    assert_int_equal(wl_tune_failure_of("stopped: it costs too much beside the best trial so far", "x"),
                     WL_TUNE_NOT_REACHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_with_several_numbers_are_searched),
        cmocka_unit_test(words_and_a_single_value_are_refused),
        cmocka_unit_test(a_batch_that_does_not_fit_excludes_larger_ones),
        cmocka_unit_test(a_failure_of_another_axis_excludes_only_itself),
        cmocka_unit_test(nothing_that_can_be_measured_is_no_choice),
        cmocka_unit_test(a_trial_that_misses_the_target_is_a_lower_bound),
        cmocka_unit_test(a_cheap_trial_that_misses_the_target_is_not_chosen),
        cmocka_unit_test(the_largest_batch_is_that_of_one_setting),
        cmocka_unit_test(objectives_and_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
