/* Spans from marks of steps and checkpoints. */
#include "run/derive.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define DERIVE(d, v, end)                    \
    struct wl_arena *a = wl_arena_new(NULL); \
    struct wl_derived d = { 0 };             \
    wl_derive_spans(&(struct wl_mark_rows) { v, WL_COUNT(v) }, end, &d, a)

static void steps_are_the_work_between_the_first_and_the_last_mark(void **state)
{
    (void)state;
    struct wl_mark_row v[] = {
        { 1000, 0, "step", "step=10 samples=99 tokens=999" }, /* its samples are those before it */
        { 1500, 1, "step", "step=500 samples=7 tokens=7" },
        { 2000, 0, "step", "step=20 samples=320 tokens=10" },
        { 4000, 0, "step", "step=40 samples=640 tokens=20" },
    };
    DERIVE(d, v, 9000);
    assert_int_equal(d.n_spans, 1);
    const struct wl_span_row *s = &d.spans[0];
    assert_string_equal(s->kind, "steps");
    assert_true(s->begin_ns == 1000 && s->end_ns == 4000 && s->time_s == 3e-6);
    assert_true(s->steps == 30 && s->samples == 960 && s->tokens == 30);
    wl_arena_free(a);
}

static void unknown_work_is_missing_and_not_zero(void **state)
{
    (void)state;
    struct wl_mark_row v[] = { { 1000, 0, "step", "step=1" },
                               { 2000, 0, "step", "step=2 samples=8" },
                               { 3000, 0, "step", "step=3" } };
    DERIVE(d, v, 9000);
    assert_true(d.n_spans == 1 && d.spans[0].steps == 2);
    assert_true(isnan(d.spans[0].samples) && isnan(d.spans[0].tokens));
    wl_arena_free(a);
}

/* A program that counts tokens every third step, and once more for a step that it has marked already. */
static void a_mark_has_the_work_since_the_last_one_that_has_it(void **state)
{
    (void)state;
    struct wl_mark_row v[] = { { 1000, 0, "step", "step=1 tokens=100" },
                               { 2000, 0, "step", "step=2" },
                               { 3000, 0, "step", "step=3" },
                               { 4000, 0, "step", "step=4 tokens=30" },
                               { 4001, 0, "step", "step=4 tokens=5" } };
    DERIVE(d, v, 9000);
    assert_true(d.n_spans == 1 && d.spans[0].steps == 3 && d.spans[0].tokens == 35 && isnan(d.spans[0].samples));
    wl_arena_free(a);
}

/* A job that resumed within the run computed steps 2 and 3 twice. */
static void repeated_steps_are_work(void **state)
{
    (void)state;
    struct wl_mark_row v[] = { { 1000, 0, "step", "step=1" },
                               { 2000, 0, "step", "step=3" },
                               { 3000, 0, "step", "step=1" },
                               { 4000, 0, "step", "step=4" } };
    DERIVE(d, v, 9000);
    assert_true(d.n_spans == 1 && d.spans[0].steps == 5);
    wl_arena_free(a);
}

static void one_step_is_no_span(void **state)
{
    (void)state;
    struct wl_mark_row v[] = { { 1000, 0, "step", "step=1" }, { 2000, 0, "step", "step=1" } };
    DERIVE(d, v, 9000);
    assert_int_equal(d.n_spans, 0);
    wl_arena_free(a);
}

static void what_follows_the_last_checkpoint_is_unsaved(void **state)
{
    (void)state;
    struct wl_mark_row v[] = { { 1000, 0, "step", "step=10" },           { 2000, 0, "checkpoint", "step=10" },
                               { 3000, 0, "step", "step=20" },           { 3500, 0, "phase-end", "name=checkpoint" },
                               { 3600, 1, "checkpoint", "step=999" },    { 3700, 0, "phase-end", "name=validate" },
                               { 5000, 0, "step", "step=27 samples=70" } };
    DERIVE(d, v, 9000);
    assert_int_equal(d.n_spans, 2);
    const struct wl_span_row *s = &d.spans[1];
    assert_string_equal(s->kind, "unsaved");
    assert_true(s->begin_ns == 3500 && s->end_ns == 9000 && s->steps == 7 && s->samples == 70);
    wl_arena_free(a);
}

static void without_steps_after_a_checkpoint_nothing_is_counted(void **state)
{
    (void)state;
    struct wl_mark_row v[] = { { 1000, 0, "step", "step=10" }, { 2000, 0, "checkpoint", "" } };
    DERIVE(d, v, 9000);
    assert_true(d.n_spans == 1 && isnan(d.spans[0].steps));
    wl_arena_free(a);
}

/* A store takes no count above 2^62, and would then lose the run's energies with it. */
static void a_sum_that_is_not_exact_is_missing(void **state)
{
    (void)state;
    struct wl_mark_row v[] = { { 1000, 0, "step", "step=1" },
                               { 2000, 0, "step", "step=2 samples=9007199254740992 tokens=9007199254740992" },
                               { 3000, 0, "step", "step=3 samples=10 tokens=0" } };
    DERIVE(d, v, 9000);
    assert_true(d.n_spans == 1 && d.spans[0].steps == 2);
    assert_true(isnan(d.spans[0].samples) && d.spans[0].tokens == 0x1p53);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_the_work_between_the_first_and_the_last_mark),
        cmocka_unit_test(unknown_work_is_missing_and_not_zero),
        cmocka_unit_test(a_mark_has_the_work_since_the_last_one_that_has_it),
        cmocka_unit_test(repeated_steps_are_work),
        cmocka_unit_test(one_step_is_no_span),
        cmocka_unit_test(what_follows_the_last_checkpoint_is_unsaved),
        cmocka_unit_test(without_steps_after_a_checkpoint_nothing_is_counted),
        cmocka_unit_test(a_sum_that_is_not_exact_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
