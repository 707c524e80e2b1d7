/* Hardware cards: the built-in ones, and what is wrong with others. */
#include "check.h"
#include "planner/planner.h"

/* A document that one can open, or the word for what nobody published. */
static bool is_traceable(const struct wl_card_source *s)
{
    return s->text && strlen(s->text) > 10 && (s->assumed || (s->url && wl_str_starts(s->url, "https://")));
}

static void every_builtin_card_reads_and_has_a_source_for_each_number(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    size_t n, numbers = 0, assumed = 0;
    const char *const *names = wl_hardware_card_names(&n);
    for (size_t i = 0; i < n; i++) {
        struct wl_hardware_card c;
        struct wl_err e;
        if (wl_hardware_card_find(names[i], NULL, &c, a, &e)) fail_msg("%s: %s", names[i], e.msg);
        const struct wl_card_source *source;
        const char *key, *unit;
        double value;
        for (size_t k = 0; wl_hardware_card_number(&c, k, &key, &value, &unit, &source); k++) {
            assert_true(isnan(value) == (source->text == NULL));
            if (!isnan(value) && !is_traceable(source)) fail_msg("%s: %s: no document with its URL", names[i], key);
            numbers += !isnan(value), assumed += source->assumed;
        }
        assert_true(c.max_w > 0 && c.memory_b_s > 0);
        assert_true(!(c.lowest_clock_mhz >= c.clock_mhz) && !(c.idle_w >= c.max_w));
    }
    assert_true(n >= 10 && numbers > 8 * n && 10 * assumed < numbers);
    wl_arena_free(a);
}

static void units_are_converted(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_hardware_card c;
    struct wl_err e;
    assert_int_equal(wl_hardware_card_find("h100-sxm5", NULL, &c, a, &e), 0);
    assert_float_equal(c.memory_b_s, 3.35e12, 1);
    assert_float_equal(wl_hardware_card_peak(&c, "fp8"), 1979e12, 1);
    assert_true(isnan(wl_hardware_card_peak(&c, "fp4")));
    assert_int_equal(wl_hardware_card_parse("x",
                                            "{\"name\":\"x\",\"title\":\"x\",\"kind\":\"cpu\",\"numbers\":{\"memory\":"
                                            "{\"value\":2048,\"unit\":\"MiB\",\"source\":\"s\"},\"clock\":{\"value\":"
                                            "1.5,\"unit\":\"GHz\",\"source\":\"s\"}}}",
                                            &c, a, &e),
                     0);
    assert_float_equal(c.memory_b, 2147483648., 0);
    assert_float_equal(c.clock_mhz, 1500, 0);
    assert_true(isnan(c.idle_w) && c.idle_w_source.text == NULL);
    wl_arena_free(a);
}

static void a_number_has_a_source_or_is_assumed(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_hardware_card c;
    struct wl_err e;
    const char *text = "{\"name\":\"x\",\"title\":\"x\",\"kind\":\"gpu\",\"numbers\":{"
                       "\"max_power\":{\"value\":300,\"unit\":\"W\",\"source\":\"datasheet, table 1\","
                       "\"url\":\"https://example.org/x.pdf\"},"
                       "\"lowest_clock\":{\"value\":135,\"unit\":\"MHz\",\"assumed\":\"the idle clock\"}}}";
    if (wl_hardware_card_parse("x", text, &c, a, &e)) fail_msg("%s", e.msg);
    assert_string_equal(c.max_w_source.text, "datasheet, table 1");
    assert_string_equal(c.max_w_source.url, "https://example.org/x.pdf");
    assert_false(c.max_w_source.assumed);
    assert_float_equal(c.lowest_clock_mhz, 135, 0);
    assert_string_equal(c.lowest_clock_mhz_source.text, "the idle clock");
    assert_true(c.lowest_clock_mhz_source.assumed && c.lowest_clock_mhz_source.url == NULL);
    wl_arena_free(a);
}

