/* The nvml sensor against the scripted libnvidia-ml: channels, fall-backs, failures, visible GPUs, energy against the
 * script's truth. */
#include "fixture.h"

#include "power/nvml/library.h"
#include "power/visible_devices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void use_fake(struct fixture *f, const char *library, const char *script)
{
    const char *path = getenv(library);
    if (!path) fail_msg("%s is not set: run it by `meson test`", library);
    f->opts.nvml_library = path;
    setenv("WATTLAW_FAKE_NVML", script, 1);
}

static void every_quantity_is_present_and_marked_simulated(void **state)
{
    struct fixture *f = *state;
    use_fake(f, "FAKE_NVML", "gpus=2; power=250; busy=90; models=A100,H100");
    struct wl_sensors *s = open_sensors(f, "nvml");
    assert_int_equal(s->n_devices, 2);
    assert_string_equal(s->devices[1].name, "H100");
    assert_string_equal(s->devices[1].uuid, "GPU-a0000001-0000-4000-8000-fa4e00000000");
    assert_string_equal(s->devices[1].bus_id, "00000000:02:00.0");
    const struct {
        enum wl_quantity q;
        double value;
    } want[] = { { WL_POWER, 251 },      { WL_POWER_AVERAGE, 251 },   { WL_SM_UTIL, 90 },
                 { WL_MEM_UTIL, 45 },    { WL_SM_CLOCK, 1410 },       { WL_MEM_CLOCK, 1215 },
                 { WL_TEMPERATURE, 51 }, { WL_MEM_USED, 7516192768 }, { WL_EVENT_REASONS, WL_REASON_IDLE } };
    for (size_t i = 0; i < WL_COUNT(want); i++) {
        int c = channel_of(s, "H100", want[i].q);
        if (c < 0) fail_msg("no channel %s", wl_quantity_name(want[i].q));
        double value = read_channel(s, c);
        if (fabs(value - want[i].value) > 1e-3) fail_msg("%s is %g", wl_quantity_name(want[i].q), value);
        assert_true(s->channels[c].simulated && !s->channels[c].estimated);
        assert_int_equal(s->channels[c].scope, WL_SCOPE_GPU);
    }
    assert_int_equal(s->channels[channel_of(s, "A100", WL_POWER)].variant, WL_VARIANT_INSTANT);
    assert_int_equal(s->channels[channel_of(s, "A100", WL_POWER_AVERAGE)].variant, WL_VARIANT_AVERAGE);
    assert_true(read_channel(s, channel_of(s, "A100", WL_ENERGY)) > 123455);
    assert_non_null(strstr(info_of(s, "nvml")->source, "535.104.05"));
}

/* Drivers of 2018: no fields, no energy counter, older names of functions. */
static void an_old_driver_falls_back(void **state)
{
    struct fixture *f = *state;
    use_fake(f, "FAKE_NVML_OLD", "power=100");
    struct wl_sensors *s = open_sensors(f, "nvml");
    const char *gpu = s->devices[0].name;
    assert_int_equal(s->channels[channel_of(s, gpu, WL_POWER)].variant, WL_VARIANT_DRIVER);
    assert_true(read_channel(s, channel_of(s, gpu, WL_POWER)) == 100);
    assert_int_equal(channel_of(s, gpu, WL_ENERGY), -1);
    assert_int_equal(channel_of(s, gpu, WL_POWER_AVERAGE), -1);
    assert_true(read_channel(s, channel_of(s, gpu, WL_TEMPERATURE)) == 50);
    assert_true(read_channel(s, channel_of(s, gpu, WL_MEM_USED)) == 8589934592);
    assert_true(read_channel(s, channel_of(s, gpu, WL_EVENT_REASONS)) == WL_REASON_SW_POWER_CAP);
    assert_string_equal(s->devices[0].bus_id, "0000:01:00.0");
}

static void only_the_missing_field_is_left_out(void **state)
{
    struct fixture *f = *state;
    use_fake(f, "FAKE_NVML", "fail=*:185:3; fail=*:83:3; fail=*:GetMemoryInfo_v2:25; fail=*:GetClockInfo:3");
    struct wl_sensors *s = open_sensors(f, "nvml");
    const char *gpu = s->devices[0].name;
    assert_int_equal(channel_of(s, gpu, WL_POWER_AVERAGE), -1);
    assert_int_equal(s->channels[channel_of(s, gpu, WL_POWER)].variant, WL_VARIANT_INSTANT);
    assert_true(read_channel(s, channel_of(s, gpu, WL_ENERGY)) > 0); /* by its own call */
    assert_true(read_channel(s, channel_of(s, gpu, WL_MEM_USED)) == 8589934592);
    assert_int_equal(channel_of(s, gpu, WL_SM_CLOCK), -1);
}

