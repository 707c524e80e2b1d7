/* Both formats of metrics: names, units, escapes, what is missing, and which one a client gets. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct wl_metrics_family power = { "power_watts", "watts", "Power.", WL_METRICS_GAUGE },
                                      energy = { "energy_joules", "joules", "Energy.", WL_METRICS_COUNTER },
                                      up = { "up", NULL, "Whether it is up.", WL_METRICS_GAUGE };

static const char *written(enum wl_metrics_format format, struct wl_arena *a)
{
    struct wl_text *text = wl_new(a, struct wl_text);
    struct wl_metrics m;
    *text = WL_TEXT(a);
    wl_metrics_open(&m, text, format, a);
    wl_metrics_begin(&m, &power);
    wl_metrics_label(&m, "device", "a\"b\\c\nd");
    wl_metrics_label(&m, "9 lives", "\xff");
    wl_metrics_label(&m, "none", NULL);
    wl_metrics_label(&m, "empty", "");
    wl_metrics_sample(&m, 250.5);
    wl_metrics_label(&m, "device", "missing");
    wl_metrics_sample(&m, NAN);
    wl_metrics_begin(&m, &energy);
    wl_metrics_label(&m, "a b", "1");
    wl_metrics_label(&m, "a.b", "2");
    wl_metrics_sample(&m, 0.1);
    wl_metrics_begin(&m, &up);
    wl_metrics_sample(&m, 1);
    wl_metrics_close(&m);
    return text->s;
}

static void both_formats(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    assert_string_equal(written(WL_METRICS_OPENMETRICS, a),
                        "# HELP wattlaw_power_watts Power.\n# TYPE wattlaw_power_watts gauge\n"
                        "# UNIT wattlaw_power_watts watts\n"
                        "wattlaw_power_watts{device=\"a\\\"b\\\\c\\nd\",setting_9_lives=\"\\\\xff\"} 250.5\n"
                        "# HELP wattlaw_energy_joules Energy.\n# TYPE wattlaw_energy_joules counter\n"
                        "# UNIT wattlaw_energy_joules joules\n"
                        "wattlaw_energy_joules_total{a_b=\"1\",a_b_2=\"2\"} 0.1\n"
                        "# HELP wattlaw_up Whether it is up.\n# TYPE wattlaw_up gauge\nwattlaw_up 1\n# EOF\n");
    assert_string_equal(written(WL_METRICS_TEXT, a),
                        "# HELP wattlaw_power_watts Power.\n# TYPE wattlaw_power_watts gauge\n"
                        "wattlaw_power_watts{device=\"a\\\"b\\\\c\\nd\",setting_9_lives=\"\\\\xff\"} 250.5\n"
                        "# HELP wattlaw_energy_joules_total Energy.\n# TYPE wattlaw_energy_joules_total counter\n"
                        "wattlaw_energy_joules_total{a_b=\"1\",a_b_2=\"2\"} 0.1\n"
                        "# HELP wattlaw_up Whether it is up.\n# TYPE wattlaw_up gauge\nwattlaw_up 1\n");
    wl_arena_free(a);
}

/* What Prometheus 2.42 and 3.0, curl and a browser send, and what is malformed. */
static void a_client_gets_what_it_reads(void **state)
{
    (void)state;
    static const struct {
        const char *accept;
        enum wl_metrics_format want;
    } cases[] = {
        { NULL, WL_METRICS_TEXT },
        { "", WL_METRICS_TEXT },
        { "*/*", WL_METRICS_TEXT },
        { "text/html,application/xhtml+xml,*/*;q=0.8", WL_METRICS_TEXT },
        { "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
          "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
          WL_METRICS_OPENMETRICS },
        { "text/plain;version=0.0.4;q=0.6, APPLICATION/OpenMetrics-Text ; version=1.0.0; Q=0.7",
          WL_METRICS_OPENMETRICS },
        { "application/openmetrics-text;q=0.3,text/plain", WL_METRICS_TEXT },
        { "application/openmetrics-text;q=0", WL_METRICS_TEXT },
        { "application/openmetrics-text;q=", WL_METRICS_TEXT },
        { "application/openmetrics-textual", WL_METRICS_TEXT },
        { ",,;q=1,;", WL_METRICS_TEXT },
    };
    for (size_t i = 0; i < WL_COUNT(cases); i++)
        if (wl_metrics_accepted(cases[i].accept) != cases[i].want)
            fail_msg("'%s' does not get format %d", cases[i].accept, cases[i].want);
    assert_non_null(
        strstr(wl_metrics_media_type(WL_METRICS_OPENMETRICS), "application/openmetrics-text; version=1.0.0"));
    assert_non_null(strstr(wl_metrics_media_type(WL_METRICS_TEXT), "text/plain; version=0.0.4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(both_formats), cmocka_unit_test(a_client_gets_what_it_reads) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
