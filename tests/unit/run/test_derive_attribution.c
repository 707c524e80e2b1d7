/* Whose joules, from readings in memory: which idle power, which share, and what is not known. */
#include "run/derive.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
    READINGS = 61,
    NODE_TIME = 0,
    JOB_TIME,
    NODE_CPUS,
    JOB_CPUS,
    COUNTER,
    GPU_COUNTER,
    OTHERS,
    UTIL,
    JOB_UTIL,
    CHANNELS
};
static const int64_t S = WL_NS_PER_S;

/* A machine of 4 CPUs that idles at 20 W and draws 10 W for each busy CPU, and a GPU at 100 W; read each second, the
 * run is 10 s to 50 s. The job uses 1 CPU of the 2 that it may use, and half of what is used of the GPU. */
struct machine {
    struct wl_arena *a;
    struct wl_channel_row channels[CHANNELS];
    struct wl_time_series series[CHANNELS];
    struct wl_device_row devices[2];
    struct wl_energy_row energies[2];
    struct wl_run_window window;
    struct wl_derived out;
    struct wl_derivation d;
    double value[CHANNELS][READINGS];
    int64_t t_ns[READINGS];
};

static void set_channel(struct machine *m, int c, int64_t device, const char *quantity, const char *scope, bool counter)
{
    m->channels[c] = (struct wl_channel_row) { .id = c + 1,
                                               .device = device,
                                               .quantity = quantity,
                                               .scope = scope,
                                               .variant = "",
                                               .counter = counter,
                                               .update_s = NAN,
                                               .window_s = NAN,
                                               .delay_s = NAN,
                                               .power_limit_w = NAN };
    m->series[c] = (struct wl_time_series) { m->t_ns, m->value[c], READINGS };
}

static struct wl_energy_row energy_row(int64_t device, const char *scope, double energy_j, double idle_w)
{
    return (struct wl_energy_row) { .epoch = NAN,
                                    .device = device,
                                    .scope = scope,
                                    .method = "counter",
                                    .energy_j = energy_j,
                                    .energy_lo_j = energy_j,
                                    .energy_hi_j = energy_j,
                                    .idle_before_w = idle_w,
                                    .idle_after_w = idle_w,
                                    .chosen = true };
}

/* Others use `others` CPUs in the run, and `idle` CPUs before and after it. */
static struct machine *machine_of(struct wl_arena *a, double others, double idle)
{
    struct machine *m = wl_new(a, struct machine);
    m->a = a;
    m->devices[0] = (struct wl_device_row) { .id = 1, .host = "a" };
    m->devices[1] = (struct wl_device_row) { .id = 2, .host = "a" };
    set_channel(m, NODE_TIME, 1, "cpu_time_s", "node", true);
    set_channel(m, JOB_TIME, 1, "cpu_time_s", "job", true);
    set_channel(m, NODE_CPUS, 1, "cpus", "node", false);
    set_channel(m, JOB_CPUS, 1, "cpus", "job", false);
    set_channel(m, COUNTER, 1, "energy_j", "package", true);
    set_channel(m, GPU_COUNTER, 2, "energy_j", "gpu", true);
    set_channel(m, OTHERS, 2, "other_processes", "gpu", false);
    set_channel(m, UTIL, 2, "process_util_pct", "gpu", false);
    set_channel(m, JOB_UTIL, 2, "process_util_pct", "job", false);
    for (int i = 0; i < READINGS; i++) {
        const double in_run_s = fmin(fmax(i - 10, 0), 40), busy_s = (1 + others) * in_run_s + idle * (i - in_run_s);
        m->t_ns[i] = i * S;
        m->value[NODE_TIME][i] = busy_s;
        m->value[JOB_TIME][i] = in_run_s;
        m->value[NODE_CPUS][i] = 4;
        m->value[JOB_CPUS][i] = 2;
        m->value[COUNTER][i] = 20 * i + 10 * busy_s;
        m->value[GPU_COUNTER][i] = 100 * i;
        m->value[UTIL][i] = 80;
        m->value[JOB_UTIL][i] = 40;
    }
    m->energies[0] = energy_row(1, "package", 800 + 400 * (1 + others), 20 + 10 * idle);
    m->energies[1] = energy_row(2, "gpu", 4000, 25);
    m->window = (struct wl_run_window) { NAN, 10 * S, 50 * S };
    return m;
}

static const struct wl_attribution_row *derive(struct machine *m)
{
    m->out = (struct wl_derived) { .energies = m->energies, .n_energies = 2 };
    m->d = (struct wl_derivation) { .idle_s = 5,
                                    .windows = &m->window,
                                    .n_windows = 1,
                                    .series = m->series,
                                    .out = &m->out,
                                    .max_gap_ns = 3 * S,
                                    .a = m->a };
    m->d.channels = (struct wl_channel_rows) { m->channels, CHANNELS };
    m->d.devices = (struct wl_device_rows) { m->devices, 2 };
    wl_derive_load(&m->d, 0, 0);
    wl_derive_attribution(&m->d);
    assert_int_equal(m->out.n_attributions, 2);
    return m->out.attributions;
}

static void near(double got, double want) { assert_true(fabs(got - want) < 1e-6 * (1 + fabs(want))); }

