/* Each setter on fake trees: what it finds, sets, rejects and restores. */
#include "fixture.h"

#include "cap/setter.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define LONG(p)  "sys/class/powercap/intel-rapl:" #p "/constraint_0_power_limit_uw"
#define SHORT(p) "sys/class/powercap/intel-rapl:" #p "/constraint_1_power_limit_uw"
#define FREQ(p)  "sys/devices/system/cpu/cpufreq/policy" #p "/scaling_max_freq"

static struct wl_caps *set(struct fixture *p, struct wl_cap_request r)
{
    struct wl_caps *c;
    if (wl_caps_set(&c, &r, &p->opts, &p->power, p->a, &p->e) < 0) fail_msg("%s", p->e.msg);
    return c;
}

static void assert_refused(struct fixture *p, struct wl_cap_request r, int code, const char *text)
{
    struct wl_caps *c;
    int rc = wl_caps_set(&c, &r, &p->opts, &p->power, p->a, &p->e);
    if (rc != code) fail_msg("%d and not %d: %s", rc, code, rc < 0 ? p->e.msg : "");
    if (!strstr(p->e.msg, text)) fail_msg("'%s' does not name %s", p->e.msg, text);
    assert_int_equal(cap_fixture_journals(p), 0);
}

static void assert_file(struct fixture *p, const char *path, const char *want)
{
    assert_string_equal(cap_fixture_get(p, path), want);
}

static void the_table_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; wl_setters[i]; i++) {
        const struct wl_setter_ops *s = wl_setters[i];
        assert_non_null(s->name);
        assert_non_null(s->help);
        assert_non_null(s->open);
        assert_non_null(s->get);
        assert_true(!s->set == (s->hold && s->keep && s->release)); /* one way to set, whole */
        assert_ptr_equal(wl_setter_find(s->name), s);
    }
    for (int k = 0; k < WL_CAP_KINDS; k++) assert_non_null(wl_cap_kind_name(k));
}

static void rapl_sets_both_limits_of_each_package(void **state)
{
    struct fixture *p = *state;
    struct wl_caps *c = set(p, watts(150.5));
    size_t n;
    const struct wl_cap_setting *s = wl_caps_settings(c, &n);
    assert_int_equal(n, 4);
    assert_string_equal(s[0].device, "rapl:package-0/long_term");
    assert_true(s[0].found == 205 && s[1].found == 246 && s[0].enforced == 150.5);
    assert_file(p, LONG(0), "150500000");
    assert_file(p, SHORT(1), "150500000");
    assert_file(p, "sys/class/powercap/intel-rapl:0:0/constraint_0_power_limit_uw", "40000000");
    assert_file(p, "sys/class/powercap/intel-rapl-mmio:0/constraint_0_power_limit_uw", "205000000");
    assert_int_equal(cap_fixture_journals(p), 1);
    assert_null(wl_caps_check(c));
    assert_int_equal(wl_caps_release(c, &p->e), 0);
    assert_file(p, LONG(0), "205000000");
    assert_file(p, SHORT(1), "246000000");
    assert_int_equal(cap_fixture_journals(p), 0);
    assert_int_equal(wl_caps_release(c, &p->e), 0);
}

static void cpufreq_sets_the_maximum_frequency(void **state)
{
    struct fixture *p = *state;
    cap_fixture_put(p, FREQ(1), "3000000\n"); /* the site's own limit is restored */
    struct wl_caps *c = set(p, mhz(2100));
    assert_file(p, FREQ(0), "2100000");
    assert_file(p, FREQ(1), "2100000");
    assert_int_equal(wl_caps_release(c, &p->e), 0);
    assert_file(p, FREQ(0), "3500000");
    assert_file(p, FREQ(1), "3000000");
}

/* In a tree of plain files a shorter number leaves the rest of a longer one after it. Only the first line is read. */
static void text_after_a_number_is_ignored(void **state)
{
    struct fixture *p = *state;
    cap_fixture_put(p, FREQ(0), "3500000\n12\n");
    struct wl_caps *c = set(p, mhz(900));
    assert_file(p, FREQ(0), "900000\n\n12");
    assert_null(wl_caps_check(c));
    assert_int_equal(wl_caps_release(c, &p->e), 0);
    assert_file(p, FREQ(0), "3500000\n12");
}

static void a_value_out_of_range_is_rejected(void **state)
{
    struct fixture *p = *state;
    assert_refused(p, watts(300), WL_EINVAL, "205 W");
    assert_refused(p, mhz(100), WL_EINVAL, "800 to 3500 MHz");
    assert_refused(p, mhz(4000), WL_EINVAL, "800 to 3500 MHz");
    assert_file(p, FREQ(0), "3500000");
}

