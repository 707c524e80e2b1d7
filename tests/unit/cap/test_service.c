/* The cap service's rules, and what crosses its socket. */
#include "fixture.h"

#include "cap/service/policy.h"
#include "cap/service/protocol.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct wl_service_policy parse(struct fixture *p, const char *text)
{
    struct wl_service_policy out;
    if (wl_service_policy_parse("caps.conf", text, &out, p->a, &p->e) < 0) fail_msg("%s", p->e.msg);
    return out;
}

static void assert_rejected(struct fixture *p, const char *text, const char *why)
{
    struct wl_service_policy out;
    assert_int_equal(wl_service_policy_parse("caps.conf", text, &out, p->a, &p->e), WL_EINVAL);
    if (!strstr(p->e.msg, why)) fail_msg("'%s' does not say '%s'", p->e.msg, why);
}

static void broken_rules_are_named(void **state)
{
    struct fixture *p = *state;
    assert_rejected(p, "[service]\ngroup = x\nleese = 3s\n", "caps.conf:3");
    assert_rejected(p, "[service]\nlease = 1s\n", "caps.conf:2");
    assert_rejected(p, "[alow gpus]\ndevices = *\n", "unknown section [alow gpus]");
    assert_rejected(p, "[allow gpus]\npower_cap_w = hardware\n", "has no devices");
    assert_rejected(p, "[allow gpus]\ndevices = *\n", "allows no limit");
    static const char *const ranges[] = { "",           "any",      "100",        "100 to",  "to 300",
                                          "300 to 100", "0 to 100", "100 to 1e9", "100-300", "nan to 300" };
    for (size_t i = 0; i < WL_COUNT(ranges); i++)
        assert_rejected(p, wl_strf(p->a, "[allow gpus]\ndevices = *\npower_cap_w = %s\n", ranges[i]),
                        "expected hardware, or MIN to MAX");
}

static struct wl_control control(const struct wl_setter_ops *ops, const char *device, enum wl_cap_kind kind, double min,
                                 double max)
{
    return (struct wl_control) { .ops = ops, .device = device, .kind = kind, .range = { .min = min, .max = max } };
}

static void assert_range(struct fixture *p, const struct wl_service_policy *rules, struct wl_control k, double min,
                         double max)
{
    double low, high;
    if (wl_service_policy_range(rules, &k, &low, &high, &p->e) < 0) fail_msg("%s", p->e.msg);
    if (low != min || high != max) fail_msg("%s: %g to %g", k.device, low, high);
}

static void assert_denied(struct fixture *p, const struct wl_service_policy *rules, struct wl_control k,
                          const char *why)
{
    double low, high;
    assert_int_equal(wl_service_policy_range(rules, &k, &low, &high, &p->e), WL_EPERM);
    if (!strstr(p->e.msg, why)) fail_msg("'%s' does not say '%s'", p->e.msg, why);
}

static void a_rule_never_exceeds_the_hardware(void **state)
{
    struct fixture *p = *state;
    const struct wl_setter_ops *nvml = &wl_setter_nvml, *rapl = &wl_setter_rapl;
    struct wl_service_policy rules = parse(p, "[allow one]\ndevices = GPU-1\npower_cap_w = 50 to 300\n"
                                              "[allow three]\ndevices = GPU-3\npower_cap_w = 150 to 900\n"
                                              "[allow rest]\ndevices = GPU-*, rapl:package-?/long_term\npower_cap_w = "
                                              "hardware\nclock_mhz = hardware\n"
                                              "[allow short]\ndevices = rapl:*\npower_cap_w = 60 to 500\n");
    assert_range(p, &rules, control(nvml, "GPU-1", WL_CAP_POWER, 100, 400), 100, 300);
    assert_range(p, &rules, control(nvml, "GPU-2", WL_CAP_POWER, 100, 400), 100, 400);
    assert_range(p, &rules, control(nvml, "GPU-3", WL_CAP_POWER, 100, 400), 150, 400);
    assert_range(p, &rules, control(nvml, "GPU-1", WL_CAP_CLOCK, NAN, 1410), 1, 1410);
    assert_range(p, &rules, control(rapl, "rapl:package-0/short_term", WL_CAP_POWER, 1, NAN), 60, 500);
    assert_denied(p, &rules, control(rapl, "rapl:package-0/long_term", WL_CAP_POWER, 1, 205),
                  "has no minimum of its own");
    assert_denied(p, &rules, control(nvml, "GPU-2", WL_CAP_POWER, NAN, NAN), "has no minimum");
    assert_denied(p, &rules, control(nvml, "GPU-2", WL_CAP_CLOCK, NAN, NAN), "has no maximum");
    assert_denied(p, &rules, control(nvml, "GPU-1", WL_CAP_POWER, 350, 400), "takes no value");
    assert_denied(p, &rules, control(nvml, "GPU-1", WL_CAP_MODULE, 100, 400), "do not allow");
    assert_denied(p, &rules, control(nvml, "cpufreq:policy0", WL_CAP_CLOCK, 800, 3500), "do not allow");
    assert_true(wl_service_policy_has_gpus(&rules));
    rules = parse(p, "[allow cpus]\ndevices = rapl:*, cpufreq:policy0\npower_cap_w = 60 to 500\n");
    assert_false(wl_service_policy_has_gpus(&rules));
}

