/* Every /sys file that a sensor reads, broken in many ways: missing, empty, short, negative, huge, text, more than a
 * number, a folder, a pipe. Nothing hangs, and a reading is finite and not negative, or fails with a reason. */
#include "fixture.h"

#include "power/sensor.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

struct entry {
    const char *path, *content;
};

/* One tree for all: files of each kind of sensor. */
static const struct entry tree[] = {
    { "proc/cpuinfo", "vendor_id\t: GenuineIntel\n" },
    { "sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n" },
    { "sys/class/powercap/intel-rapl:0/name", "package-0\n" },
    { "sys/class/powercap/intel-rapl:0/energy_uj", "262143000000\n" },
    { "sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n" },
    { "sys/class/powercap/intel-rapl:0:0/name", "dram\n" },
    { "sys/class/powercap/intel-rapl:0:0/energy_uj", "17\n" },
    { "sys/class/powercap/intel-rapl:0:0/max_energy_range_uj", "65712999613\n" },
    { "sys/class/hwmon/hwmon0/name", "power_meter\n" },
    { "sys/class/hwmon/hwmon0/device/power1_average", "101000000\n" },
    { "sys/class/hwmon/hwmon0/device/power1_average_interval", "50\n" },
    { "sys/class/hwmon/hwmon0/device/power1_oem_info", "Grace Power Socket 0\n" },
    { "sys/class/hwmon/hwmon0/device/power1_is_battery", "0\n" },
    { "sys/class/hwmon/hwmon1/name", "amd_energy\n" },
    { "sys/class/hwmon/hwmon1/energy1_label", "Esocket0\n" },
    { "sys/class/hwmon/hwmon1/energy1_input", "5000000000\n" },
    { "sys/cray/pm_counters/power", "412 W 1763643600123456 us\n" },
    { "sys/cray/pm_counters/energy", "90000 J 1763643600123456 us\n" },
    { "sys/cray/pm_counters/cpu_energy", "60000 J 1763643600123456 us\n" },
    { "sys/cray/pm_counters/accel0_power", "95 W 1763643600123456 us\n" },
    { "sys/cray/pm_counters/freshness", "1234\n" },
    { "sys/cray/pm_counters/raw_scan_hz", "10\n" },
    { "sys/devices/virtual/dmi/id/product_family", "Grace\n" },
    { "sys/devices/virtual/dmi/id/chassis_type", "17\n" },
    { "dev/ipmi0", "" },
    { "sys/bus/event_source/devices/power/type", "99\n" },
    { "sys/bus/event_source/devices/power/cpumask", "0\n" },
    { "sys/bus/event_source/devices/power/events/energy-pkg", "event=0x02\n" },
    { "sys/bus/event_source/devices/power/events/energy-pkg.scale", "2.3283064365386962890625e-10\n" },
};

static const char *const broken[] = {
    "",
    "\n",
    " ",
    "-5\n",
    "-\n",
    "+7\n",
    "nan\n",
    "inf\n",
    "text\n",
    "12abc\n",
    "1 2 3\n",
    "0x10\n",
    "1e300\n",
    "5 W\n",
    "99999999999999999999999999\n",
    "18446744073709551615\n",
    "9223372036854775808\n",
    "0\n",
    "1",
    "\xff\xfe\xfd",
    "3-1\n",
    "999999999-1\n",
    "0-4000000000\n",
};

/* Kinds of breakage beyond other content. */
enum { GONE = WL_COUNT(broken), FOLDER, PIPE, LONG, ZEROS, KINDS };

static const char *full(struct fixture *f, const char *path) { return wl_strf(f->a, "%s/%s", f->dir, path); }

static void put_bytes(struct fixture *f, const char *path, char byte, size_t n)
{
    FILE *file = fopen(full(f, path), "w");
    assert_non_null(file);
    for (size_t i = 0; i < n; i++) fputc(byte, file);
    assert_int_equal(fclose(file), 0);
}

