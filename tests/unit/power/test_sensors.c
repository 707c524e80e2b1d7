/* The table of sensors, how they are chosen, and recordings. */
#include "fixture.h"

#include "power/sampler/sampler.h"
#include "power/sensor.h"

#include <math.h>
#include <string.h>

static void every_sensor_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; wl_sensor_table[i]; i++) {
        const struct wl_sensor_ops *ops = wl_sensor_table[i];
        assert_true(ops->name && ops->help);
        assert_true(ops->unavailable ? !ops->open && !ops->read : ops->open && ops->read);
    }
}

static void names_and_units_map_both_ways(void **state)
{
    (void)state;
    for (int q = 0; q < WL_QUANTITIES; q++) {
        assert_int_equal(wl_quantity_from(wl_quantity_name(q)), q);
        assert_non_null(wl_quantity_unit(q));
    }
    for (int s = 0; s < WL_SCOPES; s++) assert_int_equal(wl_scope_from(wl_scope_name(s)), s);
    for (int v = 0; v < WL_VARIANTS; v++) assert_int_equal(wl_variant_from(wl_variant_name(v)), v);
    assert_int_equal(wl_quantity_from("watts"), -1);
    assert_true(wl_quantity_is_counter(WL_ENERGY) && wl_quantity_is_counter(WL_CPU_TIME) &&
                !wl_quantity_is_counter(WL_POWER));
}

static void expect_error(struct fixture *f, const char *sensors, int code, const char *text)
{
    struct wl_sensors *s;
    f->opts.sensors = wl_str_split(f->a, sensors, ',');
    assert_int_equal(wl_sensors_open(&s, &f->opts, f->a, &f->e), code);
    if (!strstr(f->e.msg, text)) fail_msg("'%s' is not in: %s", text, f->e.msg);
}

static void a_wrong_name_gets_a_suggestion(void **state)
{
    struct fixture *f = *state;
    expect_error(f, "nvml,rapll", WL_EINVAL, "did you mean rapl?");
    expect_error(f, "thermometer", WL_EINVAL, "auto, nvml, amd, level_zero, rapl");
}

static void auto_on_a_bare_machine_is_not_an_error(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_sensors(f, "auto");
    assert_int_equal(s->n_channels, 0);
    for (size_t i = 0; i < s->n_info; i++) {
        assert_int_not_equal(s->info[i].state, WL_SENSOR_OPEN);
        assert_non_null(s->info[i].reason);
    }
    struct wl_sampler *sampler;
    assert_int_equal(wl_sampler_start(&sampler, s, 10, f->a, &f->e), 0);
    wl_sampler_stop(sampler);
    struct wl_sample sample;
    assert_int_equal(wl_sampler_drain(sampler, &sample, 1), 0);
}

/* ---- Replay ---- */

static void record(struct fixture *f, const char *text)
{
    put_file(f, "rec.csv", "%s", text);
    f->opts.replay_file = wl_strf(f->a, "%s/rec.csv", f->dir);
}

