/* The nvml sensor beyond power and energy: scopes, throttle reasons, links, stale values, profiling counters, other
 * processes. */
#include "fixture.h"

#include "energy/energy.h"
#include "power/sampler/sampler.h"
#include "power/sensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct wl_sensors *open_fake(struct fixture *f, const char *script)
{
    const char *path = getenv("FAKE_NVML");
    if (!path) fail_msg("FAKE_NVML is not set: run it by `meson test`");
    f->opts.nvml_library = path;
    setenv("WATTLAW_FAKE_NVML", script, 1);
    return reopen_sensors(f, "nvml");
}

static int channel_at(const struct wl_sensors *s, enum wl_quantity q, enum wl_scope scope)
{
    for (size_t i = 0; i < s->n_channels; i++) {
        if (s->channels[i].quantity == q && s->channels[i].scope == scope) return (int)i;
    }
    return -1;
}

static double read_quantity(struct wl_sensors *s, enum wl_quantity q)
{
    int channel = channel_at(s, q, WL_SCOPE_GPU);
    if (channel < 0) fail_msg("no channel %s", wl_quantity_name(q));
    return read_channel(s, channel);
}

static void pause_s(double seconds) { wl_sleep_until(wl_now_ns() + (int64_t)(seconds * WL_NS_PER_S)); }

static void a_module_is_a_separate_scope(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_fake(f, "power=400; module_w=200");
    int module = channel_at(s, WL_POWER, WL_SCOPE_MODULE), memory = channel_at(s, WL_POWER, WL_SCOPE_GPU_MEMORY);
    assert_true(fabs(read_channel(s, module) - 600) < 1e-6 && fabs(read_channel(s, memory) - 100) < 1e-6);
    assert_true(channel_at(s, WL_ENERGY, WL_SCOPE_MODULE) >= 0);
    struct wl_energy_source sources[16];
    const char *label;
    assert_int_equal(wl_energy_sources(s->channels, s->n_channels, sources, &label), 1);
    assert_string_equal(label, "gpu");
    assert_int_equal(sources[0].power, channel_at(s, WL_POWER, WL_SCOPE_GPU));
}

static void a_driver_that_ignores_scopes_has_no_module(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_fake(f, "power=400");
    assert_int_equal(channel_at(s, WL_POWER, WL_SCOPE_MODULE), -1);
    assert_int_equal(channel_at(s, WL_POWER, WL_SCOPE_GPU_MEMORY), -1);
}

static void throttle_times_are_counted(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_fake(f, "capped=0.5; thermal=0.25; memory_c=83");
    double power = read_quantity(s, WL_POWER_CAPPED), thermal = read_quantity(s, WL_THERMAL_CAPPED);
    pause_s(0.2);
    double more = read_quantity(s, WL_POWER_CAPPED) - power;
    assert_true(more >= 0.1 && fabs((read_quantity(s, WL_THERMAL_CAPPED) - thermal) / more - 0.5) < 0.2);
    assert_true(read_quantity(s, WL_BOARD_LIMITED) == 0);
    assert_true(read_quantity(s, WL_MEM_TEMPERATURE) == 83);
    assert_int_equal(channel_at(s, WL_POWER_BRAKED, WL_SCOPE_GPU), -1); /* a field that this driver does not support */
}

/* A driver without field 75 has 269. */
static void an_alternative_field_is_tried(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_fake(f, "fail=*:75:3; fail=*:76:3");
    assert_int_equal(channel_at(s, WL_THERMAL_CAPPED, WL_SCOPE_GPU), -1);
    assert_int_equal(channel_at(s, WL_SYNC_BOOSTED, WL_SCOPE_GPU), -1);
    assert_true(channel_at(s, WL_POWER_CAPPED, WL_SCOPE_GPU) >= 0);
}

/* The script's 32-bit PCIe counter wraps after 1 MiB. */
static void link_counters_are_unwrapped(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_fake(f, "links_mib_s=100");
    double pcie = read_quantity(s, WL_PCIE_TX), nvlink = read_quantity(s, WL_NVLINK_TX);
    pause_s(0.3);
    double pcie_mib = (read_quantity(s, WL_PCIE_TX) - pcie) / 1048576;
    double nvlink_mib = (read_quantity(s, WL_NVLINK_TX) - nvlink) / 1048576;
    assert_true(pcie_mib > 29 && pcie_mib < 4000);
    assert_true(nvlink_mib > 29 && nvlink_mib < 4000);
}

