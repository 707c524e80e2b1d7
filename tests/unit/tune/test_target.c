/* When a run reaches a target. */
#include "tune/target.h"
#include "tune/trial_watch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static int64_t epoch_of(double larger, double target, const double *value, int n)
{
    struct wl_tune_progress p = wl_tune_progress_none;
    p.larger = larger;
    for (int i = 0; i < n; i++) wl_tune_progress_add(&p, &(struct wl_tune_target) { "m", target }, i + 1, value[i]);
    return p.epoch;
}

static void the_first_epoch_that_reaches_it_counts(void **state)
{
    (void)state;
    static const double up[] = { 0.2, NAN, 0.6, 0.9, 0.5, 0.95 }, down[] = { 3, 2, 1, 0.5 };
    assert_int_equal(epoch_of(1, 0.9, up, 6), 4);
    assert_int_equal(epoch_of(1, 0.96, up, 6), 0);
    assert_int_equal(epoch_of(0, 1, down, 4), 3);
    assert_int_equal(epoch_of(NAN, 0.9, up, 6), 4); /* from .2 to .9: larger is better */
    assert_int_equal(epoch_of(NAN, 1, down, 4), 3);
    assert_int_equal(epoch_of(1, 1, down, 4), 1); /* the program knows better than a guess */
    assert_int_equal(epoch_of(0, 0.9, up, 6), 1);
}

static void rows_of_a_store_count_in_the_order_of_their_epochs(void **state)
{
    (void)state;
    struct wl_metric_row rows[] = { { 3, "m", 0.9 }, { 1, "m", 0.2 },   { NAN, "m", 0.99 },
                                    { 2, "m", 0.8 }, { 1, "other", 1 }, { 4, "m", 0.99 } };
    struct wl_metric_def_row def = { .name = "m", .larger = 1 };
    struct wl_metric_rows all = { .v = rows, .n = WL_COUNT(rows) };
    struct wl_metric_def_rows defs = { .v = &def, .n = 1 };
    struct wl_tune_target target = { "m", 0.85 };
    assert_int_equal(wl_tune_progress_of(&target, &all, &defs).epoch, 3);
    def.larger = 0;
    assert_int_equal(wl_tune_progress_of(&target, &all, &defs).epoch, 1);
    target.metric = "none";
    assert_true(isnan(wl_tune_progress_of(&target, &all, &defs).first));
}

static void messages_of_memory_that_ran_out(void **state)
{
    (void)state;
    static const char *const memory[] = { "RuntimeError: CUDA out of memory. Tried to allocate",
                                          "torch.OutOfMemoryError: x",
                                          "sh: fork: Cannot allocate memory",
                                          "std::bad_alloc",
                                          "error train [1]: no memory: the plan needs 193 MB",
                                          wl_tune_stopped_without_memory };
    for (size_t i = 0; i < WL_COUNT(memory); i++) assert_true(wl_job_says_out_of_memory(memory[i]));
    assert_false(wl_job_says_out_of_memory("memory 3 GB, loss is nan"));
    assert_false(wl_job_says_out_of_memory(wl_tune_stopped_at_limit));
    assert_false(wl_job_says_out_of_memory(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_epoch_that_reaches_it_counts),
        cmocka_unit_test(rows_of_a_store_count_in_the_order_of_their_epochs),
        cmocka_unit_test(messages_of_memory_that_ran_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
