/* A node watched by the scripted libnvidia-ml: values, what is missing, energy since the start, drivers that hang. */
#include "live/live.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct watched {
    struct wl_arena *a;
    struct wl_live *live;
};

static struct watched watch(const char *script, bool processes)
{
    struct watched w = { .a = wl_arena_new(NULL) };
    struct wl_live_opts o = { .power = { .rate_hz = 20, .sampler_cpu = -1, .wait_s = 5, .root = "" },
                              .processes = processes };
    struct wl_err e;
    setenv("WATTLAW_FAKE_NVML", script, 1);
    o.power.nvml_library = getenv("FAKE_NVML");
    if (!o.power.nvml_library) fail_msg("FAKE_NVML is not set: run it by `meson test`");
    wl_strs_add(w.a, &o.power.sensors, "nvml");
    if (wl_live_start(&w.live, &o, w.a, &e) < 0) fail_msg("%s", e.msg);
    return w;
}

static const char *metrics(const struct wl_live_view *v, struct wl_arena *a)
{
    struct wl_text *text = wl_new(a, struct wl_text);
    struct wl_metrics m;
    *text = WL_TEXT(a);
    wl_metrics_open(&m, text, WL_METRICS_OPENMETRICS, a);
    wl_live_metrics(&m, v);
    wl_metrics_close(&m);
    return text->s;
}

/* Looks until `ready`, for at most 20 s. */
static const struct wl_live_view *look(struct watched *w, bool (*ready)(const struct wl_live_view *v), const char *what)
{
    const int64_t end_ns = wl_now_ns() + 20 * WL_NS_PER_S;
    for (;;) {
        const struct wl_live_view *v = wl_live_look(w->live, w->a);
        if (ready(v)) return v;
        if (wl_now_ns() > end_ns) fail_msg("%s: not within 20 s:\n%s", what, metrics(v, w->a));
        usleep(20000);
    }
}

static bool has_all(const struct wl_live_view *v)
{
    bool named = false;
    for (size_t i = 0; i < v->n_processes; i++) named |= v->processes[i].pid == getpid() && v->processes[i].n_gpus == 2;
    return v->n_caps == 2 && named && wl_live_energy_total(v).value > 100;
}

static void values_are_those_of_the_driver(void **state)
{
    (void)state;
    char script[160];
    snprintf(script, sizeof script, "gpus=2; power=250,300; busy=90; pids=%d; pid_util=40; limits=100:400:350",
             (int)getpid());
    struct watched w = watch(script, true);
    const struct wl_live_view *v = look(&w, has_all, "energy, limits and processes");
    const struct wl_amount power = wl_live_power(v), energy = wl_live_energy_total(v);
    assert_true(fabs(power.value - 551) < 1e-6 && power.from == WL_SIMULATED); /* GPU k draws k W more */
    if (fabs(energy.value / v->watched_s / 551 - 1) > 0.2) fail_msg("%g J in %g s", energy.value, v->watched_s);
    assert_string_equal(v->energy_scope, "gpu");
    assert_true(fabs(v->caps[0].set - 350) < 1e-6 && fabs(v->caps[1].enforced - 350) < 1e-6);
    const char *text = metrics(v, w.a);
    static const char *const lines[] = {
        "wattlaw_power_watts{host=",
        "} 250\n",
        "} 301\n",
        ("device=\"GPU-a0000000-0000-4000-8000-fa4e00000000\",sensor=\"nvml\",scope=\"gpu\",provenance=\"simulated\","
         "variant=\"instant\"} 250\n"),
        "# TYPE wattlaw_energy_joules counter\n",
        "method=\"counter\",counted=\"true\"} ",
        "wattlaw_utilization_ratio{",
        "} 0.9\n",
        "wattlaw_sm_clock_hertz{",
        "} 1410000000\n",
        "wattlaw_power_cap_watts{",
        "limit=\"device\",provenance=\"simulated\"} 350\n",
        "wattlaw_temperature_celsius{",
        "wattlaw_sampler_lost_samples_total{",
        "wattlaw_sensor_open{",
        "# EOF\n",
    };
    for (size_t i = 0; i < WL_COUNT(lines); i++)
        if (!strstr(text, lines[i])) fail_msg("'%s' is not in:\n%s", lines[i], text);
    assert_null(strstr(text, "} nan"));
    wl_arena_free(w.a);
}

static bool power_fails(const struct wl_live_view *v) { return isnan(wl_live_power(v).value); }

/* The counter of the other GPU goes on; nothing is 0. */
static void what_fails_is_absent(void **state)
{
    (void)state;
    struct watched w = watch("gpus=2; power=100; fail=1:*:15:0.3", false);
    const struct wl_live_view *v = look(&w, power_fails, "a lost GPU");
    const char *text = metrics(v, w.a);
    const char *unit = "# UNIT wattlaw_power_watts watts\n", *from = strstr(text, unit);
    assert_non_null(from);
    const char *samples = wl_strndup(w.a, from + strlen(unit), strcspn(from + strlen(unit), "#"));
    assert_non_null(strstr(samples, "GPU-a0000000-0000"));
    if (strstr(samples, "GPU-a0000001")) fail_msg("a GPU that is lost has a sample:\n%s", samples);
    int channel;
    const struct wl_live_reading *r = wl_live_reading_of(v, 1, WL_POWER, &channel);
    assert_true(isnan(r->value));
    assert_non_null(strstr(r->why, "GPU is lost"));
    wl_arena_free(w.a);
}

static bool hangs(const struct wl_live_view *v)
{
    for (size_t i = 0; i < v->sensors->n_channels; i++)
        if (v->readings[i].why && strstr(v->readings[i].why, "has not answered")) return true;
    return false;
}

/* A call that does not return holds up neither who looks nor the end. */
static void a_driver_that_hangs_holds_nobody_up(void **state)
{
    (void)state;
    struct watched w = watch("power=100; hang=0:*:0.5", true);
    look(&w, hangs, "a driver that hangs");
    const int64_t begin_ns = wl_now_ns();
    const struct wl_live_view *v = wl_live_look(w.live, w.a);
    const double took_s = (double)(wl_now_ns() - begin_ns) / WL_NS_PER_S;
    assert_null(strstr(metrics(v, w.a), "\nwattlaw_power_watts{"));
    if (took_s > 1) fail_msg("looking took %g s", took_s);
    wl_arena_free(w.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_driver),
        cmocka_unit_test(what_fails_is_absent),
        cmocka_unit_test(a_driver_that_hangs_holds_nobody_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
