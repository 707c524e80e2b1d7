/* Energies of windows from readings in memory: which method is chosen, and what an estimate's interval includes. */
#include "run/derive.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { READINGS = 600, RATE_HZ = 10 };

/* A device with a counter and power, read ten times a second for a minute at 100 W; the run is 10 s to 50 s of it. */
struct device {
    struct wl_arena *a;
    struct wl_channel_row channels[2];
    struct wl_time_series series[2];
    struct wl_run_window windows[3];
    struct wl_mark_row marks[4];
    struct wl_device_rows devices;
    struct wl_derived out;
    struct wl_derivation d;
    double energy_j[READINGS], power_w[READINGS];
    int64_t t_ns[READINGS];
};

static const int64_t S = WL_NS_PER_S;

static struct device *device_of(struct wl_arena *a, bool estimated)
{
    struct device *v = wl_new(a, struct device);
    for (int c = 0; c < 2; c++)
        v->channels[c] = (struct wl_channel_row) { .id = c + 1,
                                                   .device = 1,
                                                   .quantity = c ? "power_w" : "energy_j",
                                                   .scope = "package",
                                                   .variant = "",
                                                   .counter = c == 0,
                                                   .estimated = estimated,
                                                   .update_s = NAN,
                                                   .window_s = NAN,
                                                   .delay_s = NAN,
                                                   .power_limit_w = NAN };
    for (int i = 0; i < READINGS; i++) {
        v->t_ns[i] = i * S / RATE_HZ;
        v->power_w[i] = 100;
        v->energy_j[i] = 100.0 * i / RATE_HZ;
    }
    v->series[0] = (struct wl_time_series) { v->t_ns, v->energy_j, READINGS };
    v->series[1] = (struct wl_time_series) { v->t_ns, v->power_w, READINGS };
    v->windows[0] = (struct wl_run_window) { NAN, 10 * S, 50 * S };
    v->windows[1] = (struct wl_run_window) { 1, 10 * S, 30 * S };
    v->windows[2] = (struct wl_run_window) { 2, 30 * S, 50 * S };
    v->marks[0] = (struct wl_mark_row) { 20 * S, 0, "phase-begin", "name=io" };
    v->marks[1] = (struct wl_mark_row) { 40 * S, 0, "phase-end", "name=io" };
    v->marks[2] = (struct wl_mark_row) { 40 * S, 0, "phase-begin", "name=io" };
    v->marks[3] = (struct wl_mark_row) { 50 * S, 0, "phase-end", "name=io" };
    v->a = a;
    return v;
}

/* Readings of the channel fail from..to, in seconds. */
static void silence(struct device *v, int channel, double from_s, double to_s)
{
    for (int i = 0; i < READINGS; i++)
        if (i > from_s * RATE_HZ && i < to_s * RATE_HZ) *(channel ? &v->power_w[i] : &v->energy_j[i]) = NAN;
}

static void derive(struct device *v)
{
    v->d = (struct wl_derivation) { .max_gap_ns = wl_max_gap_ns(1.0 / RATE_HZ),
                                    .idle_s = 8,
                                    .windows = v->windows,
                                    .n_windows = WL_COUNT(v->windows),
                                    .marks = { v->marks, WL_COUNT(v->marks) },
                                    .channels = { v->channels, WL_COUNT(v->channels) },
                                    .devices = v->devices,
                                    .series = v->series,
                                    .out = &v->out,
                                    .a = v->a };
    assert_non_null(wl_derive_energy(&v->d));
}

static const struct wl_energy_row *chosen(const struct device *v, double epoch)
{
    const struct wl_energy_row *found = NULL;
    for (size_t i = 0; i < v->out.n_energies; i++) {
        const struct wl_energy_row *e = &v->out.energies[i];
        bool same = isnan(epoch) ? isnan(e->epoch) : e->epoch == epoch;
        if (!same || !e->chosen) continue;
        assert_null(found);
        found = e;
    }
    assert_non_null(found);
    return found;
}

static void assert_holds(double value, double lo, double hi, const char *what)
{
    if (!(lo >= 0 && lo <= (1 - WL_MODEL_ERROR) * value * 1.001 && hi >= (1 + WL_MODEL_ERROR) * value * .999))
        fail_msg("%s: %g in %g to %g", what, value, lo, hi);
}

/* By the counter in the first epoch, by both in the second, whose end the counter does not reach. */
static void intervals_of_estimates_include_the_model_error(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct device *v = device_of(a, true);
    for (int i = 0; i < READINGS; i++)
        v->power_w[i] = i < 50 ? 400 : i % 20 < 10 ? 80 : 120; /* so that the maximum is high */
    silence(v, 0, 47, 60);
    derive(v);
    assert_string_equal(chosen(v, 1)->method, "counter");
    assert_string_equal(chosen(v, 2)->method, "combined");
    for (size_t i = 0; i < v->out.n_energies; i++) {
        const struct wl_energy_row *e = &v->out.energies[i];
        assert_true(e->estimated);
        if (!isnan(e->energy_j)) assert_holds(e->energy_j, e->energy_lo_j, e->energy_hi_j, e->method);
    }
    assert_int_equal(v->out.n_phases, 1);
    const struct wl_phase_row *p = &v->out.phases[0];
    assert_holds(p->energy_j, p->energy_lo_j, p->energy_hi_j, "phase");
    wl_arena_free(a);
}