/* "Not supported" right after the start may be transient. */
static void a_transient_error_is_retried(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_fake(f, "fail=*:186:3:0:0.004");
    assert_int_equal(s->channels[channel_at(s, WL_POWER, WL_SCOPE_GPU)].variant, WL_VARIANT_INSTANT);
}

/* The enforced limit, W: no power reading is higher, which the intervals of energy rely on. */
static void the_limit_of_a_gpu_bounds_its_power(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_fake(f, "power=100; limits=100:400:350");
    const double max_w = s->channels[channel_at(s, WL_POWER, WL_SCOPE_GPU)].max_w;
    if (max_w != 350) fail_msg("at most %g W", max_w);
}

static void stale_utilisation_fails(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_fake(f, "busy=70; stale_s=0.3");
    int util = channel_at(s, WL_SM_UTIL, WL_SCOPE_GPU);
    assert_true(read_channel(s, util) == 70);
    pause_s(1);
    read_channel(s, util);
    pause_s(2.1);
    assert_string_equal(read_failure(s, util), "NVML: the utilisation is older than 2 s");
}

/* ---- The update period ---- */

enum { PATIENCE_S = 60 };

/* A power that changes every 50 ms, which polling finds. A busy machine polls late, and then sees fewer changes or is
 * not sure of them, but never sees more: opened until it is found. */
static struct wl_sensors *open_moving(struct fixture *f)
{
    const int64_t until_ns = wl_now_ns() + PATIENCE_S * WL_NS_PER_S;
    for (;;) {
        struct wl_sensors *s = open_fake(f, "power=ramp:100:200; update_ms=50");
        const double update_s = s->channels[channel_at(s, WL_POWER, WL_SCOPE_GPU)].update_s;
        assert_true(isnan(update_s) || update_s > 0.04);
        if (update_s < 0.06) return s;
        if (wl_now_ns() > until_ns) fail_msg("an update each 50 ms is taken for one each %g s", update_s);
    }
}

/* One reading is kept per change of a power that changes every 50 ms, however often it is read: sampled until it was
 * read 20 times more often than it can have changed. */
static void the_update_period_is_found_and_repeats_are_dropped(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_moving(f);
    const size_t power_at = (size_t)channel_at(s, WL_POWER, WL_SCOPE_GPU),
                 energy_at = (size_t)channel_at(s, WL_ENERGY, WL_SCOPE_GPU);
    const int64_t t0_ns = wl_now_ns(), until_ns = t0_ns + PATIENCE_S * WL_NS_PER_S, update_ns = WL_NS_PER_S / 20;
    struct wl_channel_stats power, energy;
    struct wl_sampler *sampler;
    size_t moves = 0;
    assert_int_equal(wl_sampler_start(&sampler, s, 200, f->a, &f->e), 0);
    do {
        if (wl_now_ns() > until_ns) fail_msg("%zu readings for %zu moves", (size_t)energy.samples, moves);
        pause_s(0.05);
        wl_sampler_channel_stats(sampler, power_at, &power);
        wl_sampler_channel_stats(sampler, energy_at, &energy);
        moves = (size_t)((wl_now_ns() - t0_ns) / update_ns) + 2; /* both ends may catch one more */
    } while (energy.samples < moves + 20 || power.samples < 3);
    wl_sampler_stop(sampler);
    wl_sampler_channel_stats(sampler, power_at, &power);
    moves = (size_t)((wl_now_ns() - t0_ns) / update_ns) + 2;
    assert_true(power.errors == 0 && power.gap_ns == 0);
    if (power.samples > moves) fail_msg("%zu readings of a power that moved %zu times", (size_t)power.samples, moves);
}