static void a_lost_gpu_fails_and_the_other_is_still_read(void **state)
{
    struct fixture *f = *state;
    use_fake(f, "FAKE_NVML", "gpus=2; models=A,B; fail=1:*:15:0.6");
    struct wl_sensors *s = open_sensors(f, "nvml");
    int lost = channel_of(s, "B", WL_POWER), well = channel_of(s, "A", WL_POWER);
    assert_true(read_channel(s, lost) == 101);
    wl_sleep_until(wl_now_ns() + 6 * (WL_NS_PER_S / 10));
    assert_string_equal(read_failure(s, lost), "NVML: GPU is lost");
    assert_true(isnan(read_channel(s, lost)));
    assert_true(isnan(read_channel(s, channel_of(s, "B", WL_SM_UTIL))));
    assert_true(read_channel(s, well) == 100);
}

static void a_share_above_100_percent_fails(void **state)
{
    struct fixture *f = *state;
    use_fake(f, "FAKE_NVML", "busy=130");
    struct wl_sensors *s = open_sensors(f, "nvml");
    const char *gpu = s->devices[0].name;
    assert_true(isnan(read_channel(s, channel_of(s, gpu, WL_SM_UTIL))));
    assert_true(read_channel(s, channel_of(s, gpu, WL_MEM_UTIL)) == 65);
}

static void expect_error(struct fixture *f, int code, const char *text)
{
    struct wl_sensors *s;
    f->opts.sensors = wl_str_split(f->a, "nvml", ',');
    assert_int_equal(wl_sensors_open(&s, &f->opts, f->a, &f->e), code);
    if (!strstr(f->e.msg, text)) fail_msg("'%s' is not in: %s", text, f->e.msg);
}

static void errors_name_cause_and_fix(void **state)
{
    struct fixture *f = *state;
    use_fake(f, "FAKE_NVML", "init=9");
    expect_error(f, WL_EUNAVAIL, "sudo modprobe nvidia");
    use_fake(f, "FAKE_NVML", "init=18");
    expect_error(f, WL_ELIB, "different versions");
    use_fake(f, "FAKE_NVML", "init=4");
    expect_error(f, WL_EPERM, "/dev/nvidiactl");
    use_fake(f, "FAKE_NVML", "gpus=0");
    expect_error(f, WL_EUNAVAIL, "0 GPUs");
    use_fake(f, "FAKE_NVML_BROKEN", "");
    expect_error(f, WL_ELIB, "nvmlDeviceGetCount_v2");
    f->opts.nvml_library = "/proc/nowhere/libnvidia-ml.so.1";
    expect_error(f, WL_EUNAVAIL, "/proc/nowhere/libnvidia-ml.so.1");
    expect_error(f, WL_EUNAVAIL, "--nvml-library PATH");
}

/* What doctor says without the library depends on the traces of a GPU on the machine. */
static void reasons_for_a_missing_library_differ(void **state)
{
    struct fixture *f = *state;
    struct wl_nvml lib;
    const char *fix = NULL;
    if (wl_nvml_library_open(&lib, &f->opts, f->a, &fix, &f->e) == 0) {
        print_message("SKIP: this machine has libnvidia-ml.so.1\n");
        skip();
    }
    expect_error(f, WL_EUNAVAIL, "no NVIDIA GPU on the PCI bus");
    put_file(f, "sys/bus/pci/devices/0000:07:00.0/vendor", "0x10de\n");
    put_file(f, "sys/bus/pci/devices/0000:07:00.0/class", "0x030200\n");
    expect_error(f, WL_EUNAVAIL, "sudo apt install nvidia-driver");
    put_file(f, "proc/driver/nvidia/version", "NVRM version: 535.104\n");
    expect_error(f, WL_EUNAVAIL, "driver is loaded");
}

static size_t visible(const char *words, bool *keep, bool *by_index)
{
    char *const uuids[] = { (char *)"GPU-aaaa1111-x", (char *)"GPU-aaaa2222-x", (char *)"GPU-bbbb3333-x" };
    return wl_visible_devices(words, uuids, 3, keep, by_index);
}

static void visible_devices_are_parsed_as_by_cuda(void **state)
{
    (void)state;
    bool k[3], by_index;
    assert_int_equal(visible(NULL, k, &by_index), 3);
    assert_int_equal(visible("", k, &by_index), 0);
    assert_int_equal(visible("2, 0", k, &by_index), 2);
    assert_true(k[0] && !k[1] && k[2] && by_index);
    assert_int_equal(visible("1,7,0", k, &by_index), 1); /* a bad one ends the list */
    assert_true(!k[0] && k[1] && !k[2]);
    assert_int_equal(visible("-1", k, &by_index), 0);
    assert_int_equal(visible("GPU-bbbb,GPU-aaaa2", k, &by_index), 2);
    assert_true(!k[0] && k[1] && k[2] && !by_index);
    assert_int_equal(visible("GPU-aaaa", k, &by_index), 0); /* matches two */
    assert_int_equal(visible("0,0", k, &by_index), 1);
}