static void a_full_packet_crosses_whole(void **state)
{
    (void)state;
    static struct wl_service_packet p, same;
    static char data[WL_SERVICE_PACKET_MAX], name[WL_SERVICE_DEVICE_MAX + 2];
    struct wl_err e;
    memset(name, 'x', WL_SERVICE_DEVICE_MAX + 1);
    p.verb = WL_SERVICE_HOLD;
    assert_false(wl_service_add(&p, WL_CAP_POWER, 250, NAN, name));
    assert_false(wl_service_add(&p, WL_CAP_POWER, 250, NAN, ""));
    assert_false(wl_service_add(&p, WL_CAP_POWER, 250, NAN, "GPU 1"));
    assert_false(wl_service_add(&p, WL_CAP_POWER, 250, NAN, "GPU-1\npower_cap_w 1 GPU-2"));
    name[WL_SERVICE_DEVICE_MAX] = '\0';
    for (int i = 0; i < WL_SERVICE_LIMITS_MAX; i++) {
        snprintf(name, sizeof name, "cpufreq:policy%d", i);
        assert_true(wl_service_add(&p, WL_CAP_CLOCK, 9999998.125, NAN, name));
    }
    assert_false(wl_service_add(&p, WL_CAP_POWER, 250, NAN, "GPU-1"));
    int n = wl_service_write(&p, data, &e);
    assert_true(n > 0);
    if (wl_service_read_request(data, (size_t)n, &same, &e) < 0) fail_msg("%s", e.msg);
    assert_int_equal(same.n, WL_SERVICE_LIMITS_MAX);
    assert_true(same.v[WL_SERVICE_LIMITS_MAX - 1].low == 9999998.125);
}

static void a_limit_occurs_once(void **state)
{
    (void)state;
    static struct wl_service_packet p;
    static const char twice[] =
        "wattlaw-caps 1 hold\npower_cap_w 250 GPU-1\nclock_mhz 900 GPU-1\npower_cap_w 250 GPU-1\n";
    struct wl_err e;
    assert_int_equal(wl_service_read_request(twice, sizeof twice - 1, &p, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "line 4 of the packet: expected each limit of a device once"));
}

/* Whole lines to its end, so that a reader which cuts it would act on a part of the request. */
static void a_packet_that_is_too_long_is_refused(void **state)
{
    (void)state;
    static struct wl_service_packet p;
    static char data[WL_SERVICE_PACKET_MAX + 200];
    struct wl_err e;
    size_t n = (size_t)sprintf(data, "wattlaw-caps 1 hold\n");
    for (int i = 0; n < WL_SERVICE_PACKET_MAX; i++) {
        if (n + 100 < WL_SERVICE_PACKET_MAX) /* a name of 64 characters */
            n += (size_t)sprintf(data + n, "power_cap_w 250 GPU-%060d\n", i);
        else
            n += (size_t)sprintf(data + n, "power_cap_w 250 %0*d\n", WL_SERVICE_PACKET_MAX + 1 - (int)n - 17, i);
    }
    assert_int_equal(n, WL_SERVICE_PACKET_MAX + 1);
    assert_int_equal(wl_service_read_request(data, n, &p, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "more than 131072 bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(broken_rules_are_named, cap_fixture_setup, cap_fixture_teardown),
        cmocka_unit_test_setup_teardown(a_rule_never_exceeds_the_hardware, cap_fixture_setup, cap_fixture_teardown),
        cmocka_unit_test(a_full_packet_crosses_whole),
        cmocka_unit_test(a_limit_occurs_once),
        cmocka_unit_test(a_packet_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
