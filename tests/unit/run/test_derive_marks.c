/* What is derived from marks: only rank 0's epochs and metrics count. */
#include "run/derive.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const int64_t MS = WL_NS_PER_S / 1000;

/* As a store has them, by time. Rank 1 begins its epochs later, ends them later, counts its own samples and has its own
 * metrics; rank 2 marks an epoch that rank 0 does not. */
static struct wl_mark_rows job_of_three(void)
{
    static struct wl_mark_row v[] = {
        { 1000, 0, "start", "host=a workload=net workers=3 local_batch=8" },
        { 1001, 1, "start", "host=b workload=other workers=99 local_batch=99" },
        { 1002, 2, "start", "host=b" },
        { 2000, 0, "epoch-begin", "epoch=1" },
        { 2300, 1, "epoch-begin", "epoch=1" },
        { 3000, 0, "epoch-end", "epoch=1 samples=240 updates=10" },
        { 3100, 0, "metric", "name=loss value=0.5 epoch=1" },
        { 3700, 1, "epoch-end", "epoch=1 samples=80 updates=10" },
        { 3800, 1, "metric", "name=loss value=0.9 epoch=1" },
        { 3900, 1, "metric", "name=own value=7 epoch=1" },
        { 4000, 0, "epoch-begin", "epoch=2" },
        { 4100, 2, "epoch-begin", "epoch=5" },
        { 4200, 1, "epoch-begin", "epoch=2" },
        { 5500, 0, "epoch-end", "epoch=2 samples=240 updates=10" },
        { 5600, 0, "define", "name=loss better=smaller main=1" },
        { 5700, 1, "define", "name=loss better=larger" },
        { 5800, 1, "epoch-end", "epoch=2 samples=80 updates=10" },
        { 5900, 2, "epoch-end", "epoch=5 samples=80 updates=10" },
    };
    static bool in_ns;
    for (size_t i = 0; i < WL_COUNT(v) && !in_ns; i++) v[i].t_ns *= MS;
    in_ns = true;
    return (struct wl_mark_rows) { v, WL_COUNT(v) };
}

static struct wl_derived derived_from(const struct wl_mark_rows *marks, struct wl_arena *a)
{
    struct wl_derived out = { 0 };
    wl_derive_from_marks(marks, &out, a);
    return out;
}

static void epochs_come_from_rank_0(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_mark_rows marks = job_of_three();
    struct wl_derived d = derived_from(&marks, a);
    assert_int_equal(d.n_epochs, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct wl_epoch_row *e = &d.epochs[i];
        assert_int_equal(e->epoch, i + 1);
        assert_int_equal(e->begin_ns, (i ? 4000 : 2000) * MS);
        assert_int_equal(e->end_ns, (i ? 5500 : 3000) * MS);
        assert_true(e->time_s == (i ? 1.5 : 1) && e->samples == 240 && e->updates == 10);
    }
    wl_arena_free(a);
}

/* Without marks of rank 0 there are no epochs. */
static void other_ranks_alone_define_no_epochs(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_mark_rows all = job_of_three(), others = { wl_new_array(a, struct wl_mark_row, all.n), 0 };
    for (size_t i = 0; i < all.n; i++)
        if (all.v[i].rank != 0) others.v[others.n++] = all.v[i];
    struct wl_derived d = derived_from(&others, a);
    assert_int_equal(d.n_epochs, 0);
    assert_int_equal(d.n_metrics, 0);
    assert_int_equal(d.n_metric_defs, 0);
    assert_true(isnan(d.actual.workers) && d.actual.nodes == 1);
    wl_arena_free(a);
}

static void metrics_and_their_definitions_come_from_rank_0(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_mark_rows marks = job_of_three();
    struct wl_derived d = derived_from(&marks, a);
    assert_int_equal(d.n_metrics, 1);
    assert_string_equal(d.metrics[0].name, "loss");
    assert_true(d.metrics[0].value == 0.5 && d.metrics[0].epoch == 1);
    assert_int_equal(d.n_metric_defs, 1);
    assert_true(d.metric_defs[0].larger == 0 && d.metric_defs[0].main);
    wl_arena_free(a);
}

/* Nodes are counted over all ranks; everything else in start marks is rank 0's. */
static void settings_come_from_rank_0(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_mark_rows marks = job_of_three();
    struct wl_derived d = derived_from(&marks, a);
    assert_string_equal(d.actual.workload, "net");
    assert_true(d.actual.workers == 3 && d.actual.local_batch == 8 && d.actual.nodes == 2);
    wl_arena_free(a);
}

