/* Random cases of simulated GPUs (tests/fake/gpu_model.h) on a simulated clock: loads, profiles, lengths of windows;
 * windows of whole runs, which begin and end idle, and windows inside a job. They are read as `measure` reads: with an
 * energy counter ten times per second and in bursts at both ends; without one at each update of the power. */
#ifndef WL_TESTS_ENERGY_RANDOM_CASES_H
#define WL_TESTS_ENERGY_RANDOM_CASES_H

#include "gpu_model.h"

#include "base/random.h"
#include "power/power.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define S  WL_NS_PER_S
#define MS (S / 1000)

enum { ANY = -1 }; /* profile */
enum { CASES = 200, MOST = 16384 };

static struct readings {
    int64_t t_ns[MOST];
    double power_w[MOST], mean_w[MOST], energy_j[MOST];
    size_t n;
} readings;

/* One case: a GPU, its history, the window and the load in words. */
struct drawn {
    struct fake_event events[3];
    uint32_t n_events;
    struct fake_gpu gpu;
    int64_t t0, t1;
    int profile; /* index of its profile */
    bool steady; /* constant or training */
    bool is_run; /* from idle to idle; else a window inside a job */
    char words[96];
};

/* Random number i of a case, log-uniform in [lo, hi). */
static inline double draw(int c, int i, double lo, double hi)
{
    return lo * pow(hi / lo, wl_random_uniform(20261120, (uint64_t)c, (uint64_t)i));
}

/* The kind of cases to draw. */
struct choice {
    int profile;   /* its number; -1: any */
    bool in_step;  /* the load's period is that of the sensor's updates, half of it, or up to five times */
    bool steady;   /* constant or training, over 10 s and more */
    bool brief;    /* whole runs of constant loads of .2 to 1 s */
    double step_s; /* between readings; 0: matches the updates, as the nvml sensor does */
};

static inline void draw_load(int c, struct drawn *d, struct fake_input *in)
{
    *in = (struct fake_input) { .shape = c % 3, .high = draw(c, 1, 0.3, 1), .duty = draw(c, 2, 0.2, 0.9) };
    in->low = in->high * draw(c, 3, 0.01, 0.6);
    in->period_s = in->shape == FAKE_SQUARE ? draw(c, 4, 0.02, 5) : draw(c, 4, 0.05, 2);
    d->steady = in->shape != FAKE_SQUARE;
}

/* From 2 s on the GPU has its load, until the window of a run ends or until long after a window inside a job. */
static inline void draw_case(int c, const struct choice *of, struct drawn *d)
{
    static const double steps[] = { 0.5, 1, 2, 3, 4, 5 };
    *d = (struct drawn) { .n_events = 3, .profile = of->profile < 0 ? (int)draw(c, 0, 1, 4) - 1 : of->profile };
    const struct fake_profile *p = fake_profile_at((size_t)d->profile);
    struct fake_input load;
    draw_load(c, d, &load);
    if (of->in_step && load.shape == FAKE_CONSTANT) load.shape = FAKE_TRAINING;
    if (of->in_step) load.period_s = steps[(int)(draw(c, 7, 1, 7) - 1)] * p->update_s;
    bool run = d->is_run = of->brief || c / 3 % 2 == 0;
    double length_s = draw(c, 5, of->steady ? 10 : 1, of->steady || of->in_step ? 25 : 60);
    if (of->brief) length_s = draw(c, 5, 0.2, 1);
    int64_t begin = 2 * S + (int64_t)(draw(c, 6, 1e-3, 1) * 1e9);
    d->t0 = run ? begin : begin + 3 * S;
    d->t1 = d->t0 + (int64_t)(length_s * 1e9);
    load.since_ns = begin;
    d->events[1] = (struct fake_event) { begin, load };
    d->events[2] = (struct fake_event) { run ? d->t1 : d->t1 + 10 * S, { 0 } };
    fake_gpu_init(&d->gpu, p, (uint64_t)c, 0, 0.03, d->events, &d->n_events);
    static const char *const shapes[] = { "constant", "square", "training" };
    snprintf(d->words, sizeof d->words, "%s %s of %.1f s, %s %.0f-%.0f %% period %.3f s duty %.2f", p->key,
             run ? "run" : "part", length_s, shapes[load.shape], 100 * load.high, 100 * load.low, load.period_s,
             load.duty);
}

static inline void read_at(struct drawn *d, int64_t t)
{
    size_t i = readings.n++;
    assert_true(i < MOST);
    readings.t_ns[i] = t;
    readings.power_w[i] = round(fake_power_reading_w(&d->gpu, t) * 1e3) / 1e3; /* the resolution of NVML: mW, mJ */
    readings.mean_w[i] = round(fake_average_reading_w(&d->gpu, t) * 1e3) / 1e3;
    readings.energy_j[i] = round(fake_counter_reading_j(&d->gpu, t) * 1e3) / 1e3;
}

static inline int64_t step_of(const struct drawn *d, const struct choice *of)
{
    return (int64_t)((of->step_s > 0 ? of->step_s : 0.7 * d->gpu.profile.update_s) * 1e9);
}

/* Every `step`, slightly late each time. */
static inline void read_steadily(struct drawn *d, int c, int64_t step, int64_t from, int64_t to)
{
    uint64_t i = 100;
    for (int64_t t = from; t < to; t += step) {
        int64_t late = (int64_t)(wl_random_uniform(1, (uint64_t)c, i++) * 2e6);
        if (t + late < to) read_at(d, t + late);
    }
}

static inline void read_burst(struct drawn *d, int64_t from, int64_t to)
{
    for (int64_t t = from; t < to; t += 2 * MS) read_at(d, t);
}

/* As `measure` does: a run begins after a burst that shows one step of the counter, with the GPU idle, as late as
 * another GPU's counter may require, and a burst of two steps follows its end. Windows inside a job have no bursts. */
static inline void read_all(struct drawn *d, int c, int64_t step)
{
    int64_t counter = (int64_t)(d->gpu.profile.counter_s * 1e9);
    readings.n = 0;
    if (d->is_run) read_burst(d, d->t0 - counter - 2 * MS, d->t0);
    read_steadily(d, c, step, d->is_run ? d->t0 : S, d->is_run ? d->t1 : d->t1 + S);
    if (d->is_run) read_burst(d, d->t1, d->t1 + 2 * counter + 4 * MS);
}

static inline double truth_j(const struct drawn *d)
{
    struct fake_gpu fresh = d->gpu;
    fake_gpu_init(&fresh, &d->gpu.profile, 0, 0, 0, d->events, &d->n_events);
    fresh.seed = d->gpu.seed;
    double from = fake_at(&fresh, d->t0).energy_j;
    return fake_at(&fresh, d->t1).energy_j - from;
}

#endif