static void only_visible_gpus_are_read(void **state)
{
    struct fixture *f = *state;
    use_fake(f, "FAKE_NVML", "gpus=4; models=A,B,C,D; fail=0:GetHandleByIndex:17");
    setenv("CUDA_VISIBLE_DEVICES", "GPU-a0000002,GPU-a0000003", 1);
    struct wl_sensors *s = open_sensors(f, "nvml");
    assert_int_equal(s->n_devices, 2);
    assert_string_equal(s->devices[0].name, "C");
    assert_int_equal(s->devices[0].index, 2);
    assert_string_equal(info_of(s, "nvml")->reason,
                        "GPU 0 is left out: NVML: the GPU is blocked by the operating system (cgroup)");
    setenv("CUDA_VISIBLE_DEVICES", "0", 1); /* of the three that the cgroup leaves */
    s = open_sensors(f, "nvml");
    assert_int_equal(s->n_devices, 1);
    assert_string_equal(s->devices[0].name, "B");
    assert_non_null(strstr(info_of(s, "nvml")->reason, "CUDA_DEVICE_ORDER=PCI_BUS_ID"));
    assert_non_null(strstr(info_of(s, "nvml")->reason, "GPU 0 is left out"));
    setenv("CUDA_VISIBLE_DEVICES", "MIG-GPU-a0000001-0000-4000-8000-fa4e00000000/1/0", 1);
    s = open_sensors(f, "nvml");
    assert_string_equal(s->devices[0].name, "B");
    assert_non_null(strstr(info_of(s, "nvml")->reason, "MIG"));
    setenv("CUDA_VISIBLE_DEVICES", "9", 1);
    expect_error(f, WL_EUNAVAIL, "CUDA_VISIBLE_DEVICES=9");
}

/* A ramp of 200 W/s, sampled for a while: counter and integral agree with each other and with the script. The
 * script's start time is between two time stamps. */
static void sampled_energy_matches_the_script(void **state)
{
    struct fixture *f = *state;
    use_fake(f, "FAKE_NVML", "power=ramp:100:200");
    int64_t early = wl_now_ns();
    struct wl_sensors *s = open_sensors(f, "nvml");
    int64_t late = wl_now_ns();
    struct wl_sampler *sampler;
    assert_int_equal(wl_sampler_start(&sampler, s, 100, f->a, &f->e), 0);
    int64_t t0 = wl_now_ns() + WL_NS_PER_S / 20, t1 = t0 + WL_NS_PER_S / 2;
    wl_sleep_until(t1 + WL_NS_PER_S / 20);
    wl_sampler_stop(sampler);

    static struct wl_sample samples[20000];
    static int64_t t[2][2000];
    static double v[2][2000];
    size_t n = wl_sampler_drain(sampler, samples, WL_COUNT(samples)), count[2] = { 0 };
    const char *gpu = s->devices[0].name;
    const int channel[2] = { channel_of(s, gpu, WL_POWER), channel_of(s, gpu, WL_ENERGY) };
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 2; k++) {
            if ((int)samples[i].channel != channel[k]) continue;
            t[k][count[k]] = samples[i].t_ns;
            v[k][count[k]++] = samples[i].value;
        }
    }
    struct wl_time_series power = { t[0], v[0], count[0] }, counter = { t[1], v[1], count[1] };
    int64_t gap = 10 * WL_NS_PER_S; /* a line needs few points, so that a busy machine does no harm */
    double integral_j = wl_energy_of_power(&power, t0, t1, gap, &wl_sensor_response_unknown).energy_j;
    double counter_j = wl_energy_of_counter(&counter, &power, t0, t1, gap, &wl_sensor_response_unknown).energy_j;
    double least_j = 0.5 * (100 + 200 * (double)((t0 + t1) / 2 - late) / WL_NS_PER_S);
    double most_j = 0.5 * (100 + 200 * (double)((t0 + t1) / 2 - early) / WL_NS_PER_S);
    if (!(integral_j > 0.99 * least_j && integral_j < 1.01 * most_j))
        fail_msg("integral: %g J, not %g to %g", integral_j, least_j, most_j);
    if (!(fabs(wl_energy_ratio(counter_j, integral_j) - 1) < 0.02)) fail_msg("%g J, %g J", counter_j, integral_j);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(every_quantity_is_present_and_marked_simulated),
        WITH_FIXTURE(an_old_driver_falls_back),
        WITH_FIXTURE(only_the_missing_field_is_left_out),
        WITH_FIXTURE(a_lost_gpu_fails_and_the_other_is_still_read),
        WITH_FIXTURE(a_share_above_100_percent_fails),
        WITH_FIXTURE(errors_name_cause_and_fix),
        WITH_FIXTURE(reasons_for_a_missing_library_differ),
        WITH_FIXTURE(visible_devices_are_parsed_as_by_cuda),
        WITH_FIXTURE(only_visible_gpus_are_read),
        WITH_FIXTURE(sampled_energy_matches_the_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