/* A setting without a column is a pair of the JSON text, sorted; other words of the mark are not settings. */
static void choices_of_the_start_mark_are_settings(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_mark_row row = { 1000, 0, "start", "workload=net workers=1 recompute=no size=tiny precision=bf16" };
    struct wl_derived d = derived_from(&(struct wl_mark_rows) { &row, 1 }, a);
    assert_string_equal(d.actual.extra, "{\"precision\": \"bf16\", \"recompute\": \"no\"}");
    wl_arena_free(a);
}

static void every_choice_of_the_table_is_taken_from_the_start_mark(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_text fields = WL_TEXT(a);
    wl_text_add(&fields, "workload=net workers=1");
    for (const struct wl_setting *r = wl_settings_table; r->name; r++)
        if (r->type == WL_SETTING_CHOICE) wl_text_addf(&fields, " %s=%s", r->name, r->def);
    struct wl_mark_row row = { 1000, 0, "start", fields.s };
    struct wl_derived d = derived_from(&(struct wl_mark_rows) { &row, 1 }, a);
    for (const struct wl_setting *r = wl_settings_table; r->name; r++)
        if (r->type == WL_SETTING_CHOICE) assert_string_equal(wl_setting_choice(r, &d.actual, a), r->def);
    wl_arena_free(a);
}

/* Caps are set by wattlaw and hardware is found by it: what a workload claims does not count. */
static void a_start_mark_sets_neither_caps_nor_hardware(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_text fields = WL_TEXT(a);
    wl_text_add(&fields, "workload=net workers=2");
    for (const struct wl_setting *r = wl_settings_table; r->name; r++)
        if (r->is_cap || r->observed) wl_text_addf(&fields, " %s=300", r->name);
    struct wl_mark_row row = { 1000, 0, "start", fields.s };
    struct wl_derived d = derived_from(&(struct wl_mark_rows) { &row, 1 }, a);
    assert_true(d.actual.workers == 2 && !d.actual.extra);
    for (const struct wl_setting *r = wl_settings_table; r->name; r++)
        if ((r->is_cap && !isnan(wl_setting_real(r, &d.actual))) || (r->observed && wl_setting_string(r, &d.actual)))
            fail_msg("%s is taken from the start mark", r->name);
    wl_arena_free(a);
}

/* One that a store would refuse, or that would make it unreadable, is missing; the mark's other fields are not. */
static void a_count_that_is_none_is_missing(void **state)
{
    static const char *const bad[] = { "-3",  "0",   "2.5",  "1e300", "99999999999999999999", "9007199254740993e3",
                                       "nan", "inf", "many", "-inf" };
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    for (const struct wl_setting *r = wl_settings_table; r->name; r++)
        for (size_t i = 0; r->type == WL_SETTING_COUNT && i < WL_COUNT(bad); i++) {
            struct wl_mark_row row = { 1000, 0, "start", wl_strf(a, "workload=net %s=%s host=h", r->name, bad[i]) };
            struct wl_derived d = derived_from(&(struct wl_mark_rows) { &row, 1 }, a);
            struct wl_mark m;
            bool found = wl_str_eq(r->name, "nodes"); /* from the hosts */
            if (isnan(wl_setting_real(r, &d.actual)) == found) fail_msg("%s", row.fields);
            assert_string_equal(d.actual.workload, "net");
            assert_true(wl_derive_parse_mark(&row, &m));
            struct wl_strs said = wl_derive_unusable_settings(&m, a);
            assert_int_equal(said.n, 1);
            assert_string_equal(said.v[0], wl_strf(a, "%s=%s: expected a whole number from 1 to 9007199254740992",
                                                   r->name, bad[i]));
        }
    wl_arena_free(a);
}

static void any_whole_count_is_a_setting(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_mark_row row = { 1000, 0, "start", "workers=9007199254740992 epochs=1 local_batch=1e3 size=-3" };
    struct wl_derived d = derived_from(&(struct wl_mark_rows) { &row, 1 }, a);
    struct wl_mark m;
    assert_true(d.actual.workers == 0x1p53 && d.actual.epochs == 1 && d.actual.local_batch == 1000);
    assert_true(wl_derive_parse_mark(&row, &m));
    assert_int_equal(wl_derive_unusable_settings(&m, a).n, 0);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epochs_come_from_rank_0),
        cmocka_unit_test(other_ranks_alone_define_no_epochs),
        cmocka_unit_test(metrics_and_their_definitions_come_from_rank_0),
        cmocka_unit_test(settings_come_from_rank_0),
        cmocka_unit_test(choices_of_the_start_mark_are_settings),
        cmocka_unit_test(every_choice_of_the_table_is_taken_from_the_start_mark),
        cmocka_unit_test(a_start_mark_sets_neither_caps_nor_hardware),
        cmocka_unit_test(a_count_that_is_none_is_missing),
        cmocka_unit_test(any_whole_count_is_a_setting),
    };
    return cmocka_run_group_tests_name("derive_marks", tests, NULL, NULL);
}