static void a_recording_is_interpolated(void **state)
{
    struct fixture *f = *state;
    record(f, "# a ramp of one GPU\n"
              "t_s,device,quantity,value\n"
              "0,gpu0,power_w,100\n0,gpu0,energy_j,1000\n100,gpu0,power_w,200\n100,gpu0,energy_j,16000\n"
              "0,gpu1,power_w,50\n0.0001,gpu1,power_w,\n1000,gpu0,power_w,200\n50,package-0,power_w,30\n");
    struct wl_sensors *s = open_sensors(f, "replay");
    assert_int_equal(s->n_devices, 3);
    int power = channel_of(s, "gpu0", WL_POWER), energy = channel_of(s, "gpu0", WL_ENERGY);
    assert_true(s->channels[power].simulated && s->channels[power].scope == WL_SCOPE_GPU);
    assert_int_equal(s->channels[channel_of(s, "package-0", WL_POWER)].scope, WL_SCOPE_PACKAGE);

    struct wl_sampler *sampler;
    assert_int_equal(wl_sampler_start(&sampler, s, 100, f->a, &f->e), 0);
    int64_t start = wl_now_ns();
    wl_sleep_until(start + WL_NS_PER_S / 5);
    wl_sampler_stop(sampler);
    static struct wl_sample samples[2000];
    size_t n = wl_sampler_drain(sampler, samples, WL_COUNT(samples));
    const struct wl_sample *first = NULL; /* of the counter: its value gives the position in the recording */
    for (size_t i = 0; i < n; i++)
        if ((int)samples[i].channel == energy && !first) first = &samples[i];
    assert_non_null(first);
    double first_s = (first->value - 1000) / 150;
    assert_true(first_s >= 0 && first_s < 2);
    for (size_t i = 0; i < n; i++) {
        if ((int)samples[i].channel != power && (int)samples[i].channel != energy) continue;
        double t_s = first_s + (double)(samples[i].t_ns - first->t_ns) / WL_NS_PER_S;
        double want = (int)samples[i].channel == power ? 100 + t_s : 1000 + 150 * t_s;
        if (fabs(samples[i].value - want) > 0.2) fail_msg("%g at %g s", samples[i].value, t_s);
    }
    struct wl_channel_stats stats;
    wl_sampler_channel_stats(sampler, (size_t)channel_of(s, "package-0", WL_POWER), &stats);
    assert_true(stats.samples == 0 && stats.errors == 0); /* it starts at 50 s */
    wl_sampler_channel_stats(sampler, (size_t)channel_of(s, "gpu1", WL_POWER), &stats);
    assert_true(stats.errors > 5 && stats.gap_ns > WL_NS_PER_S / 10);
    assert_string_equal(stats.last_why, "the recording has ended");
}

static void a_broken_recording_names_its_line(void **state)
{
    struct fixture *f = *state;
    expect_error(f, "replay", WL_EUNAVAIL, "--replay-file");
    record(f, "t_s,device,quantity\n");
    expect_error(f, "replay", WL_EINVAL, "'value'");
    record(f, "t_s,device,quantity,value\n0,gpu0,power,100\n");
    expect_error(f, "replay", WL_EINVAL, "rec.csv:2: unknown quantity 'power', did you mean power_w?");
    record(f, "t_s,device,quantity,value\n0,gpuX,power_w,100\n");
    expect_error(f, "replay", WL_EINVAL, "device 'gpuX'");
    record(f, "t_s,device,quantity,value\n1,gpu0,power_w,100\n0.5,gpu0,power_w,100\n");
    expect_error(f, "replay", WL_EINVAL, "rec.csv:3");
    record(f, "t_s,device,quantity,value\n1,gpu0,power_w,lots\n");
    expect_error(f, "replay", WL_EINVAL, "lots");
    record(f, "t_s,device,quantity,value\n");
    expect_error(f, "replay", WL_EINVAL, "no rows");
    expect_error(f, "auto", WL_EINVAL, "no rows"); /* a named recording must be valid */
}

static void a_recording_of_power_replaces_the_estimate(void **state)
{
    struct fixture *f = *state;
    put_file(f, "proc/stat", "cpu  1 0 0 1 0 0 0 0\n");
    record(f, "t_s,device,quantity,value\n0,gpu0,power_w,100\n1000,gpu0,power_w,100\n");
    struct wl_sensors *s = open_sensors(f, "auto");
    assert_int_equal(s->n_open, 1);
    s = open_sensors(f, "auto,cpu_model");
    assert_int_equal(s->n_open, 2);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sensor_is_complete),
        cmocka_unit_test(names_and_units_map_both_ways),
        WITH_FIXTURE(a_wrong_name_gets_a_suggestion),
        WITH_FIXTURE(auto_on_a_bare_machine_is_not_an_error),
        WITH_FIXTURE(a_recording_is_interpolated),
        WITH_FIXTURE(a_broken_recording_names_its_line),
        WITH_FIXTURE(a_recording_of_power_replaces_the_estimate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
