/* RAPL through fake powercap trees and, for perf_event, through a software event of the kernel. */
#include "fixture.h"

#include "power/rapl/sensor.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLASS "sys/class/powercap/"

static void zone(struct fixture *f, const char *path, const char *name, uint64_t uj, uint64_t range)
{
    put_file(f, wl_strf(f->a, CLASS "%s/name", path), "%s\n", name);
    put_file(f, wl_strf(f->a, CLASS "%s/energy_uj", path), "%llu\n", (unsigned long long)uj);
    put_file(f, wl_strf(f->a, CLASS "%s/max_energy_range_uj", path), "%llu\n", (unsigned long long)range);
}

static void set_uj(struct fixture *f, const char *path, uint64_t uj)
{
    put_file(f, wl_strf(f->a, CLASS "%s/energy_uj", path), "%llu\n", (unsigned long long)uj);
}

/* Two sockets with memory, psys above, core and uncore inside, and the first package again through MMIO. */
static void server(struct fixture *f)
{
    zone(f, "intel-rapl-mmio:0", "package-0", 7, 1000);
    zone(f, "intel-rapl:0", "package-0", 1000000, 262143328850);
    zone(f, "intel-rapl:0:0", "core", 5, 1000);
    zone(f, "intel-rapl:0:1", "dram", 2000000, 65712999613);
    zone(f, "intel-rapl:1", "package-1", 3000000, 262143328850);
    zone(f, "intel-rapl:1:0", "uncore", 5, 1000);
    zone(f, "intel-rapl:1:1", "dram", 4000000, 65712999613);
    zone(f, "intel-rapl:2", "psys", 9000000, 262143328850);
    put_file(f, CLASS "dtpm/name", "other\n");
}

static void packages_and_dram_count_once(void **state)
{
    struct fixture *f = *state;
    server(f);
    struct wl_sensors *s = open_sensors(f, "rapl");
    assert_int_equal(s->n_devices, 5);
    struct wl_energy_source sources[16];
    const char *label;
    assert_int_equal(wl_energy_sources(s->channels, s->n_channels, sources, &label), 4);
    assert_string_equal(label, "package+dram");
    int psys = channel_of(s, "psys", WL_ENERGY);
    assert_int_equal(s->channels[psys].scope, WL_SCOPE_PSYS);
    assert_string_equal(s->devices[s->channels[channel_of(s, "dram-1", WL_ENERGY)].device].uuid, "rapl:dram-1");

    int package = channel_of(s, "package-0", WL_ENERGY), dram = channel_of(s, "dram-1", WL_ENERGY);
    assert_true(read_channel(s, package) == 0);
    set_uj(f, "intel-rapl:0", 3500000);
    set_uj(f, "intel-rapl:1:1", 4250000);
    assert_true(fabs(read_channel(s, package) - 2.5) < 1e-9);
    assert_true(fabs(read_channel(s, dram) - 0.25) < 1e-9);
}

static void a_wrapped_counter_continues(void **state)
{
    struct fixture *f = *state;
    zone(f, "intel-rapl:0", "package-0", 65712999000, 65712999613);
    struct wl_sensors *s = open_sensors(f, "rapl");
    int package = channel_of(s, "package-0", WL_ENERGY);
    set_uj(f, "intel-rapl:0", 387);
    assert_true(fabs(read_channel(s, package) - 1e-3) < 1e-9); /* 613 up to the range, 387 from 0 */
    assert_non_null(strstr(info_of(s, "rapl")->reason, "DRAM is not measured"));
}

static void a_possibly_missed_wrap_is_a_reset(void **state)
{
    (void)state;
    struct wl_rapl_domain d = { .unit_j = 1e-6, .range = 65712999613 };
    const int64_t s = WL_NS_PER_S;
    assert_true(wl_rapl_advance(&d, 5000000, 1 * s));
    assert_true(wl_rapl_advance(&d, 6000000, 2 * s));
    assert_true(fabs(d.energy_j - 1) < 1e-12);
    assert_false(wl_rapl_advance(&d, 7000000, 80 * s)); /* 65.7 kJ can pass in 66 s */
    assert_true(d.energy_j == 0);
    assert_true(wl_rapl_advance(&d, 9000000, 81 * s));
    assert_true(fabs(d.energy_j - 2) < 1e-12);
}

static void a_failed_read_is_a_gap_not_a_wrap(void **state)
{
    struct fixture *f = *state;
    zone(f, "intel-rapl:0", "package-0", 1000000, 262143328850);
    struct wl_sensors *s = open_sensors(f, "rapl");
    int package = channel_of(s, "package-0", WL_ENERGY);
    put_file(f, CLASS "intel-rapl:0/energy_uj", "%s", "");
    assert_non_null(read_failure(s, package));
    assert_true(isnan(read_channel(s, package)));
    set_uj(f, "intel-rapl:0", 2000000);
    assert_true(fabs(read_channel(s, package) - 1) < 1e-9);
}