static void bad_cards_say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *numbers, *message;
    } cases[] = {
        { "\"max_power\":{\"value\":1,\"unit\":\"Watt\",\"source\":\"s\"}",
          "bad.json: max_power: unknown unit Watt: expected W, mW, kW" },
        { "\"memory_bandwidth\":{\"value\":1,\"unit\":\"GB\",\"source\":\"s\"}",
          "bad.json: memory_bandwidth: unknown unit GB: expected B/s, GB/s, TB/s" },
        { "\"max_power\":{\"value\":1,\"source\":\"s\"}",
          "bad.json: max_power: unknown unit (none): expected W, mW, kW" },
        { "\"max_power\":{\"value\":-5,\"unit\":\"W\",\"source\":\"s\"}",
          "bad.json: max_power: value -5 W: expected a number from 0.001 to 100000 W" },
        { "\"memory\":{\"value\":1e308,\"unit\":\"GB\",\"source\":\"s\"}",
          "bad.json: memory: value 1e+308 GB: expected a number from 1 to 1e+18 B" },
        { "\"devices_per_node\":{\"value\":1e308,\"unit\":\"1\",\"source\":\"s\"}",
          "bad.json: devices_per_node: value 1e+308: expected a whole number from 1 to 1024" },
        { "\"devices_per_node\":{\"value\":2.5,\"unit\":\"1\",\"source\":\"s\"}",
          "bad.json: devices_per_node: value 2.5: expected a whole number from 1 to 1024" },
        { "\"clock\":{\"value\":\"fast\",\"unit\":\"MHz\",\"source\":\"s\"}",
          "bad.json: clock: value nan MHz: expected a number from 1 to 100000 MHz" },
        { "\"max_power\":{\"value\":5,\"unit\":\"W\"}",
          "bad.json: max_power: the source is missing: expected who published or measured the number, or assumed" },
        { "\"max_power\":{\"value\":5,\"unit\":\"W\",\"source\":\"\",\"url\":\"https://x\"}",
          "bad.json: max_power: the source is missing" },
        { "\"max_power\":{\"value\":5,\"unit\":\"W\",\"source\":\"s\",\"assumed\":\"s\"}",
          "bad.json: max_power: has both source and assumed: expected one of them" },
        { "\"max_power\":{\"value\":5,\"unit\":\"W\",\"source\":\"s\",\"url\":\"page 3\"}",
          "bad.json: max_power: url page 3: expected https:// or http://" },
        { "\"max_powr\":{\"value\":5,\"unit\":\"W\",\"source\":\"s\"}",
          "bad.json: unknown number max_powr; did you mean max_power?" },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_hardware_card c;
        struct wl_err e;
        const char *text =
            wl_strf(a, "{\"name\":\"x\",\"title\":\"x\",\"kind\":\"gpu\",\"numbers\":{%s}}", cases[i].numbers);
        assert_int_equal(wl_hardware_card_parse("bad.json", text, &c, a, &e), WL_EINVAL);
        if (!wl_str_starts(e.msg, cases[i].message)) fail_msg("%s, not %s", e.msg, cases[i].message);
    }
    wl_arena_free(a);
}

/* What wattlaw-train --explain --json prints, with a number of ours in it. */
static const char *workload_text(const char *batch, const char *parameters, const char *flops, const char *bytes,
                                 const char *precision, struct wl_arena *a)
{
    return wl_strf(a,
                   "{\"options\":{\"local_batch\":%s},\"parameters\":%s,\"train_flops_per_sample\":%s,"
                   "\"precision\":\"%s\",\"steps\":[{\"training\":true,\"buffers\":[{\"memory\":\"value\","
                   "\"bytes\":%s}]}],\"memory\":{\"parameter_bytes\":1000,\"gradient_bytes\":1000,"
                   "\"optimizer_bytes\":0,\"statistic_bytes\":0,\"total_bytes\":5000}}",
                   batch, parameters, flops, precision, bytes);
}

