/* Sensors that are files of /sys, in trees laid out as on the machines that have them: ACPI power meters (Grace, a
 * server), HPE Cray's pm_counters, AMD's energy counters in hwmon. */
#include "fixture.h"

#include <math.h>
#include <string.h>

/* Before Linux 6.17 a meter's files are in device/. */
static void acpi_meter(struct fixture *f, int number, const char *label, const char *microwatts)
{
    const char *at = wl_strf(f->a, "sys/class/hwmon/hwmon%d", number);
    put_file(f, wl_strf(f->a, "%s/name", at), "power_meter\n");
    put_file(f, wl_strf(f->a, "%s/device/power1_average", at), "%s\n", microwatts);
    put_file(f, wl_strf(f->a, "%s/device/power1_average_interval", at), "50\n");
    put_file(f, wl_strf(f->a, "%s/device/power1_is_battery", at), "0\n");
    if (label) put_file(f, wl_strf(f->a, "%s/device/power1_oem_info", at), "%s\n", label);
}

/* GH200: the first socket of a node with four such modules, and another driver. */
static void grace_hopper(struct fixture *f)
{
    put_file(f, "sys/class/hwmon/hwmon0/name", "nvme\n");
    acpi_meter(f, 1, "Module Power Socket 0", "612000000");
    acpi_meter(f, 2, "Grace Power Socket 0", "101000000");
    acpi_meter(f, 3, "CPU Power Socket 0", "52000000");
    acpi_meter(f, 4, "SysIO Power Socket 0", "6300000");
}

static void grace_and_its_module_are_separate_scopes(void **state)
{
    struct fixture *f = *state;
    grace_hopper(f);
    struct wl_sensors *s = open_sensors(f, "acpi");
    assert_int_equal(s->n_channels, 2); /* the rails are parts of Grace */
    int module = channel_of(s, "module-0", WL_POWER), grace = channel_of(s, "grace-0", WL_POWER);
    assert_int_equal(s->channels[module].scope, WL_SCOPE_MODULE);
    assert_int_equal(s->channels[grace].scope, WL_SCOPE_PACKAGE);
    assert_int_equal(s->channels[grace].variant, WL_VARIANT_AVERAGE);
    assert_true(s->channels[grace].update_s == 0.05);
    assert_true(read_channel(s, module) == 612 && read_channel(s, grace) == 101);
    struct wl_energy_source sources[4];
    const char *label;
    assert_int_equal(wl_energy_sources(s->channels, s->n_channels, sources, &label), 1);
    assert_string_equal(label, "module"); /* it contains Grace: never both */
}

static void the_cpu_rail_is_used_if_grace_is_missing(void **state)
{
    struct fixture *f = *state;
    acpi_meter(f, 0, "CPU Power Socket 0", "52000000");
    acpi_meter(f, 1, "CPU Power Socket 1", "53000000");
    acpi_meter(f, 2, "SysIO Power Socket 0", "6300000");
    struct wl_sensors *s = open_sensors(f, "acpi");
    assert_int_equal(s->n_channels, 2);
    assert_true(read_channel(s, channel_of(s, "grace-cpu-1", WL_POWER)) == 53);
    assert_non_null(strstr(info_of(s, "acpi")->reason, "CPU rail"));
}

static void a_meter_without_a_label_is_that_of_the_node(void **state)
{
    struct fixture *f = *state;
    acpi_meter(f, 3, NULL, "287000000");
    put_file(f, "sys/class/hwmon/hwmon3/device/power1_average_interval", "1000\n");
    struct wl_sensors *s = open_sensors(f, "acpi");
    assert_int_equal(s->channels[0].scope, WL_SCOPE_NODE);
    assert_true(read_channel(s, channel_of(s, "node", WL_POWER)) == 287);
}

/* Linux 6.17 and later: the files are in the hwmon folder itself. */
static void newer_kernels_have_the_files_in_the_hwmon_folder(void **state)
{
    struct fixture *f = *state;
    put_file(f, "sys/class/hwmon/hwmon1/name", "power_meter\n");
    put_file(f, "sys/class/hwmon/hwmon1/power1_average", "99000000\n");
    put_file(f, "sys/class/hwmon/hwmon1/power1_oem_info", "Grace Power Socket 1\n");
    struct wl_sensors *s = open_sensors(f, "acpi");
    assert_true(read_channel(s, channel_of(s, "grace-1", WL_POWER)) == 99);
}

