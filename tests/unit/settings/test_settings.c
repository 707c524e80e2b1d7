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

/* The text is part of the key: byte for byte the same whatever the order of the pairs. */
static void extra_is_sorted_by_name(void **state)
{
    (void)state;
    struct wl_setting_pair v[] = { { "zeta", "b" }, { "precision", "f32" }, { "samples", "50" }, { "alpha", "0.1" } };
    const char *text = "{\"alpha\": \"0.1\", \"precision\": \"f32\", \"samples\": \"50\", \"zeta\": \"b\"}";
    for (size_t i = 0; i < WL_COUNT(v); i++) {
        struct wl_setting_pair turned[WL_COUNT(v)];
        for (size_t k = 0; k < WL_COUNT(v); k++) turned[k] = v[(i + k) % WL_COUNT(v)];
        assert_string_equal(wl_settings_extra(turned, WL_COUNT(v), a), text);
    }
    assert_null(wl_settings_extra(v, 0, a));
}

static void what_is_missing_is_left_out_of_the_key(void **state)
{
    (void)state;
    struct wl_settings s = wl_settings_none;
    s.workers = 4;
    s.global_batch = 123456789;
    s.power_cap_w = 250.5;
    assert_string_equal(wl_settings_key(&s, a), "workers=4 global_batch=123456789 power_cap_w=250.5");
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
        if (!r->unit || !r->acted || !r->quantity || !r->missing || !r->section)
            fail_msg("%s lacks a field of caps", r->name);
    }
}

static void caps_and_clocks_are_gone_over_in_order(void **state)
{
    (void)state;
    int kind = 0, clocks = 0;
    for (const struct wl_setting *r = NULL; (r = wl_setting_next_cap(r));) {
        assert_int_equal(r->cap, kind++);
        assert_true(wl_str_eq(r->unit, "W") == !r->domain && !r->domain == !r->achieved);
        clocks += r->achieved != NULL;
    }
    assert_int_equal(kind, WL_CAP_KINDS);
    for (const struct wl_setting *r = NULL; (r = wl_setting_next_clock(r)); clocks--) assert_non_null(r->achieved);
    assert_int_equal(clocks, 0);
    assert_string_equal(wl_setting_limited(wl_setting_of_cap(WL_CAP_POWER), a), "power cap");
    assert_string_equal(wl_setting_limited(wl_setting_of_cap(WL_CAP_CLOCK), a), "SM clock");
}

static void the_default_of_a_choice_is_one_of_its_values(void **state)
{
    (void)state;
    for (const struct wl_setting *r = wl_settings_table; r->name; r++)
        if (r->type == WL_SETTING_CHOICE && !wl_opt_has_choice(r->choices, r->def)) fail_msg("%s: %s", r->name, r->def);
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

/* As SQLite's json_each gives it, so that the report and the view of the store agree. */
static void a_choice_is_read_from_extra(void **state)
{
    (void)state;
    const struct wl_setting *precision = wl_setting_find_choice("precision");
    struct wl_settings s = wl_settings_none;
    static const char *const cases[][2] = {
        { "{\"lr\": \"1\", \"precision\": \"bf16\"}", "bf16" },
        { "{\"precision\": 16}", "16" },
        { "{\"precision\": true}", "1" },
        { "{\"precision\": null}", "" },
        { "{\"lr\": \"1\"}", "" },
        { "broken", "" },
    };
    assert_null(wl_setting_choice(precision, &s, a));
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        s.extra = cases[i][0];
        const char *text = wl_setting_choice(precision, &s, a);
        assert_string_equal(text ? text : "", cases[i][1]);
    }
}

static void merged_objects_have_the_members_of_both(void **state)
{
    (void)state;
    assert_null(wl_settings_merge_extra(NULL, NULL, a));
    assert_string_equal(wl_settings_merge_extra("{\"b\":1}", NULL, a), "{\"b\":1}");
    assert_string_equal(wl_settings_merge_extra(NULL, "{\"b\":1}", a), "{\"b\":1}");
    assert_string_equal(wl_settings_merge_extra("{\"samples\": \"8\", \"lr\": 0.5}",
                                                "{\"precision\": \"bf16\", \"lr\": 0.2, \"aux\": null}", a),
                        "{\"aux\": null, \"lr\": 0.5, \"precision\": \"bf16\", \"samples\": \"8\"}");
    assert_string_equal(wl_settings_merge_extra("{}", "[1]", a), "{}");
}

static void words_are_those_of_titles(void **state)
{
    static const struct {
        const char *name, *value, *words;
    } v[] = {
        { "workers", "4", "4 workers" },
        { "workers", "1", "1 worker" },
        { "nodes", "1", "1 node" },
        { "local_batch", "16", "local batch 16" },
        { "accumulation", "2", "accumulation 2" },
        { "power_cap_w", "250", "cap 250 W" },
        { "power_cap_w", "", "no power cap" },
        { "workload", "resnet50", "resnet50" },
        { "precision", "bf16", "bf16" },
        { "recompute", "yes", "recompute yes" },
        { "my_own", "3", "my own 3" },
        { "my own", "", "no \"my own\"" },
    };
    (void)state;
    for (size_t i = 0; i < WL_COUNT(v); i++)
        assert_string_equal(wl_setting_words(v[i].name, v[i].value, a), v[i].words);
    struct wl_settings set = wl_settings_none;
    assert_string_equal(wl_settings_words(&set, a), "");
    set.workload = "bert";
    set.workers = 2;
    set.clock_mhz = 1005;
    set.extra = "{\"lr\": 0.5}";
    assert_string_equal(wl_settings_words(&set, a), "bert, 2 workers, 1005 MHz, lr 0.5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_has_the_order_of_stores_of_version_1),
        cmocka_unit_test(extra_is_sorted_by_name),
        cmocka_unit_test(what_is_missing_is_left_out_of_the_key),
        cmocka_unit_test(rows_are_found_by_name_and_by_cap),
        cmocka_unit_test(caps_and_clocks_are_gone_over_in_order),
        cmocka_unit_test(the_default_of_a_choice_is_one_of_its_values),
        cmocka_unit_test(values_are_read_through_the_row),
        cmocka_unit_test(a_choice_is_read_from_extra),
        cmocka_unit_test(merged_objects_have_the_members_of_both),
        cmocka_unit_test(words_are_those_of_titles),
    };
    a = wl_arena_new(NULL);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    wl_arena_free(a);
    return rc;
}