/* No device draws less than 0 W, however large the error of a model and the gaps in its readings. */
static void no_interval_begins_below_0(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct device *v = device_of(a, true);
    for (int i = 0; i < READINGS; i += 2) v->power_w[i] = 1;
    silence(v, 0, -1, 60);
    silence(v, 1, 12, 29);
    silence(v, 1, 31, 39);
    derive(v);
    for (size_t i = 0; i < v->out.n_energies; i++)
        if (!isnan(v->out.energies[i].energy_j)) assert_true(v->out.energies[i].energy_lo_j >= 0);
    assert_true(chosen(v, 2)->energy_lo_j >= 0);
    assert_true(isnan(chosen(v, 1)->energy_j) && isnan(chosen(v, 1)->energy_lo_j) && chosen(v, 1)->why);
    wl_arena_free(a);
}

/* The model's error is a share of the energy: with it the method with the lowest energy would have the narrowest
 * interval. */
static void methods_are_compared_without_the_model_error(void **state)
{
    (void)state;
    for (int estimated = 0; estimated < 2; estimated++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct device *v = device_of(a, estimated);
        for (int i = 0; i < READINGS; i++) v->power_w[i] = i % 20 < 10 ? 60 : 100; /* lower, with a wider interval */
        silence(v, 0, 49.5, 60);
        derive(v);
        assert_string_equal(chosen(v, NAN)->method, "counter");
        wl_arena_free(a);
    }
}

/* Energies and bounds of the spans are added; an unknown one makes the sum unknown, with a reason. */
static void a_phase_is_the_sum_of_its_spans(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct device *v = device_of(a, true);
    derive(v);
    assert_int_equal(v->out.n_phases, 1);
    const struct wl_phase_row *p = &v->out.phases[0];
    assert_int_equal(p->spans, 2);
    assert_true(fabs(p->energy_j - 3000) < 1 && p->energy_lo_j > 1100 && p->energy_hi_j < 4900 && !p->why);
    assert_holds(p->energy_j, p->energy_lo_j, p->energy_hi_j, "phase of two spans");

    v = device_of(a, false);
    silence(v, 0, -1, 60);
    silence(v, 1, 41, 49);
    derive(v);
    p = &v->out.phases[0];
    assert_true(isnan(p->energy_j) && p->why && strstr(p->why, "missing for more than half"));
    wl_arena_free(a);
}

static void mark_phase(struct device *v, size_t i, int64_t t_s, const char *word, const char *name)
{
    v->marks[i] = (struct wl_mark_row) { t_s * S, 0, word, name };
}

static void assert_phase(const struct device *v, size_t i, const char *name, int64_t spans, double energy_j)
{
    const struct wl_phase_row *p = &v->out.phases[i];
    assert_string_equal(p->phase, name);
    if (p->spans != spans || fabs(p->energy_j - energy_j) > 1)
        fail_msg("%s: %lld spans of %g J", name, (long long)p->spans, p->energy_j);
}

/* One that is begun twice ends once for both; one without an end is not a phase. */
static void phases_nest_and_end_by_their_name(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct device *v = device_of(a, false);
    mark_phase(v, 0, 10, "phase-begin", "name=outer");
    mark_phase(v, 1, 20, "phase-begin", "name=inner");
    mark_phase(v, 2, 30, "phase-end", "name=inner");
    mark_phase(v, 3, 40, "phase-end", "name=outer");
    derive(v);
    assert_int_equal(v->out.n_phases, 2);
    assert_phase(v, 0, "outer", 1, 3000);
    assert_phase(v, 1, "inner", 1, 1000);

    v = device_of(a, false);
    mark_phase(v, 0, 10, "phase-begin", "name=open");
    mark_phase(v, 1, 20, "phase-begin", "name=x");
    mark_phase(v, 2, 30, "phase-begin", "name=x");
    mark_phase(v, 3, 40, "phase-end", "name=x");
    derive(v);
    assert_int_equal(v->out.n_phases, 1);
    assert_phase(v, 0, "x", 2, 3000);
    wl_arena_free(a);
}

/* In the first quarter of the idle time after the job clocks and fans are still slowing down. */
static void idle_power_excludes_the_first_quarter_after_the_job(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct device *v = device_of(a, false);
    silence(v, 0, -1, 60);
    for (int i = 0; i < READINGS; i++) v->power_w[i] = i < 100 ? 20 : i < 519 ? 100 : 40;
    derive(v);
    const struct wl_energy_row *e = chosen(v, NAN);
    assert_true(fabs(e->idle_before_w - 20) < 1 && fabs(e->idle_after_w - 40) < 0.1);
    assert_true(fabs(e->idle_j - 30 * 40) < 20);
    wl_arena_free(a);
}