/* A busy machine reads less often, never more often than the poll intervals allow; first and last readings have all. */
static void slow_quantities_are_read_less_often(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_fake(f, "power=100; busy=40");
    const enum wl_quantity quantities[] = { WL_ENERGY, WL_SM_UTIL, WL_TEMPERATURE };
    struct wl_channel_stats found[3];
    struct wl_sampler_stats all = { 0 };
    struct wl_sampler *sampler;
    int64_t t0 = wl_now_ns();
    assert_int_equal(wl_sampler_start(&sampler, s, 50, f->a, &f->e), 0);
    while (all.ticks < 30 || wl_now_ns() - t0 < WL_NS_PER_S * 6 / 5) {
        pause_s(0.05);
        wl_sampler_stats(sampler, &all);
    }
    wl_sampler_stop(sampler);
    double elapsed_s = (double)(wl_now_ns() - t0) / WL_NS_PER_S;
    wl_sampler_stats(sampler, &all);
    for (int i = 0; i < 3; i++) {
        double pace_s = wl_poll_interval_s(wl_quantity_poll_interval(quantities[i]));
        wl_sampler_channel_stats(sampler, (size_t)channel_at(s, quantities[i], WL_SCOPE_GPU), &found[i]);
        if (pace_s > 0) assert_true((double)found[i].samples <= elapsed_s / pace_s + 3);
        assert_true(found[i].samples >= 3);
    }
    assert_int_equal(found[0].samples + found[0].errors, all.ticks);
    assert_true(found[1].samples < found[0].samples / 2);
}

static void gpus_of_a_script_may_differ(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_fake(f, "gpus=3; power=100,200; busy=10,20,30; wrap_j=1000");
    const double watts[] = { 100, 201, 202 }, busy[] = { 10, 20, 30 };
    size_t power = 0, util = 0;
    for (size_t c = 0; c < s->n_channels; c++) {
        if (s->channels[c].quantity == WL_POWER) assert_true(read_channel(s, (int)c) == watts[power++]);
        if (s->channels[c].quantity == WL_SM_UTIL) assert_true(read_channel(s, (int)c) == busy[util++]);
        if (s->channels[c].quantity == WL_ENERGY) assert_true(read_channel(s, (int)c) < 1000);
    }
    assert_true(power == 3 && util == 3);
}

static void a_value_that_always_changes_has_a_short_period(void **state)
{
    struct fixture *f = *state;
    int64_t t0 = wl_now_ns();
    struct wl_sensors *s = open_fake(f, "power=ramp:100:2000");
    assert_true(s->channels[channel_at(s, WL_ENERGY, WL_SCOPE_GPU)].update_s < 0.02);
    assert_true(isnan(s->channels[channel_at(s, WL_SM_UTIL, WL_SCOPE_GPU)].update_s));
    assert_true(wl_now_ns() > t0);
}

static void a_repeat_is_kept_to_avoid_a_gap(void **state)
{
    (void)state;
    struct wl_repeat_filter r = { 0 };
    const int64_t ms = WL_NS_PER_S / 1000;
    assert_false(wl_is_repeat(&r, &(struct wl_reading) { .value = 5, .t_ns = 1000 * ms }, 1));
    assert_true(wl_is_repeat(&r, &(struct wl_reading) { .value = 5, .t_ns = 1090 * ms }, 1));
    assert_false(wl_is_repeat(&r, &(struct wl_reading) { .value = 5, .t_ns = 1100 * ms }, 1));
    assert_false(wl_is_repeat(&r, &(struct wl_reading) { .value = 6, .t_ns = 1110 * ms }, 1));
    assert_false(wl_is_repeat(&r, &(struct wl_reading) { .value = NAN, .t_ns = 1120 * ms }, 1));
    assert_false(wl_is_repeat(&r, &(struct wl_reading) { .value = 6, .t_ns = 1120 * ms }, NAN));
}

/* ---- Profiling counters ---- */

static void profiling_counters_are_an_option(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_fake(f, "gpm=60:40:25:30; links_mib_s=10");
    assert_int_equal(channel_at(s, WL_SM_ACTIVE, WL_SCOPE_GPU), -1);
    f->opts.gpm = true;
    s = open_fake(f, "gpm=60:40:25:30; links_mib_s=10; fail=*:138:3; fail=*:139:3");
    pause_s(0.12);
    int active = channel_at(s, WL_SM_ACTIVE, WL_SCOPE_GPU);
    assert_true(read_channel(s, active) == 60);
    pause_s(0.12);
    assert_true(read_quantity(s, WL_TENSOR_ACTIVE) == 25);
    assert_true(isnan(read_channel(s, active)) && read_failure(s, active) == NULL); /* too early for the next */
    pause_s(0.12);
    double bytes = read_quantity(s, WL_NVLINK_TX); /* from the rate, as the field is missing */
    assert_true(bytes > 2 * 1048576);
}