static void expect_unavailable(struct fixture *f, const char *sensor, const char *text)
{
    struct wl_sensors *s;
    f->opts.sensors = wl_str_split(f->a, sensor, ',');
    assert_int_equal(wl_sensors_open(&s, &f->opts, f->a, &f->e), WL_EUNAVAIL);
    if (!strstr(f->e.msg, text)) fail_msg("'%s' is not in: %s", text, f->e.msg);
}

static void grace_without_meters_names_the_fix(void **state)
{
    struct fixture *f = *state;
    expect_unavailable(f, "acpi", "no ACPI power meter");
    assert_null(strstr(f->e.msg, "modprobe"));
    put_file(f, "sys/devices/virtual/dmi/id/product_family", "NVIDIA Grace Hopper\n");
    expect_unavailable(f, "acpi", "acpi_power_meter.force_cap_on=y");
}

/* A node as in LUMI-C, then one with accelerators. */
static void cray_node(struct fixture *f)
{
    static const char *const files[][2] = {
        { "power", "412 W 1763643600123456 us" },
        { "energy", "90000 J 1763643600123456 us" },
        { "cpu_power", "280 W 1763643600123456 us" },
        { "cpu_energy", "60000 J 1763643600123456 us" },
        { "memory_power", "61 W 1763643600123456 us" },
        { "memory_energy", "12000 J 1763643600123456 us" },
        { "freshness", "1234" },
        { "raw_scan_hz", "10" },
        { "generation", "8" },
        { "version", "2" },
        { "power_cap", "0 W" },
    };
    for (size_t i = 0; i < WL_COUNT(files); i++)
        put_file(f, wl_strf(f->a, "sys/cray/pm_counters/%s", files[i][0]), "%s\n", files[i][1]);
}

static void put_accel(struct fixture *f, int number, const char *joules)
{
    put_file(f, wl_strf(f->a, "sys/cray/pm_counters/accel%d_energy", number), "%s J 1763643600123456 us\n", joules);
    put_file(f, wl_strf(f->a, "sys/cray/pm_counters/accel%d_power", number), "95 W 1763643600123456 us\n");
}

static void a_cray_node_counts_once(void **state)
{
    struct fixture *f = *state;
    cray_node(f);
    put_accel(f, 0, "1000");
    put_accel(f, 1, "1001");
    struct wl_sensors *s = open_sensors(f, "cray");
    assert_int_equal(s->n_devices, 5);
    int node = channel_of(s, "node", WL_ENERGY), accel = channel_of(s, "accel1", WL_ENERGY);
    assert_int_equal(s->channels[node].scope, WL_SCOPE_NODE);
    assert_int_equal(s->channels[accel].scope, WL_SCOPE_NODE_ACCEL);
    assert_true(s->channels[node].update_s == 0.1);
    assert_true(read_channel(s, node) == 90000 && read_channel(s, accel) == 1001);
    assert_true(read_channel(s, channel_of(s, "cpu", WL_POWER)) == 280);
    struct wl_energy_source sources[16];
    const char *label;
    assert_int_equal(wl_energy_sources(s->channels, s->n_channels, sources, &label), 1);
    assert_string_equal(label, "node");
    assert_int_equal(sources[0].counter, node);
}

static void one_meter_of_the_node_is_enough(void **state)
{
    struct fixture *f = *state;
    cray_node(f);
    acpi_meter(f, 0, NULL, "400000000");
    struct wl_sensors *s = open_sensors(f, "cray,acpi");
    struct wl_energy_source sources[16];
    const char *label;
    assert_int_equal(wl_energy_sources(s->channels, s->n_channels, sources, &label), 1);
    assert_string_equal(s->devices[sources[0].device].sensor, "cray");
}