/* The device on a machine whose CPU time is known: others use one of 4 CPUs before the run, and after it too, or not.
 * Returns the idle energy of the run. */
static double idle_j_beside_others(struct wl_arena *a, const char *scope, bool busy_after)
{
    struct device *v = device_of(a, false);
    double cpu_s[READINGS], cpus[READINGS];
    struct wl_channel_row channels[4] = { v->channels[0], v->channels[1] }, node = v->channels[0];
    struct wl_time_series series[4] = {
        v->series[0], v->series[1], { v->t_ns, cpu_s, READINGS }, { v->t_ns, cpus, READINGS }
    };
    struct wl_device_row device = { .id = 1, .host = "a" };
    channels[0].scope = channels[1].scope = scope;
    node.scope = "node";
    for (int c = 2; c < 4; c++) {
        channels[c] = node;
        channels[c].id = c + 1;
        channels[c].quantity = c == 2 ? "cpu_time_s" : "cpus";
        channels[c].counter = c == 2;
    }
    silence(v, 0, -1, 60);
    for (int i = 0; i < READINGS; i++) {
        const double t_s = (double)i / RATE_HZ;
        v->power_w[i] = t_s < 10 ? 60 : t_s < 50 ? 100 : 20;
        cpu_s[i] = fmin(t_s, 10) + (busy_after ? fmax(t_s - 50, 0) : 0);
        cpus[i] = 4;
    }
    v->d = (struct wl_derivation) { .max_gap_ns = wl_max_gap_ns(1.0 / RATE_HZ),
                                    .idle_s = 8,
                                    .windows = v->windows,
                                    .n_windows = 1,
                                    .channels = { channels, WL_COUNT(channels) },
                                    .devices = { &device, 1 },
                                    .series = series,
                                    .out = &v->out,
                                    .a = a };
    assert_non_null(wl_derive_energy(&v->d));
    const struct wl_energy_row *e = chosen(v, NAN);
    assert_true(fabs(e->idle_before_w - 60) < 1 && fabs(e->idle_after_w - 20) < 1); /* as measured */
    return e->idle_j;
}

static void idle_power_of_a_busy_machine_is_left_out(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    assert_true(fabs(idle_j_beside_others(a, "package", false) - 20 * 40) < 20);
    assert_true(isnan(idle_j_beside_others(a, "package", true)));
    assert_true(fabs(idle_j_beside_others(a, "gpu", true) - 40 * 40) < 20); /* that of a GPU does not depend on it */
    wl_arena_free(a);
}

/* Two GPUs are measured at 100 W; the job's start marks say which of them it computes on. */
static double energy_of_two(const char *fields, const char *fields_of_rank_1)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct device *v = device_of(a, false);
    struct wl_device_row devices[] = { { .id = 1, .uuid = "GPU-1" }, { .id = 2, .uuid = "GPU-2" } };
    for (int c = 0; c < 2; c++) {
        v->channels[c].device = c + 1;
        v->channels[c].quantity = "power_w";
        v->channels[c].counter = false;
        v->channels[c].scope = "gpu";
    }
    v->series[0] = v->series[1];
    v->marks[2] = (struct wl_mark_row) { 10 * S, 0, "start", fields };
    v->marks[3] = (struct wl_mark_row) { 10 * S, 1, "start", fields_of_rank_1 };
    v->devices = (struct wl_device_rows) { devices, WL_COUNT(devices) };
    derive(v);
    double sum_j = 0;
    for (size_t i = 0; i < v->out.n_energies; i++)
        if (v->out.energies[i].chosen && isnan(v->out.energies[i].epoch)) sum_j += v->out.energies[i].energy_j;
    wl_arena_free(a);
    return sum_j;
}

static void gpus_that_start_marks_name_count_alone(void **state)
{
    (void)state;
    assert_true(fabs(energy_of_two("workload=x", "workload=x") - 8000) < 10);
    assert_true(fabs(energy_of_two("workload=x gpu=GPU-2", "workload=x gpu=GPU-2") - 4000) < 10);
    assert_true(fabs(energy_of_two("workload=x gpu=GPU-2", "workload=x gpu=GPU-1") - 8000) < 10);
    assert_true(fabs(energy_of_two("workload=x gpu=MIG-7", "workload=x") - 8000) < 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_of_estimates_include_the_model_error),
        cmocka_unit_test(no_interval_begins_below_0),
        cmocka_unit_test(methods_are_compared_without_the_model_error),
        cmocka_unit_test(a_phase_is_the_sum_of_its_spans),
        cmocka_unit_test(phases_nest_and_end_by_their_name),
        cmocka_unit_test(gpus_that_start_marks_name_count_alone),
        cmocka_unit_test(idle_power_excludes_the_first_quarter_after_the_job),
        cmocka_unit_test(idle_power_of_a_busy_machine_is_left_out),
    };
    return cmocka_run_group_tests_name("energies", tests, NULL, NULL);
}