static void damage(struct fixture *f, const char *path, size_t kind)
{
    if (kind < GONE) {
        put_file(f, path, "%s", broken[kind]);
        return;
    }
    remove(full(f, path));
    if (kind == FOLDER) assert_int_equal(mkdir(full(f, path), 0755), 0);
    if (kind == PIPE) assert_int_equal(mkfifo(full(f, path), 0644), 0);
    if (kind == LONG) put_bytes(f, path, '9', 100000);
    if (kind == ZEROS) put_bytes(f, path, '\0', 5000);
}

static void repair(struct fixture *f, const struct entry *e)
{
    remove(full(f, e->path));
    put_file(f, e->path, "%s", e->content);
}

static void check_readings(struct wl_sensors *s, const char *path, size_t kind)
{
    for (size_t i = 0; i < s->n_open; i++) {
        struct wl_sensor *sensor = s->open[i];
        wl_sensor_read(sensor, WL_DUE_ALL);
        for (size_t c = 0; c < sensor->n_channels; c++) {
            const struct wl_reading *r = &sensor->readings[c];
            bool good = isfinite(r->value) && r->value >= 0, explained = isnan(r->value) && (!r->why || *r->why);
            if (!good && !explained) fail_msg("%s, kind %zu: %g", path, kind, r->value);
        }
    }
}

static void whole_tree(struct fixture *f)
{
    for (size_t i = 0; i < WL_COUNT(tree); i++) put_file(f, tree[i].path, "%s", tree[i].content);
}

/* Each sensor alone, so that a better one does not replace it. */
static const char *const sensors[] = { "rapl", "acpi", "cray", "ipmi" };

static void open_on_a_broken_tree(struct fixture *f, const struct entry *e, size_t kind, struct wl_arena *a)
{
    for (size_t i = 0; i < WL_COUNT(sensors); i++) {
        struct wl_sensors *s;
        struct wl_err why = { 0 };
        f->opts.sensors = wl_str_split(a, sensors[i], ',');
        int code = wl_sensors_open(&s, &f->opts, a, &why);
        if (code == 0)
            check_readings(s, e->path, kind);
        else if (!why.msg[0])
            fail_msg("%s, kind %zu: no message", e->path, kind);
    }
}

static void a_broken_tree_opens_with_a_reason(void **state)
{
    struct fixture *f = *state;
    whole_tree(f);
    for (size_t i = 0; i < WL_COUNT(tree); i++) {
        for (size_t kind = 0; kind < KINDS; kind++) {
            struct wl_arena *a = wl_arena_new(f->a);
            damage(f, tree[i].path, kind);
            open_on_a_broken_tree(f, &tree[i], kind, a);
            if (kind >= GONE || kind + 1 == GONE) repair(f, &tree[i]);
            wl_arena_free(a);
        }
    }
}

/* Sensors hold their files open: what breaks is the content. */
static void a_tree_that_breaks_later_fails_with_a_reason(void **state)
{
    struct fixture *f = *state;
    whole_tree(f);
    struct wl_sensors *s = open_sensors(f, "rapl,acpi,cray");
    assert_int_equal(s->n_open, 3);
    for (size_t i = 0; i < WL_COUNT(tree); i++) {
        for (size_t kind = 0; kind < GONE; kind++) {
            damage(f, tree[i].path, kind);
            check_readings(s, tree[i].path, kind);
        }
        put_file(f, tree[i].path, "%s", tree[i].content);
    }
    int power = channel_of(s, "grace-0", WL_POWER);
    put_file(f, "sys/class/hwmon/hwmon0/device/power1_average", "-5\n");
    assert_string_equal(read_failure(s, power), "the file holds a negative number");
    put_file(f, "sys/class/hwmon/hwmon0/device/power1_average", "%s", "");
    assert_string_equal(read_failure(s, power), "the file is empty");
    put_file(f, "sys/class/hwmon/hwmon0/device/power1_average", "99999999999999999999999\n");
    assert_string_equal(read_failure(s, power), "the number in the file is too large");
    put_file(f, "sys/class/hwmon/hwmon0/device/power1_average", "101000000\n");
    assert_true(read_channel(s, power) == 101);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(a_broken_tree_opens_with_a_reason),
        WITH_FIXTURE(a_tree_that_breaks_later_fails_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
