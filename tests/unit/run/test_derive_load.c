/* What others did on the machine, from readings in memory: when a run counts as busy, and what is not known. */
#include "run/derive.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { READINGS = 60, NODE_TIME = 0, JOB_TIME, NODE_CPUS, JOB_CPUS, RUNNABLE, GPU_OTHERS, CHANNELS };
static const int64_t S = WL_NS_PER_S;

/* A machine of 4 CPUs, read once a second for a minute; the run is 10 s to 50 s of it. */
struct machine {
    struct wl_arena *a;
    struct wl_channel_row channels[CHANNELS];
    struct wl_time_series series[CHANNELS];
    struct wl_device_row devices[1];
    struct wl_run_window window;
    struct wl_derived out;
    struct wl_derivation d;
    double value[CHANNELS][READINGS];
    int64_t t_ns[READINGS];
};

/* CPUs that the job uses in the run, and others all the time. */
static struct machine *machine_of(struct wl_arena *a, double job_cpus, double other_cpus)
{
    static const struct {
        const char *quantity, *scope;
    } of[CHANNELS] = {
        [NODE_TIME] = { "cpu_time_s", "node" }, [JOB_TIME] = { "cpu_time_s", "job" },
        [NODE_CPUS] = { "cpus", "node" },       [JOB_CPUS] = { "cpus", "job" },
        [RUNNABLE] = { "runnable", "node" },    [GPU_OTHERS] = { "other_processes", "gpu" },
    };
    struct machine *m = wl_new(a, struct machine);
    m->a = a;
    m->devices[0] = (struct wl_device_row) { .id = 1, .host = "a" };
    for (int c = 0; c < CHANNELS; c++) {
        m->channels[c] = (struct wl_channel_row) {
            .id = c + 1, .device = 1, .quantity = of[c].quantity, .scope = of[c].scope, .counter = c <= JOB_TIME
        };
        m->series[c] = (struct wl_time_series) { m->t_ns, m->value[c], READINGS };
    }
    for (int i = 0; i < READINGS; i++) {
        double in_run_s = fmin(fmax(i - 10, 0), 40);
        m->t_ns[i] = i * S;
        m->value[JOB_TIME][i] = job_cpus * in_run_s;
        m->value[NODE_TIME][i] = 1000 + job_cpus * in_run_s + other_cpus * i;
        m->value[NODE_CPUS][i] = 4;
        m->value[JOB_CPUS][i] = 2;
        m->value[RUNNABLE][i] = 3;
    }
    m->window = (struct wl_run_window) { NAN, 10 * S, 50 * S };
    return m;
}

static const struct wl_load_row *derive(struct machine *m, double idle_s, double own_cpu_s, double other_run)
{
    m->d = (struct wl_derivation) {
        .idle_s = idle_s, .windows = &m->window, .n_windows = 1, .series = m->series, .out = &m->out, .a = m->a
    };
    m->d.channels = (struct wl_channel_rows) { m->channels, CHANNELS };
    m->d.devices = (struct wl_device_rows) { m->devices, 1 };
    wl_derive_load(&m->d, own_cpu_s, other_run);
    return m->out.load;
}

static void near(double got, double want) { assert_true(fabs(got - want) < 1e-6 * (1 + fabs(want))); }

static void a_quiet_machine_is_not_busy(void **state)
{
    const struct wl_load_row *r = derive(machine_of(*state, 2, 0.05), NAN, 0.4, 0);
    near(r->job_cpu_s, 80);
    near(r->busy_cpu_s, 82);
    near(r->other_cpu_s, 1.6); /* without wattlaw itself */
    near(r->cpus, 4);
    near(r->job_cpus, 2);
    near(r->runnable, 3);
    assert_true(isnan(r->idle_other_cpus));
    assert_null(r->busy);
    assert_null(r->why);
}

static void foreign_cpu_time_makes_it_busy(void **state)
{
    const struct wl_load_row *r = derive(machine_of(*state, 0.5, 1.5), NAN, 0, 0);
    near(r->other_cpu_s, 60);
    assert_string_equal(r->busy, "others used 75 % of the busy CPU time (1.5 of 4 CPUs, 3 tasks runnable)");
}

/* Both thresholds must be passed: much of what little is used is not much, nor is little of much. */
static void the_thresholds(void **state)
{
    assert_null(derive(machine_of(*state, 0.2, 0.09), NAN, 0, 0)->busy); /* 31 % of the busy time, 0.09 CPUs */
    assert_non_null(derive(machine_of(*state, 0.2, 0.11), NAN, 0, 0)->busy);
    assert_null(derive(machine_of(*state, 2.5, 0.12), NAN, 0, 0)->busy); /* 3 % of the CPUs, 4.6 % of the busy time */
    assert_non_null(derive(machine_of(*state, 2.2, 0.13), NAN, 0, 0)->busy);
}

static void busy_while_idle_was_measured(void **state)
{
    struct machine *m = machine_of(*state, 4, 0);
    for (int i = 0; i < READINGS; i++) m->value[NODE_TIME][i] += fmin(i, 10);
    const struct wl_load_row *r = derive(m, 5, 0, 0);
    near(r->idle_other_cpus, 1);
    assert_string_equal(r->busy, "the idle power was measured while others used 1 CPUs");
}

static void gpus_and_other_runs(void **state)
{
    struct machine *m = machine_of(*state, 1, 0);
    m->value[GPU_OTHERS][30] = 2;
    const struct wl_load_row *r = derive(m, NAN, 0, 1);
    near(r->gpu_processes, 2);
    assert_string_equal(r->busy, "2 processes of others used a GPU; another wattlaw measured on this machine");
}

static void what_is_not_known_has_its_reason(void **state)
{
    struct machine *m = machine_of(*state, 1, 3);
    m->series[NODE_TIME].n = 0; /* as in an older store */
    const struct wl_load_row *r = derive(m, NAN, 0, 0);
    assert_true(isnan(r->other_cpu_s));
    assert_null(r->busy);
    assert_string_equal(r->why, "the CPU time of the machine was not recorded");
    m = machine_of(*state, 1, 3);
    r = derive(m, NAN, NAN, NAN);
    assert_string_equal(r->why, "the CPU time of wattlaw itself was not recorded");
    m->window.t1_ns = m->window.t0_ns + S / 2;
    r = derive(m, NAN, 0, 0);
    assert_null(r->busy);
    assert_string_equal(r->why, "the run was shorter than 1 s");
}

static int setup(void **state)
{
    *state = wl_arena_new(NULL);
    return 0;
}

static int teardown(void **state)
{
    wl_arena_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_quiet_machine_is_not_busy, setup, teardown),
        cmocka_unit_test_setup_teardown(foreign_cpu_time_makes_it_busy, setup, teardown),
        cmocka_unit_test_setup_teardown(the_thresholds, setup, teardown),
        cmocka_unit_test_setup_teardown(busy_while_idle_was_measured, setup, teardown),
        cmocka_unit_test_setup_teardown(gpus_and_other_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_known_has_its_reason, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
