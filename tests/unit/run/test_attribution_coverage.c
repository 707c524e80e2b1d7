/* Two loads side by side whose joules alone are known: does the job's interval hold them? The readings are simulated
 * (counters of CPU energy in steps, CPU time in ticks, utilisation in per cent), the way from them to the result is
 * that of a run. The machine is physical, and knows what the estimator does not: each load has its own cost for a
 * second of use, and what they do to each other (interference). Prints the shares that docs/accuracy.md has. */
#include "run/derive.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { RUN_S = 60, IDLE_S = 10, RATE_HZ = 4, READINGS = (RUN_S + 2 * IDLE_S) * RATE_HZ + 1, CASES = 400 };
enum { NODE_TIME = 0, JOB_TIME, NODE_CPUS, JOB_CPUS, COUNTER, OTHERS, UTIL, JOB_UTIL, CHANNELS };
static const int64_t S = WL_NS_PER_S;

struct scenario {
    const char *name, *scope;
    double spread_sd;                        /* of the logarithm of the ratio of the two costs */
    double interference_lo, interference_hi; /* change of the dynamic power of a full machine that is shared evenly */
    double idle_s;                           /* 0: no idle measurement */
    bool asserted;
};
static const struct scenario scenarios[] = {
    { "CPUs: equal costs, additive", "package", 0, 0, 0, IDLE_S, true },
    { "CPUs: costs differ (95 % within 2x)", "package", 0.354, 0, 0, IDLE_S, true },
    { "CPUs: and interference, -35 to +15 %", "package", 0.354, -0.35, 0.15, IDLE_S, true },
    { "CPUs: the same without an idle measurement", "package", 0.354, -0.35, 0.15, 0, true },
    { "DRAM: costs differ (95 % within 4x)", "dram", 0.707, -0.35, 0.15, IDLE_S, true },
    { "GPU: two processes", "gpu", 0.354, -0.35, 0.15, IDLE_S, true },
    { "beyond: CPUs, costs differ (95 % within 4x)", "package", 0.707, -0.35, 0.15, IDLE_S, false },
};

/* ---- random numbers: xorshift64*, the same on each machine ---- */

static uint64_t state_now;

static double uniform(double lo, double hi)
{
    state_now ^= state_now >> 12;
    state_now ^= state_now << 25;
    state_now ^= state_now >> 27;
    return lo + (hi - lo) * (double)(state_now * 0x2545f4914f6cdd1dull >> 11) / 9007199254740992.0;
}

static double normal(void) { return sqrt(-2 * log(uniform(1e-12, 1))) * cos(2 * M_PI * uniform(0, 1)); }

/* ---- a load: the CPUs, or the share of a GPU, that it uses at a time ---- */

struct load {
    double level, period_s, duty, phase_s, from_s, to_s;
};

static struct load random_load(double most)
{
    struct load l = {
        .level = most * uniform(0.1, 1), .period_s = uniform(3, 30), .duty = uniform(0.3, 1), .to_s = RUN_S
    };
    l.phase_s = uniform(0, l.period_s);
    if (uniform(0, 1) < 0.3) l.duty = 1;
    if (uniform(0, 1) < 0.3) l.from_s = uniform(0, RUN_S / 2.0);
    if (uniform(0, 1) < 0.3) l.to_s = uniform(RUN_S / 2.0, RUN_S);
    return l;
}

static double use_at(const struct load *l, double t_s)
{
    if (t_s < l->from_s || t_s >= l->to_s) return 0;
    return fmod(t_s + l->phase_s, l->period_s) < l->duty * l->period_s ? l->level : 0;
}

/* ---- the machine ---- */

struct machine {
    const struct scenario *s;
    double cpus, job_cpus, idle_w, job_w, other_w, interference; /* W per unit of use */
    struct load job, other;
    double value[CHANNELS][READINGS];
    int64_t t_ns[READINGS];
    double alone_j; /* what the job draws alone above idle: the truth */
};

static struct machine *machine_of(const struct scenario *s, struct wl_arena *a)
{
    struct machine *m = wl_new(a, struct machine);
    bool gpu = wl_str_eq(s->scope, "gpu");
    m->s = s;
    m->cpus = gpu ? 1 : floor(uniform(2, 65));
    m->job_cpus = gpu ? 1 : floor(uniform(m->cpus / 2, m->cpus + 1));
    m->idle_w = uniform(10, 100);
    m->job_w = uniform(100, 300) / m->cpus;
    m->other_w = m->job_w * exp(s->spread_sd * normal());
    m->interference = uniform(s->interference_lo, s->interference_hi);
    const double part = uniform(0.1, 0.9);
    m->job = random_load(m->cpus * part);
    m->other = random_load(m->cpus * (1 - part));
    return m;
}

/* Loads that use the machine evenly and fully change each other's power most. */
static double power_at(const struct machine *m, double job, double other)
{
    const double used = job + other, shared = used > 0 ? 4 * job * other / (used * used) * used / m->cpus : 0;
    return m->idle_w + (m->job_w * job + m->other_w * other) * (1 + m->interference * shared);
}

/* Steps of the simulation, ten a reading. Kernels count in ticks of 10 ms, RAPL in steps of 61 uJ, NVML in whole per
 * cent of the time since the previous reading. */
