/* AMD and Intel GPUs against fakes of their vendors' libraries. */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *library(const char *variable)
{
    const char *path = getenv(variable);
    if (!path) fail_msg("%s is not set: run it by `meson test`", variable);
    return path;
}

static struct wl_sensors *open_amd(struct fixture *f, const char *variable, const char *script)
{
    f->opts.amd_library = library(variable);
    setenv("WATTLAW_FAKE_AMD", script, 1);
    return reopen_sensors(f, "amd");
}

static void expect(struct wl_sensors *s, const char *device, enum wl_quantity q, double value)
{
    int channel = channel_of(s, device, q);
    if (channel < 0) fail_msg("no channel %s", wl_quantity_name(q));
    double got = read_channel(s, channel);
    if (fabs(got - value) > 1e-6 * fabs(value)) fail_msg("%s is %g", wl_quantity_name(q), got);
    assert_true(s->channels[channel].simulated);
}

static const char *fact(const struct wl_device *d, const char *key)
{
    for (size_t i = 0; i < d->n_facts; i++) {
        if (wl_str_eq(d->facts[i].key, key)) return d->facts[i].value;
    }
    return NULL;
}

static void an_mi300_is_read_through_amd_smi(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_amd(f, "FAKE_AMD_SMI", "gpus=2");
    assert_int_equal(s->n_devices, 2);
    const char *gpu = "AMD Instinct MI300X";
    expect(s, gpu, WL_POWER, 650);
    expect(s, gpu, WL_SM_UTIL, 85);
    expect(s, gpu, WL_SM_CLOCK, 2100);
    expect(s, gpu, WL_MEM_CLOCK, 1600);
    expect(s, gpu, WL_TEMPERATURE, 72);
    expect(s, gpu, WL_MEM_TEMPERATURE, 61); /* in thousandths, as the header says */
    expect(s, gpu, WL_MEM_USED, 5368709120.0);
    assert_int_equal(s->channels[channel_of(s, gpu, WL_POWER)].variant, WL_VARIANT_INSTANT);
    assert_string_equal(s->devices[1].bus_id, "00000000:c2:00.0");
    assert_string_equal(fact(&s->devices[0], "power_cap"), "700 W");
    int energy = channel_of(s, gpu, WL_ENERGY);
    double before = read_channel(s, energy);
    int64_t t0 = wl_now_ns();
    wl_sleep_until(t0 + WL_NS_PER_S / 5);
    double joules = read_channel(s, energy) - before, seconds = (double)(wl_now_ns() - t0) / WL_NS_PER_S;
    assert_true(joules > 650 * 0.19 && joules < 650 * (seconds + 0.05));
}

/* Two parts of two dies: the second die of each has no power channel, rather than 0 W. */
static void the_second_die_of_an_mi250_has_no_power(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_amd(f, "FAKE_AMD_SMI", "gpus=4;parts=mi250x");
    struct wl_energy_source sources[64];
    const char *label;
    assert_int_equal(s->n_devices, 4);
    assert_int_equal(wl_energy_sources(s->channels, s->n_channels, sources, &label), 2);
    assert_int_equal(sources[0].device, 0);
    assert_int_equal(sources[1].device, 2);
    assert_int_equal(s->channels[sources[0].power].variant, WL_VARIANT_AVERAGE);
    assert_string_equal(fact(&s->devices[0], "die"), "first, with the power of both");
    assert_string_equal(fact(&s->devices[3], "die"), "second");
}

static void only_visible_amd_gpus_are_read(void **state)
{
    struct fixture *f = *state;
    setenv("ROCR_VISIBLE_DEVICES", "1", 1);
    struct wl_sensors *s = open_amd(f, "FAKE_AMD_SMI", "gpus=2");
    unsetenv("ROCR_VISIBLE_DEVICES");
    assert_int_equal(s->n_devices, 1);
    expect(s, "AMD Instinct MI300X", WL_POWER, 651);
}

static void a_utilisation_above_100_fails(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_amd(f, "FAKE_AMD_SMI", "busy=130");
    assert_string_equal(read_failure(s, channel_of(s, "AMD Instinct MI300X", WL_SM_UTIL)), "a utilisation above 100 %");
}

static void later_errors_are_failed_readings(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_amd(f, "FAKE_AMD_SMI", "");
    int power = channel_of(s, "AMD Instinct MI300X", WL_POWER);
    setenv("WATTLAW_FAKE_AMD", "fail=31", 1);
    assert_string_equal(read_failure(s, power), "AMD SMI: the GPU is gone");
}

static void older_machines_are_read_through_rocm_smi(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_amd(f, "FAKE_ROCM_SMI", "");
    const char *gpu = "AMD Instinct MI210 0";
    expect(s, gpu, WL_POWER, 187);
    expect(s, gpu, WL_ENERGY, 65536 * 15.3f * 1e-6);
    expect(s, gpu, WL_TEMPERATURE, 55);
    assert_int_equal(channel_of(s, gpu, WL_MEM_TEMPERATURE), -1);
    assert_int_equal(channel_of(s, gpu, WL_SM_CLOCK), -1);
    assert_int_equal(s->channels[channel_of(s, gpu, WL_POWER)].variant, WL_VARIANT_AVERAGE);
    assert_string_equal(s->devices[0].uuid, "GPU-6a1b2c3d00000000");
    assert_string_equal(s->devices[0].bus_id, "00000000:29:00.0");
    assert_string_equal(fact(&s->devices[0], "power_cap"), "300 W");
}

