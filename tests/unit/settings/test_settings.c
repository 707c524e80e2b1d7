/* The table of settings: each row has what its readers need, and the key of a trial keeps the order in which stores
 * have it. */
#include "settings/settings.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct wl_arena *a;

static void the_key_has_the_order_of_stores_of_version_1(void **state)
{
    (void)state;
    const char *names[] = { "workload=w",     "hardware=h",     "nodes=1",          "workers=2", "local_batch=3",
                            "global_batch=4", "accumulation=5", "epochs=6",         "threads=7", "power_cap_w=8",
                            "module_cap_w=9", "clock_mhz=10",   "mem_clock_mhz=11", "extra={}" };
    struct wl_settings all = wl_settings_none;
    all.workload = "w", all.hardware = "h", all.nodes = 1, all.workers = 2, all.local_batch = 3, all.global_batch = 4;
    all.accumulation = 5, all.epochs = 6, all.threads = 7, all.power_cap_w = 8, all.module_cap_w = 9;
    all.clock_mhz = 10, all.mem_clock_mhz = 11, all.extra = "{}";
    struct wl_text expected = WL_TEXT(a);
    for (size_t i = 0; i < WL_COUNT(names); i++) wl_text_addf(&expected, "%s%s", i ? " " : "", names[i]);
    assert_string_equal(wl_settings_key(&all, a), expected.s);
    assert_string_equal(wl_settings_key(&wl_settings_none, a), "");
}

static void what_is_missing_is_left_out_of_the_key(void **state)
{
    (void)state;
    struct wl_settings s = wl_settings_none;
    s.workers = 4;
    s.power_cap_w = 250.5;
    assert_string_equal(wl_settings_key(&s, a), "workers=4 power_cap_w=250.5");
}

static void rows_are_found_by_name_and_by_cap(void **state)
{
    (void)state;
    assert_null(wl_setting_find("no such"));
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        assert_ptr_equal(wl_setting_find(r->name), r);
        assert_non_null(r->label);
        if (!r->is_cap) continue;
        assert_ptr_equal(wl_setting_of_cap(r->cap), r);
        if (!r->unit || !r->acted || !r->missing || !r->section) fail_msg("%s lacks a field of caps", r->name);
    }
}

static void values_are_read_through_the_row(void **state)
{
    (void)state;
    struct wl_settings s = wl_settings_none;
    s.workload = "vgg16";
    s.clock_mhz = 1410;
    assert_string_equal(wl_setting_string(wl_setting_find("workload"), &s), "vgg16");
    assert_true(isnan(wl_setting_real(wl_setting_find("workload"), &s)));
    assert_true(wl_setting_real(wl_setting_find("clock_mhz"), &s) == 1410);
    assert_null(wl_setting_string(wl_setting_find("clock_mhz"), &s));
    assert_true(isnan(wl_setting_real(wl_setting_find("workers"), &s)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_has_the_order_of_stores_of_version_1),
        cmocka_unit_test(what_is_missing_is_left_out_of_the_key),
        cmocka_unit_test(rows_are_found_by_name_and_by_cap),
        cmocka_unit_test(values_are_read_through_the_row),
    };
    a = wl_arena_new(NULL);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    wl_arena_free(a);
    return rc;
}