static void a_stopped_controller_gives_no_readings(void **state)
{
    struct fixture *f = *state;
    cray_node(f);
    struct wl_sensors *s = open_sensors(f, "cray");
    int node = channel_of(s, "node", WL_POWER);
    assert_true(read_channel(s, node) == 412);
    wl_sleep_until(wl_now_ns() + 31 * (WL_NS_PER_S / 10));
    assert_string_equal(read_failure(s, node), "the blade controller has stopped updating its files");
    put_file(f, "sys/cray/pm_counters/freshness", "1235\n");
    assert_true(read_channel(s, node) == 412);
}

static void amd_energy(struct fixture *f)
{
    static const char *const files[][2] = {
        { "name", "amd_energy" },          { "energy1_label", "Ecore000" },   { "energy1_input", "77" },
        { "energy2_label", "Esocket0" },   { "energy2_input", "5000000000" }, { "energy3_label", "Esocket1" },
        { "energy3_input", "6000000000" },
    };
    for (size_t i = 0; i < WL_COUNT(files); i++)
        put_file(f, wl_strf(f->a, "sys/class/hwmon/hwmon2/%s", files[i][0]), "%s\n", files[i][1]);
}

static void amd_packages_are_found_in_hwmon(void **state)
{
    struct fixture *f = *state;
    put_file(f, "proc/cpuinfo", "vendor_id\t: AuthenticAMD\n");
    amd_energy(f);
    struct wl_sensors *s = open_sensors(f, "rapl");
    assert_int_equal(s->n_devices, 2);
    assert_non_null(strstr(info_of(s, "rapl")->source, "amd_energy"));
    int package = channel_of(s, "package-1", WL_ENERGY);
    assert_true(read_channel(s, package) == 0);
    put_file(f, "sys/class/hwmon/hwmon2/energy3_input", "6002500000\n");
    assert_true(fabs(read_channel(s, package) - 2.5) < 1e-9);
}

static void zone(struct fixture *f, int number, const char *name)
{
    put_file(f, wl_strf(f->a, "sys/class/powercap/intel-rapl:%d/name", number), "%s\n", name);
    put_file(f, wl_strf(f->a, "sys/class/powercap/intel-rapl:%d/energy_uj", number), "1000000\n");
    put_file(f, wl_strf(f->a, "sys/class/powercap/intel-rapl:%d/max_energy_range_uj", number), "65532610987\n");
}

/* Linux 6.9 lists an AMD package once per core complex; Intel dies have counters of their own. */
static void dies_repeat_their_package_on_amd_only(void **state)
{
    struct fixture *f = *state;
    zone(f, 0, "package-0-die-0");
    zone(f, 1, "package-0-die-1");
    zone(f, 2, "package-1-die-0");
    put_file(f, "proc/cpuinfo", "vendor_id\t: AuthenticAMD\n");
    assert_int_equal(open_sensors(f, "rapl")->n_devices, 2);
    put_file(f, "proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
    assert_int_equal(open_sensors(f, "rapl")->n_devices, 3);
}

static void a_package_without_a_counter_is_reported(void **state)
{
    struct fixture *f = *state;
    zone(f, 0, "package-0");
    put_file(f, "sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
    put_file(f, "sys/devices/system/cpu/cpu1/topology/physical_package_id", "1\n");
    struct wl_sensors *s = open_sensors(f, "rapl");
    assert_string_equal(info_of(s, "rapl")->reason, "1 of the 2 CPU packages have a counter");
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(grace_and_its_module_are_separate_scopes),
        WITH_FIXTURE(the_cpu_rail_is_used_if_grace_is_missing),
        WITH_FIXTURE(a_meter_without_a_label_is_that_of_the_node),
        WITH_FIXTURE(newer_kernels_have_the_files_in_the_hwmon_folder),
        WITH_FIXTURE(grace_without_meters_names_the_fix),
        WITH_FIXTURE(a_cray_node_counts_once),
        WITH_FIXTURE(one_meter_of_the_node_is_enough),
        WITH_FIXTURE(a_stopped_controller_gives_no_readings),
        WITH_FIXTURE(amd_packages_are_found_in_hwmon),
        WITH_FIXTURE(dies_repeat_their_package_on_amd_only),
        WITH_FIXTURE(a_package_without_a_counter_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