/* Removes read permission. Root could still read, so the test acts as another user until restore_permission(). */
static void remove_permission(struct fixture *f)
{
    static const char *const zones[] = { "intel-rapl:0",   "intel-rapl:0:1", "intel-rapl:1",
                                         "intel-rapl:1:1", "intel-rapl:2",   "intel-rapl-mmio:0" };
    assert_int_equal(chmod(f->dir, 0755), 0);
    for (size_t i = 0; i < WL_COUNT(zones); i++)
        assert_int_equal(chmod(wl_strf(f->a, "%s/" CLASS "%s/energy_uj", f->dir, zones[i]), 0), 0);
    if (getuid() == 0) assert_int_equal(seteuid(65534), 0);
}

static void restore_permission(void)
{
    if (getuid() == 0) assert_int_equal(seteuid(0), 0);
}

static void missing_permission_names_the_command(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = NULL;
    struct wl_err ignored;
    server(f);
    remove_permission(f);
    f->opts.sensors = wl_str_split(f->a, "rapl", ',');
    int named = wl_sensors_open(&s, &f->opts, f->a, &f->e);
    f->opts.sensors = wl_str_split(f->a, "auto", ',');
    int lenient = wl_sensors_open(&s, &f->opts, f->a, &ignored);
    restore_permission();
    assert_int_equal(named, WL_EPERM);
    assert_non_null(strstr(f->e.msg, "intel-rapl:0/energy_uj"));
    assert_non_null(strstr(f->e.msg, "sudo chmod a+r"));
    assert_int_equal(lenient, 0);
    assert_int_equal(info_of(s, "rapl")->state, WL_SENSOR_UNAVAILABLE);
    assert_non_null(strstr(info_of(s, "rapl")->fix, "setup --system"));
}

static void a_machine_without_counters_says_why(void **state)
{
    struct fixture *f = *state;
    put_file(f, "proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor lahf_lm\n");
    f->opts.sensors = wl_str_split(f->a, "rapl", ',');
    struct wl_sensors *s;
    assert_int_equal(wl_sensors_open(&s, &f->opts, f->a, &f->e), WL_EUNAVAIL);
    assert_non_null(strstr(f->e.msg, "virtual machine"));
    put_file(f, "proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu lahf_lm\n");
    assert_int_equal(wl_sensors_open(&s, &f->opts, f->a, &f->e), WL_EUNAVAIL);
    assert_non_null(strstr(f->e.msg, "sudo modprobe intel_rapl_msr"));
}

/* The kernel's software clock (type 1, event 0, counts ns) replaces the power PMU: with a scale of 1e-9 it gives about
 * 1 J per second. */
static void perf_events_are_read_with_their_scale(void **state)
{
    struct fixture *f = *state;
    const char *pmu = "sys/bus/event_source/devices/power/";
    put_file(f, wl_strf(f->a, "%stype", pmu), "1\n");
    put_file(f, wl_strf(f->a, "%scpumask", pmu), "0-0\n");
    put_file(f, wl_strf(f->a, "%sevents/energy-pkg", pmu), "event=0x00\n");
    put_file(f, wl_strf(f->a, "%sevents/energy-pkg.scale", pmu), "1e-9\n");
    put_file(f, wl_strf(f->a, "%sevents/energy-pkg.unit", pmu), "Joules\n");
    put_file(f, "sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
    f->opts.sensors = wl_str_split(f->a, "rapl", ',');
    struct wl_sensors *s;
    int code = wl_sensors_open(&s, &f->opts, f->a, &f->e);
    if (code == WL_EPERM) {
        assert_non_null(strstr(f->e.msg, "kernel.perf_event_paranoid"));
        print_message("SKIP: perf_event_open is not allowed here\n");
        skip();
    }
    assert_int_equal(code, 0);
    assert_non_null(strstr(info_of(s, "rapl")->source, "perf"));
    int package = channel_of(s, "package-0", WL_ENERGY);
    double before = read_channel(s, package);
    int64_t t0 = wl_now_ns();
    wl_sleep_until(t0 + WL_NS_PER_S / 5);
    double joules = read_channel(s, package) - before, seconds = (double)(wl_now_ns() - t0) / WL_NS_PER_S;
    if (!(joules > 0.5 * seconds && joules < 1.5 * seconds)) fail_msg("%g J in %g s", joules, seconds);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(packages_and_dram_count_once),          WITH_FIXTURE(a_wrapped_counter_continues),
        WITH_FIXTURE(a_possibly_missed_wrap_is_a_reset),     WITH_FIXTURE(a_failed_read_is_a_gap_not_a_wrap),
        WITH_FIXTURE(missing_permission_names_the_command),  WITH_FIXTURE(a_machine_without_counters_says_why),
        WITH_FIXTURE(perf_events_are_read_with_their_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
