/* Does calibration recover planted constants? bench_plan_recovery [SIMULATIONS [SEED]]
 *
 * Each simulation draws every constant of a cluster from its prior, runs 8 jobs (1 to 128 workers) or 40 (the same
 * under five caps and clocks) with scatter of 3 % in time and 2 % in power, calibrates, and asks whether each constant
 * is in its 95 % interval and the time and energy of a job with 512 workers in their bands. Fails where one of them is
 * inside in fewer than 90 % (of 100 simulations or more), or all together in fewer than 90 %. */
#include "planner/planner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char plan_text[] = "[plan]\n"
                                "workers = 512\n"
                                "draws = 2000\n"
                                "[machine cluster]\n"
                                "devices_per_node = 4\n"
                                "collective = ring\n"
                                "latency = 20us\n"
                                "network_bandwidth = 5\n"
                                "node_bandwidth = 40\n"
                                "storage_bandwidth = 10\n"
                                "idle_power = 50\n"
                                "max_power = 300\n"
                                "clock = 1400\n"
                                "lowest_clock = 200\n"
                                "host_power = 200\n"
                                "[framework ddp]\n"
                                "epoch_overhead = 3s\n"
                                "negotiation = 2us\n"
                                "[workload net]\n"
                                "samples = 2000000\n"
                                "local_batch = 64\n"
                                "step_time = 200ms\n"
                                "parameters = 100e6\n"
                                "tensors = 150\n"
                                "sample_size = 100\n";

static const double TIME_SD = .03, POWER_SD = .02;
enum { WORKERS = 8, MAX_CONSTANTS = 32 };

/* Caps and locks of the 40 runs; the 8 are the first row of all worker counts. */
static const struct {
    double cap_w, clock_mhz;
} settings[] = { { NAN, NAN }, { 250, NAN }, { 180, NAN }, { NAN, 1000 }, { NAN, 700 } };

struct tally {
    size_t inside[MAX_CONSTANTS], time, energy, n;
    double narrowed[MAX_CONSTANTS];
    double effective;
};

struct simulation {
    const struct wl_planner_plan *plan;
    struct wl_planner_plan *truth;
    struct wl_planner_parameters ps;
    uint64_t seed;
    double *z;
};

static double noise(const struct simulation *s, uint64_t stream, uint64_t i, double sd)
{
    return sd * wl_random_normal(s->seed, stream, i);
}

static void plant(struct simulation *s)
{
    for (size_t i = 0; i < s->ps.n; i++) s->z[i] = noise(s, 1, i, 1);
    wl_planner_parameters_set(&s->ps, s->z, s->truth);
}

static struct wl_planner_row run_job(const struct simulation *s, struct wl_planner_setting at, uint64_t number)
{
    const struct wl_planner_case c = wl_planner_case_of(s->truth, 0, 0);
    const struct wl_planner_point p = wl_planner_evaluate(&c, &at);
    return (struct wl_planner_row) { 0, at, log(p.epoch_s) + noise(s, 2, number, TIME_SD),
                                     log(p.power_w) + noise(s, 3, number, POWER_SD), 1 };
}

static void run_jobs(const struct simulation *s, size_t runs, struct wl_planner_rows *rows, struct wl_arena *a)
{
    *rows = (struct wl_planner_rows) { .v = wl_new_array(a, struct wl_planner_row, runs), .n = runs };
    for (size_t i = 0; i < runs; i++) {
        struct wl_planner_setting at = wl_planner_setting_of(exp2((double)(i % WORKERS)));
        at.cap_w = settings[i / WORKERS].cap_w;
        at.clock_mhz = settings[i / WORKERS].clock_mhz;
        rows->v[i] = run_job(s, at, i);
    }
}

static bool within(double v, const struct wl_estimate *e) { return v >= e->lo && v <= e->hi; }

static int simulate(struct simulation *s, size_t runs, struct tally *t, struct wl_arena *a, struct wl_err *e)
{
    struct wl_planner_rows rows;
    struct wl_planner_posterior q;
    plant(s);
    run_jobs(s, runs, &rows, a);
    int rc = wl_planner_calibrate(s->plan, 0, &rows, &q, a, e);
    if (rc) return rc;
    for (size_t i = 0; i < s->ps.n; i++) {
        const struct wl_planner_marginal m = wl_planner_marginal_of(&q, i, a);
        t->inside[i] += within(wl_planner_parameter_value(&s->ps.v[i], s->z[i]), &m.value);
        t->narrowed[i] += m.sd;
    }
    struct wl_planner_forecast f = { .at = wl_planner_setting_of(512) };
    wl_planner_forecast(&q, &f, 1, a);
    const struct wl_planner_row new_job = run_job(s, f.at, 1000);
    t->time += within(exp(new_job.ln_time), &f.time_s);
    t->energy += within(exp(new_job.ln_time + new_job.ln_power) * 512, &f.energy_j);
    t->effective += q.effective;
    t->n++;
    return 0;
}

/* False: too few inside. */
static bool print(const struct simulation *s, const struct tally *t, size_t runs)
{
    const double n = (double)t->n, limit = t->n >= 100 ? .9 : 0;
    double least = 1, sum = 0;
    wl_print("%zu runs: share of %zu simulations inside the 95 %% interval (sd / prior sd)\n", runs, t->n);
    for (size_t i = 0; i < s->ps.n; i++) {
        const double share = (double)t->inside[i] / n;
        wl_print("  %-20s %-18s %.3f (%.2f)\n", wl_planner_parameter_rows[s->ps.v[i].id].key, s->ps.v[i].section, share,
                 t->narrowed[i] / n);
        least = fmin(least, share);
        sum += share / (double)s->ps.n;
    }
    wl_print("  %-20s %.3f\n  %-20s %.3f\n", "time at 512", (double)t->time / n, "energy at 512",
             (double)t->energy / n);
    wl_print("  smallest %.3f, mean %.3f; %.0f effective draws of 2000\n", least, sum, t->effective / n);
    least = fmin(least, fmin((double)t->time, (double)t->energy) / n);
    return least >= limit && sum >= .9;
}

static int run(size_t simulations, uint64_t seed, bool *held, struct wl_arena *a, struct wl_err *e)
{
    struct wl_planner_plan plan;
    int rc = wl_planner_parse("recovery.ini", plan_text, NULL, &plan, a, e);
    if (rc) return rc;
    struct simulation s = { .plan = &plan, .truth = wl_planner_plan_copy(&plan, a) };
    s.ps = wl_planner_parameters_of(&plan, 0, true, a);
    s.z = wl_new_array(a, double, s.ps.n);
    WL_CHECK(s.ps.n <= MAX_CONSTANTS);
    *held = true;
    for (size_t runs = WORKERS; runs <= WORKERS * WL_COUNT(settings); runs *= WL_COUNT(settings)) {
        struct tally t = { 0 };
        for (size_t i = 0; i < simulations && rc == 0; i++) {
            struct wl_arena *scratch = wl_arena_new(a);
            s.seed = seed + i;
            rc = simulate(&s, runs, &t, scratch, e);
            wl_arena_free(scratch);
        }
        if (rc) return rc;
        *held = print(&s, &t, runs) && *held;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    bool held = false;
    const long simulations = argc > 1 ? atol(argv[1]) : 200;
    int rc = run(simulations > 0 ? (size_t)simulations : 1, argc > 2 ? strtoull(argv[2], NULL, 10) : 1, &held, a, &e);
    if (rc) wl_eprint("plan_recovery: %s\n", e.msg);
    wl_arena_free(a);
    return rc || !held;
}