static void missing_profiling_counters_have_a_reason(void **state)
{
    struct fixture *f = *state;
    f->opts.gpm = true;
    assert_non_null(strstr(info_of(open_fake(f, ""), "nvml")->reason, "Hopper"));
    struct wl_sensors *s = open_fake(f, "gpm=denied");
    assert_non_null(strstr(info_of(s, "nvml")->reason, "administrator"));
    assert_non_null(strstr(info_of(s, "nvml")->fix, "NVreg_RestrictProfilingToAdminUsers=0"));
    assert_non_null(strstr(info_of(open_fake(f, "gpm=1:2:3:4; mig=1"), "nvml")->reason, "MIG"));
}

static void a_profiling_share_far_above_100_fails(void **state)
{
    struct fixture *f = *state;
    f->opts.gpm = true;
    struct wl_sensors *s = open_fake(f, "gpm=130:100.2:5:5");
    pause_s(0.12);
    assert_non_null(read_failure(s, channel_at(s, WL_SM_ACTIVE, WL_SCOPE_GPU)));
    pause_s(0.12);
    assert_true(read_quantity(s, WL_SM_OCCUPANCY) == 100.2); /* never cut to 100 */
}

static void a_utilisation_above_100_fails(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_fake(f, "busy=130");
    assert_string_equal(read_failure(s, channel_at(s, WL_SM_UTIL, WL_SCOPE_GPU)), "NVML: utilisation above 100 %");
}

/* ---- Facts and other processes ---- */

static const char *fact(const struct wl_device *d, const char *key)
{
    for (size_t i = 0; i < d->n_facts; i++) {
        if (wl_str_eq(d->facts[i].key, key)) return d->facts[i].value;
    }
    return NULL;
}

static void a_device_has_its_facts(void **state)
{
    struct fixture *f = *state;
    struct wl_sensors *s = open_fake(f, "arch=9; ecc=0; gpus=2");
    const struct wl_device *d = &s->devices[1];
    assert_string_equal(fact(d, "architecture"), "Hopper");
    assert_string_equal(fact(d, "ecc"), "off");
    assert_string_equal(fact(d, "persistence"), "on");
    assert_string_equal(fact(d, "mig"), "off");
    assert_string_equal(fact(d, "vbios"), "92.00.45.00.01");
    assert_string_equal(fact(d, "serial"), "1320521000001");
    assert_string_equal(fact(d, "driver"), "535.104.05");
    s = open_fake(f, "arch=42");
    assert_string_equal(fact(&s->devices[0], "architecture"), "number 42");
}

static struct wl_strs notes_of(struct fixture *f, const char *script)
{
    struct wl_strs notes = { 0 };
    f->opts.root = ""; /* /proc of this machine */
    struct wl_sensors *s = open_fake(f, script);
    struct wl_sampler *sampler;
    assert_int_equal(wl_sampler_start(&sampler, s, 50, f->a, &f->e), 0);
    wl_sampler_watch(sampler, getpid());
    pause_s(0.1);
    wl_sampler_stop(sampler);
    wl_sensors_notes(s, &notes, f->a);
    return notes;
}

/* Process 1 never belongs to the job. */
static void other_processes_on_a_gpu_are_reported(void **state)
{
    struct fixture *f = *state;
    struct wl_strs notes = notes_of(f, wl_strf(f->a, "pids=%d", (int)getpid()));
    assert_int_equal(notes.n, 0);
    notes = notes_of(f, wl_strf(f->a, "pids=1,%d", (int)getpid()));
    assert_int_equal(notes.n, 1);
    assert_non_null(strstr(notes.v[0], "other processes used the GPU during the job: 1 process (1 "));
    notes = notes_of(f, "pids=4194301"); /* e.g. in another container */
    assert_int_equal(notes.n, 1);
    assert_non_null(strstr(notes.v[0], "not visible here"));
    notes = notes_of(f, "mig=1");
    assert_non_null(strstr(notes.v[0], "MIG"));
}

/* Processes that /proc does not show are others', too. */
static void other_processes_on_a_gpu_are_counted(void **state)
{
    struct fixture *f = *state;
    f->opts.root = "";
    struct wl_sensors *s = open_fake(f, wl_strf(f->a, "pids=1,%d,4194301", (int)getpid()));
    s->open[0]->ops->watch(s->open[0], getpid());
    size_t c = 0;
    while (s->channels[c].quantity != WL_OTHER_PROCESSES) c++;
    assert_true(read_channel(s, (int)c) == 2);
}