/* A workload of which no key was given. */
static struct wl_planner_workload unset(void)
{
    return (struct wl_planner_workload) { .local_batch = NAN,
                                          .parameters = NAN,
                                          .gflop = NAN,
                                          .traffic_mb = NAN,
                                          .step_mb = NAN,
                                          .fixed_memory_gb = NAN,
                                          .sample_memory_mb = NAN };
}

static void workload_cards_fill_in_what_no_key_gives(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_planner_workload w = unset();
    struct wl_err e;
    w.parameters = 7;
    const char *good = workload_text("4", "100", "2e9", "8e6", "f32", a);
    if (wl_planner_workload_card_parse("net.json", good, &w, a, &e)) fail_msg("%s", e.msg);
    assert_float_equal(w.parameters, 7, 0); /* the key comes first */
    assert_float_equal(w.gflop, 2, 1e-15);
    assert_float_equal(w.traffic_mb, 2, 1e-15);
    assert_float_equal(w.sample_memory_mb, 3000 / 1e6 / 4, 1e-15);
    assert_string_equal(w.dtype, "f32");
    w = unset();
    if (wl_planner_workload_card_parse("net.json", workload_text("4", "100", "null", "8e6", "f32", a), &w, a, &e))
        fail_msg("%s", e.msg);
    assert_true(isnan(w.gflop));
    w = unset();
    const char *tf32 = workload_text("4", "100", "2e9", "8e6", "tf32", a);
    if (wl_planner_workload_card_parse("net.json", tf32, &w, a, &e)) fail_msg("%s", e.msg);
    assert_string_equal(w.dtype, "tf32");
    wl_arena_free(a);
}

static void numbers_of_workload_cards_are_bounded(void **state)
{
    (void)state;
    static const struct {
        const char *batch, *parameters, *flops, *bytes, *message;
    } cases[] = {
        { "1e308", "100", "2e9", "8e6",
          "net.json: options.local_batch gives local_batch = 1e+308: expected a number from 1 to 1000000000 "
          "(samples)" },
        { "4", "-1", "2e9", "8e6", "net.json: parameters gives parameters = -1: expected a number from 1 to 1e+15" },
        { "4", "100", "1e308", "8e6",
          "net.json: train_flops_per_sample gives flops = 1e+299: expected a number from 1e-09 to 1e+12 (GFLOP)" },
        { "4", "100", "2e9", "1e308",
          "net.json: steps[0].buffers[0].bytes = 1e+308: expected a number from 0 to 1e+18" },
        { "4", "100", "2e9", "\"many\"", "net.json: steps[0].buffers[0].bytes = nan: expected a number" },
        { "null", "100", "2e9", "8e6", "net.json: not a workload card: expected the output of wattlaw-train" },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_planner_workload w = unset();
        struct wl_err e = { 0 };
        const char *text = workload_text(cases[i].batch, cases[i].parameters, cases[i].flops, cases[i].bytes, "f32", a);
        assert_int_equal(wl_planner_workload_card_parse("net.json", text, &w, a, &e), WL_EINVAL);
        if (!wl_str_starts(e.msg, cases[i].message)) fail_msg("%s, not %s", e.msg, cases[i].message);
    }
    wl_arena_free(a);
}

static void unknown_cards_are_named(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_hardware_card c;
    struct wl_err e;
    assert_int_equal(wl_hardware_card_find("h100-sxm", "/proc/nowhere", &c, a, &e), WL_ENOENT);
    assert_non_null(strstr(e.msg, "no hardware card h100-sxm; did you mean h100-sxm5?"));
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_builtin_card_reads_and_has_a_source_for_each_number),
        cmocka_unit_test(units_are_converted),
        cmocka_unit_test(a_number_has_a_source_or_is_assumed),
        cmocka_unit_test(bad_cards_say_what_is_wrong),
        cmocka_unit_test(workload_cards_fill_in_what_no_key_gives),
        cmocka_unit_test(numbers_of_workload_cards_are_bounded),
        cmocka_unit_test(unknown_cards_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