static void simulate(struct machine *m)
{
    enum { STEPS = 10 };
    const double dt = 1.0 / (RATE_HZ * STEPS), drift = uniform(0.97, 1.03), tick = 0.01, step_j = 61e-6;
    double energy_j = 0, job_s = 0, other_s = 0, job_before = 0, all_before = 0;
    for (int i = 0; i < READINGS; i++) {
        m->t_ns[i] = i * S / RATE_HZ;
        m->value[COUNTER][i] = floor(energy_j / step_j) * step_j;
        m->value[NODE_TIME][i] = floor((job_s + other_s) / tick) * tick;
        m->value[JOB_TIME][i] = floor(job_s / tick) * tick;
        m->value[NODE_CPUS][i] = m->cpus;
        m->value[JOB_CPUS][i] = m->job_cpus;
        m->value[OTHERS][i] = 1;
        m->value[UTIL][i] = round(100 * RATE_HZ * (job_s + other_s - all_before));
        m->value[JOB_UTIL][i] = round(100 * RATE_HZ * (job_s - job_before));
        job_before = job_s;
        all_before = job_s + other_s;
        for (int k = 0; k < STEPS; k++) {
            const double t_s = (double)i / RATE_HZ + k * dt - IDLE_S;
            const double job = use_at(&m->job, t_s), other = use_at(&m->other, t_s);
            energy_j += power_at(m, job, other) * (t_s >= RUN_S ? drift : 1) * dt; /* it is warmer after the run */
            job_s += job * dt;
            other_s += other * dt;
            m->alone_j += m->job_w * job * dt;
        }
    }
}

/* ---- what wattlaw says of it ---- */

static struct wl_attribution_row attribution_of(struct machine *m, struct wl_arena *a)
{
    static const struct {
        const char *quantity, *scope;
        bool counter;
    } of[CHANNELS] = {
        { "cpu_time_s", "node", true },
        { "cpu_time_s", "job", true },
        { "cpus", "node", false },
        { "cpus", "job", false },
        { "energy_j", NULL, true },
        { "other_processes", "gpu", false },
        { "process_util_pct", "gpu", false },
        { "process_util_pct", "job", false },
    };
    struct wl_channel_row channels[CHANNELS];
    struct wl_time_series series[CHANNELS];
    for (int c = 0; c < CHANNELS; c++) {
        channels[c] = (struct wl_channel_row) { .id = c + 1,
                                                .device = 1,
                                                .quantity = of[c].quantity,
                                                .scope = of[c].scope ? of[c].scope : m->s->scope,
                                                .variant = "",
                                                .counter = of[c].counter,
                                                .update_s = NAN,
                                                .window_s = NAN,
                                                .delay_s = NAN,
                                                .power_limit_w = NAN };
        series[c] = (struct wl_time_series) { m->t_ns, m->value[c], READINGS };
    }
    struct wl_device_row device = { .id = 1, .host = "a" };
    struct wl_run_window window = { NAN, IDLE_S * S, (IDLE_S + RUN_S) * S };
    struct wl_derived out = { 0 };
    struct wl_derivation d = { .idle_s = m->s->idle_s > 0 ? m->s->idle_s : NAN,
                               .windows = &window,
                               .n_windows = 1,
                               .channels = { channels, CHANNELS },
                               .devices = { &device, 1 },
                               .series = series,
                               .max_gap_ns = S,
                               .out = &out,
                               .a = a };
    wl_derive_energy(&d);
    wl_derive_load(&d, 0, 0);
    wl_derive_attribution(&d);
    assert_int_equal(out.n_attributions, 1);
    return out.attributions[0];
}

struct tally {
    int cases, held, above_held;
    double width, error, errors;
};

static void add_case(struct tally *t, const struct scenario *s)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct machine *m = machine_of(s, a);
    simulate(m);
    const struct wl_attribution_row r = attribution_of(m, a);
    const double truth_j = m->alone_j + m->job_cpus / m->cpus * m->idle_w * RUN_S;
    if (m->alone_j > 0) {
        t->cases++;
        t->held += r.energy_lo_j <= truth_j && truth_j <= r.energy_hi_j;
        t->above_held += r.above_lo_j <= m->alone_j && m->alone_j <= r.above_hi_j;
        t->width += (r.energy_hi_j - r.energy_lo_j) / 2 / truth_j;
        t->errors += !isnan(r.energy_j);
        t->error += isnan(r.energy_j) ? 0 : fabs(r.energy_j - truth_j) / truth_j;
    }
    wl_arena_free(a);
}

static void the_interval_holds_the_joules_alone(void **state)
{
    (void)state;
    state_now = 88172645463325252ull;
    for (size_t i = 0; i < WL_COUNT(scenarios); i++) {
        const struct scenario *s = &scenarios[i];
        struct tally t = { 0 };
        for (int k = 0; k < CASES; k++) add_case(&t, s);
        printf("%-46s %d cases: %.1f %% held, above idle %.1f %%; half width %.0f %%, error %.1f %%\n", s->name,
               t.cases, 100.0 * t.held / t.cases, 100.0 * t.above_held / t.cases, 100 * t.width / t.cases,
               t.errors > 0 ? 100 * t.error / t.errors : NAN);
        assert_true(t.cases > CASES * 9 / 10);
        if (!s->asserted) continue;
        assert_true(t.held >= 0.95 * t.cases);
        assert_true(t.above_held >= 0.95 * t.cases);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_interval_holds_the_joules_alone) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