static void disabled_limits_are_rejected(void **state)
{
    struct fixture *p = *state;
    cap_fixture_put(p, "sys/class/powercap/intel-rapl:1/enabled", "0\n");
    assert_refused(p, watts(150), WL_EUNAVAIL, "switched off");
    assert_file(p, LONG(0), "205000000");
}

static void a_failed_write_restores_the_other_caps(void **state)
{
    struct fixture *p = *state;
    if (geteuid() == 0) {
        print_message("SKIP: root writes every file\n");
        skip();
    }
    cap_fixture_mode(p, SHORT(1), 0444);
    assert_refused(p, watts(150), WL_EPERM, "intel-rapl:1/constraint_1");
    assert_file(p, LONG(0), "205000000");
    struct wl_cap_ability can;
    wl_cap_probe(WL_CAP_POWER, &p->opts, &p->power, &can, p->a);
    assert_non_null(strstr(can.why, "constraint_1"));
    assert_non_null(strstr(can.fix, "sudo"));
}

static void missing_devices_are_reported_by_name(void **state)
{
    struct fixture *p = *state;
    struct wl_cap_ability can;
    p->power.root = "/proc/nowhere";
    assert_refused(p, watts(150), WL_EUNAVAIL, "/proc/nowhere/sys/class/powercap");
    struct wl_cap_request r = wl_cap_none;
    r.value[WL_CAP_MEM_CLOCK] = 1000;
    assert_refused(p, r, WL_EUNAVAIL, "mem_clock_mhz cannot be set");
    wl_cap_probe(WL_CAP_CLOCK, &p->opts, &p->power, &can, p->a);
    assert_null(can.setter);
    assert_non_null(strstr(can.why, "cpufreq"));
}

static void gpus_come_before_cpus(void **state)
{
    struct fixture *p = *state;
    cap_fixture_gpus(p, "gpus=2; limits=100:300:250");
    struct wl_caps *c = set(p, watts(150));
    size_t n;
    const struct wl_cap_setting *s = wl_caps_settings(c, &n);
    assert_int_equal(n, 2);
    assert_string_equal(s[1].setter, "nvml");
    assert_true(s[1].range.min == 100 && s[1].range.max == 300 && s[1].default_value == 250 && s[1].found == 250);
    assert_true(s[1].simulated);
    assert_file(p, LONG(0), "205000000");
    assert_int_equal(wl_caps_release(c, &p->e), 0);

    struct wl_cap_ability can;
    wl_cap_probe(WL_CAP_POWER, &p->opts, &p->power, &can, p->a);
    assert_null(can.why);
    assert_true(can.range.min == 100 && can.range.max == 300 && can.present == 250 && can.simulated);
    assert_string_equal(can.devices, "2 x Fake GPU");
}

static void a_lost_clock_lock_is_detected(void **state)
{
    struct fixture *p = *state;
    cap_fixture_gpus(p, "");
    struct wl_caps *c = set(p, mhz(900));
    struct wl_gpus *g;
    const char *fix;
    assert_null(wl_caps_check(c));
    assert_int_equal(wl_gpus_open(&g, &p->power, true, p->a, &fix, &p->e), 0);
    assert_int_equal(wl_gpu_clock_unlock(g, 0, WL_GPU_CLOCK_SM, &p->e), 0); /* somebody else */
    const char *why = wl_caps_check(c);
    assert_non_null(why);
    assert_non_null(strstr(why, "runs at 1410 MHz"));
    assert_int_equal(wl_caps_release(c, &p->e), 0);
}

static void freeing_the_arena_restores_the_caps(void **state)
{
    struct fixture *p = *state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_caps *c;
    struct wl_cap_request r = watts(150);
    assert_int_equal(wl_caps_set(&c, &r, &p->opts, &p->power, a, &p->e), 0);
    assert_file(p, LONG(1), "150000000");
    wl_arena_free(a);
    assert_file(p, LONG(1), "205000000");
    assert_int_equal(cap_fixture_journals(p), 0);
}

/* What wl_caps_check says after `polls` readings of GPUs of this script, asked for 1005 MHz; the driver is opened anew.
 */
static const char *checked(struct fixture *p, const char *script, int polls)
{
    struct wl_arena *outer = p->a;
    p->a = wl_arena_new(outer);
    cap_fixture_gpus(p, script);
    struct wl_caps *c = set(p, mhz(1005));
    for (int i = 0; i < polls; i++) wl_caps_poll(c);
    const char *why = wl_caps_check(c);
    if (why) why = wl_strdup(outer, why);
    assert_int_equal(cap_fixture_journals(p), 0);
    assert_int_equal(wl_caps_release(c, &p->e), 0);
    wl_arena_free(p->a);
    p->a = outer;
    return why;
}