static void expect_error(struct fixture *f, const char *sensor, int code, const char *text)
{
    struct wl_sensors *s;
    f->opts.sensors = wl_str_split(f->a, sensor, ',');
    assert_int_equal(wl_sensors_open(&s, &f->opts, f->a, &f->e), code);
    if (!strstr(f->e.msg, text)) fail_msg("'%s' is not in: %s", text, f->e.msg);
}

static void reasons_for_missing_libraries_differ(void **state)
{
    struct fixture *f = *state;
    f->opts.amd_library = f->opts.level_zero_library = "/proc/nowhere/library.so";
    expect_error(f, "amd", WL_EUNAVAIL, "/proc/nowhere/library.so");
    expect_error(f, "level_zero", WL_EUNAVAIL, "/proc/nowhere/library.so");
    put_file(f, "sys/module/amdgpu/version", "6.12\n");
    put_file(f, "sys/module/xe/version", "1\n");
    expect_error(f, "amd", WL_EUNAVAIL, "to fix it: sudo apt install amd-smi-lib");
    expect_error(f, "level_zero", WL_EUNAVAIL, "to fix it: sudo apt install libze1");
    setenv("WATTLAW_FAKE_AMD", "version=24", 1);
    f->opts.amd_library = library("FAKE_AMD_SMI");
    expect_error(f, "amd", WL_ELIB, "version 24 is not supported (at least 25");
}

/* Whatever libraries this machine has: the one of Debian's Open MPI prints to the terminal if it finds no driver. */
static void without_its_driver_no_amd_library_is_opened(void **state)
{
    struct fixture *f = *state;
    expect_error(f, "amd", WL_EUNAVAIL, "no AMD GPU on the PCI bus");
    put_file(f, "sys/bus/pci/devices/0000:29:00.0/vendor", "0x1002\n");
    put_file(f, "sys/bus/pci/devices/0000:29:00.0/class", "0x120000\n");
    expect_error(f, "amd", WL_EUNAVAIL, "to fix it: sudo modprobe amdgpu");
}

/* ---- Intel ---- */

static struct wl_sensors *open_intel(struct fixture *f, const char *script)
{
    f->opts.level_zero_library = library("FAKE_LEVEL_ZERO");
    setenv("WATTLAW_FAKE_ZE", script, 1);
    return reopen_sensors(f, "level_zero");
}

static const char *const max_1550 = "Intel(R) Data Center GPU Max 1550";

static void an_intel_card_is_read_as_a_whole(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_intel(f, "");
    assert_int_equal(s->n_devices, 1);
    assert_string_equal(s->devices[0].uuid, "GPU-80818283-8485-8687-8889-8a8b8c8d8e8f");
    assert_string_equal(s->devices[0].bus_id, "00000000:18:00.0");
    assert_string_equal(fact(&s->devices[0], "power_cap"), "550 W");
    wl_sleep_until(wl_now_ns() + WL_NS_PER_S / 20);
    expect(s, max_1550, WL_SM_CLOCK, 1600);
    expect(s, max_1550, WL_MEM_CLOCK, 3200);
    wl_sleep_until(wl_now_ns() + WL_NS_PER_S / 20);
    expect(s, max_1550, WL_POWER, 500); /* the card, not its tiles; by the counter's own time stamps */
    wl_sleep_until(wl_now_ns() + WL_NS_PER_S / 20);
    double busy = read_channel(s, channel_of(s, max_1550, WL_SM_UTIL));
    assert_true(fabs(busy - 75) < 0.1);
}

static void a_lost_or_forbidden_intel_card_is_reported(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_intel(f, "lost");
    assert_string_equal(read_failure(s, channel_of(s, max_1550, WL_ENERGY)), "Level Zero: the GPU is lost");
    s = open_intel(f, "denied");
    assert_int_equal(channel_of(s, max_1550, WL_ENERGY), -1);
    assert_non_null(strstr(info_of(s, "level_zero")->reason, "no permission"));
    assert_non_null(strstr(info_of(s, "level_zero")->fix, "usermod -aG render"));
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(an_mi300_is_read_through_amd_smi),     WITH_FIXTURE(the_second_die_of_an_mi250_has_no_power),
        WITH_FIXTURE(only_visible_amd_gpus_are_read),       WITH_FIXTURE(a_utilisation_above_100_fails),
        WITH_FIXTURE(later_errors_are_failed_readings),     WITH_FIXTURE(older_machines_are_read_through_rocm_smi),
        WITH_FIXTURE(reasons_for_missing_libraries_differ), WITH_FIXTURE(without_its_driver_no_amd_library_is_opened),
        WITH_FIXTURE(an_intel_card_is_read_as_a_whole),     WITH_FIXTURE(a_lost_or_forbidden_intel_card_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