static double util_of(struct wl_sensors *s, enum wl_scope scope)
{
    size_t c = 0;
    while (s->channels[c].quantity != WL_PROCESS_UTIL || s->channels[c].scope != scope) c++;
    return read_channel(s, (int)c);
}

/* A share above 100 % is an error of the driver. */
static void utilisation_by_process_is_read(void **state)
{
    struct fixture *f = *state;
    f->opts.root = "";
    struct wl_sensors *s = open_fake(f, wl_strf(f->a, "pids=1,%d,4194301; pid_util=40,25,101", (int)getpid()));
    s->open[0]->ops->watch(s->open[0], getpid());
    assert_true(util_of(s, WL_SCOPE_GPU) == 65 && util_of(s, WL_SCOPE_JOB) == 25);
    s = open_fake(f, "gpus=1");
    for (size_t c = 0; c < s->n_channels; c++) assert_true(s->channels[c].quantity != WL_PROCESS_UTIL);
}

/* ---- Rates ---- */

static double rate(const int64_t *t_ms, const double *v, size_t n, int from_ms, int to_ms)
{
    int64_t t[16];
    const int64_t ms = WL_NS_PER_S / 1000;
    for (size_t i = 0; i < n; i++) t[i] = t_ms[i] * ms;
    return wl_window_rate(&(struct wl_time_series) { t, v, n }, from_ms * ms, to_ms * ms, 3000 * ms);
}

static void a_rate_is_the_difference_over_the_window(void **state)
{
    (void)state;
    const int64_t t[] = { 0, 1000, 2000, 3000 };
    const double v[] = { 10, 10.5, 11.5, 11.5 };
    assert_true(fabs(rate(t, v, 4, 0, 3000) - 0.5) < 1e-12);
    assert_true(fabs(rate(t, v, 4, 500, 1500) - 0.75) < 1e-12);
    assert_true(rate(t, v, 4, 2000, 3000) == 0); /* constant */
    assert_true(fabs(rate(t, v, 4, -500, 9000) - 0.5) < 1e-12);
    const double reset[] = { 10, 10.5, 0.1, 0.2 };
    assert_true(isnan(rate(t, reset, 4, 0, 3000)));
    const double gap[] = { 10, NAN, 11, 12 };
    assert_true(fabs(rate(t, gap, 4, 0, 3000) - 2.0 / 3) < 1e-12);
    assert_true(isnan(rate(t, v, 1, 0, 3000)));
    const int64_t far[] = { 0, 9000, 10000 };
    assert_true(isnan(rate(far, v, 3, 1000, 9500)));
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(a_module_is_a_separate_scope),
        WITH_FIXTURE(a_driver_that_ignores_scopes_has_no_module),
        WITH_FIXTURE(throttle_times_are_counted),
        WITH_FIXTURE(an_alternative_field_is_tried),
        WITH_FIXTURE(link_counters_are_unwrapped),
        WITH_FIXTURE(a_transient_error_is_retried),
        WITH_FIXTURE(the_limit_of_a_gpu_bounds_its_power),
        WITH_FIXTURE(stale_utilisation_fails),
        WITH_FIXTURE(the_update_period_is_found_and_repeats_are_dropped),
        WITH_FIXTURE(slow_quantities_are_read_less_often),
        WITH_FIXTURE(gpus_of_a_script_may_differ),
        WITH_FIXTURE(a_value_that_always_changes_has_a_short_period),
        cmocka_unit_test(a_repeat_is_kept_to_avoid_a_gap),
        WITH_FIXTURE(profiling_counters_are_an_option),
        WITH_FIXTURE(missing_profiling_counters_have_a_reason),
        WITH_FIXTURE(a_profiling_share_far_above_100_fails),
        WITH_FIXTURE(a_utilisation_above_100_fails),
        WITH_FIXTURE(a_device_has_its_facts),
        WITH_FIXTURE(other_processes_on_a_gpu_are_reported),
        WITH_FIXTURE(other_processes_on_a_gpu_are_counted),
        WITH_FIXTURE(utilisation_by_process_is_read),
        cmocka_unit_test(a_rate_is_the_difference_over_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