static void assert_says(const char *why, const char *text)
{
    if (!why || !strstr(why, text)) fail_msg("'%s' does not name %s", why ? why : "no word", text);
}

/* Slurm sets the clocks of a job's GPUs: seen while the job runs, and named where it did not. */
static void slurm_is_read_back_while_the_job_runs(void **state)
{
    struct fixture *p = *state;
    p->opts.setter = "slurm";
    assert_null(checked(p, "gpus=2;clock=1005", 1));
    assert_null(checked(p, "gpus=2;clock=705,1020", 1)); /* idle; the next step above */
    assert_says(
        checked(p, "gpus=2;clock=1005,1410", 1),
        "0001-0000-4000-8000-fa4e00000000 was at 1410 MHz while the job ran: the request to slurm for 1005 MHz had no "
        "effect");
    assert_says(checked(p, "gpus=2;clock=1005", 0), "was not read while the job ran"); /* a short one */
    assert_refused(p, watts(200), WL_EUNAVAIL, "the setter slurm does not set power_cap_w");
    assert_refused(p, mhz(9000), WL_EINVAL, "out of range");
}

/* The step starts a while after the job, and what it was set to may not last. */
static void slurm_sets_clocks_after_the_start(void **state)
{
    struct fixture *p = *state;
    static const char lock[] = "\0\0\0\0\355\3\0\0\0\0\0\0\0\0\0"; /* 1005 MHz, as the fake driver keeps it */
    const char *limits = wl_path_join(p->a, p->dir, "gpus");
    p->opts.setter = "slurm";
    cap_fixture_gpus(p, "clock=1410");
    struct wl_caps *c = set(p, mhz(1005));
    wl_caps_poll(c);
    assert_int_equal(wl_file_write(limits, lock, sizeof lock, &p->e), 0);
    usleep(600000);
    wl_caps_poll(c);
    assert_null(wl_caps_check(c));
    unlink(limits);
    usleep(600000);
    wl_caps_poll(c);
    assert_says(wl_caps_check(c), "was at 1410 MHz");
}

/* Of CPUs one policy is enough: Slurm sets those of the job. */
static void slurm_sets_the_clock_of_some_cpus(void **state)
{
    struct fixture *p = *state;
    p->opts.setter = "slurm";
    struct wl_caps *c = set(p, mhz(2000));
    wl_caps_poll(c); /* before the step starts */
    cap_fixture_put(p, FREQ(1), "2000000\n");
    usleep(600000);
    wl_caps_poll(c);
    cap_fixture_put(p, FREQ(1), "3500000\n");
    assert_null(wl_caps_check(c));
    c = set(p, mhz(1500));
    wl_caps_poll(c);
    assert_says(wl_caps_check(c), "cpufreq:policy0 was at 3500 MHz");
}

static void null_sets_nothing(void **state)
{
    struct fixture *p = *state;
    p->opts.setter = "null";
    struct wl_caps *c = set(p, watts(1));
    assert_null(wl_caps_check(c));
    assert_int_equal(wl_caps_release(c, &p->e), 0);
    assert_file(p, LONG(0), "205000000");
}

static void values_are_compared_as_drivers_round(void **state)
{
    (void)state;
    assert_true(wl_cap_same(WL_CAP_POWER, 150, 150.125));
    assert_false(wl_cap_same(WL_CAP_POWER, 150, 155));
    assert_true(wl_cap_same(WL_CAP_CLOCK, 1410, 1410.5));
    assert_true(wl_cap_same(WL_CAP_CLOCK, NAN, NAN));
    assert_false(wl_cap_same(WL_CAP_CLOCK, 1410, NAN));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, cap_fixture_setup, cap_fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_table_is_complete),
        TEST(rapl_sets_both_limits_of_each_package),
        TEST(cpufreq_sets_the_maximum_frequency),
        TEST(text_after_a_number_is_ignored),
        TEST(a_value_out_of_range_is_rejected),
        TEST(disabled_limits_are_rejected),
        TEST(a_failed_write_restores_the_other_caps),
        TEST(missing_devices_are_reported_by_name),
        TEST(gpus_come_before_cpus),
        TEST(a_lost_clock_lock_is_detected),
        TEST(freeing_the_arena_restores_the_caps),
        TEST(slurm_is_read_back_while_the_job_runs),
        TEST(slurm_sets_clocks_after_the_start),
        TEST(slurm_sets_the_clock_of_some_cpus),
        TEST(null_sets_nothing),
        TEST(values_are_compared_as_drivers_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