static void cpus_are_shared_by_time_and_idle_by_reservation(void **state)
{
    const struct wl_attribution_row *r = derive(machine_of(*state, 2, 0));
    assert_string_equal(r->method, "cpu-time");
    near(r->use_share, 1 / 3.0);
    near(r->reserved, 0.5);
    near(r->above_j, 400);
    near(r->idle_j, 400);
    near(r->energy_j, 800);
    assert_true(r->energy_lo_j < 700 && r->energy_hi_j > 900);
    assert_null(r->why);
}

/* Ticks of CPU time and readings of processes are too few for a share. */
static void a_run_below_a_second_is_not_shared(void **state)
{
    struct machine *m = machine_of(*state, 2, 0);
    m->window.t1_ns = m->window.t0_ns + S - 1;
    const struct wl_attribution_row *r = derive(m);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(r[i].method, "none");
        assert_string_equal(r[i].why, "the run was shorter than 1 s");
        assert_true(isnan(r[i].energy_j));
    }
}

/* Idle power that was measured beside others is an upper bound; of one that was measured alone, that one counts. */
static void idle_power_of_a_busy_machine_is_a_bound(void **state)
{
    struct machine *m = machine_of(*state, 2, 1);
    const struct wl_attribution_row *r = derive(m);
    assert_true(isnan(r->energy_j) && isnan(r->idle_j));
    assert_string_equal(r->why, "the idle power was measured while others used the machine");
    assert_true(r->energy_lo_j < 800 && r->energy_hi_j > 800);
    for (int i = 0; i < 10; i++) m->value[NODE_TIME][i] = m->value[NODE_TIME][10]; /* nobody was there before */
    m->energies[0].idle_before_w = 20;
    near(derive(m)->energy_j, 800);
    m->energies[0].idle_before_w = m->energies[0].idle_after_w = NAN;
    assert_string_equal(derive(m)->why, "the idle power was not measured: --idle 10s");
}

/* A model says itself what it takes for the idle power, on a machine that is never idle too. A measured one comes
 * first, and of a meter it is none. */
static void a_models_idle_power_is_known(void **state)
{
    struct machine *m = machine_of(*state, 2, 1);
    set_channel(m, OTHERS, 1, "idle_power_w", "package", false);
    for (int i = 0; i < READINGS; i++) m->value[OTHERS][i] = 20;
    assert_true(isnan(derive(m)->energy_j));
    m->energies[0].estimated = true;
    const struct wl_attribution_row *r = derive(m);
    near(r->above_j, 400);
    near(r->idle_j, 400);
    assert_null(r->why);
    m->energies[0].idle_before_w = m->energies[0].idle_after_w = NAN;
    near(derive(m)->energy_j, 800);
    for (int i = 0; i < READINGS; i++) m->value[OTHERS][i] = 5;
    for (int i = 0; i < 10; i++) m->value[NODE_TIME][i] = m->value[NODE_TIME][10];
    m->energies[0].idle_before_w = 20;
    near(derive(m)->energy_j, 800);
}

static void what_was_not_recorded_is_missing(void **state)
{
    struct machine *m = machine_of(*state, 2, 0);
    m->channels[JOB_CPUS].quantity = "none";
    const struct wl_attribution_row *r = derive(m);
    assert_string_equal(r->method, "none");
    assert_string_equal(r->why, "the CPUs that the job may use were not recorded");
    assert_true(isnan(r->energy_j) && isnan(r->energy_lo_j));
    m->channels[JOB_TIME].quantity = "none";
    assert_string_equal(derive(m)->why, "the CPU time of the job was not recorded");
    m->energies[0].scope = "node";
    assert_string_equal(derive(m)->why, "a meter of the whole node or module does not tell who used what");
    m->channels[OTHERS].quantity = "none";
    assert_string_equal(derive(m)[1].why, "who used the GPU was not recorded");
}

static void a_gpu_is_the_jobs_or_shared_by_its_processes(void **state)
{
    struct machine *m = machine_of(*state, 0, 0);
    const struct wl_attribution_row *r = derive(m) + 1;
    assert_string_equal(r->method, "sole-user");
    near(r->energy_j, 4000);
    near(r->energy_hi_j - r->energy_lo_j, 0);
    m->value[OTHERS][20] = 1;
    r = derive(m) + 1;
    assert_string_equal(r->method, "gpu-processes");
    near(r->idle_j, 1000);
    near(r->above_j, 1500);
    assert_true(r->above_lo_j < 1000 && r->above_hi_j > 2000);
    m->channels[JOB_UTIL].quantity = "none";
    assert_string_equal(derive(m)[1].why,
                        "others used the GPU, and its driver does not tell the utilisation by process");
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
        cmocka_unit_test_setup_teardown(cpus_are_shared_by_time_and_idle_by_reservation, setup, teardown),
        cmocka_unit_test_setup_teardown(a_run_below_a_second_is_not_shared, setup, teardown),
        cmocka_unit_test_setup_teardown(idle_power_of_a_busy_machine_is_a_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(a_models_idle_power_is_known, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_not_recorded_is_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_gpu_is_the_jobs_or_shared_by_its_processes, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
