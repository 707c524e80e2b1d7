/* Is the energy right, and is the truth in the stated interval? Random cases of computed GPUs (tests/fake/model.h) on a
 * clock that only counts: loads, profiles, lengths of windows; windows of whole runs, which begin and end at rest, and
 * windows inside a job. They are read as `measure` reads: ten times a second, and densely beside both ends. */
#include "model.h"

#include "base/random.h"
#include "power/power.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define S  WL_NS_PER_S
#define MS (S / 1000)

enum { CASES = 200, MOST = 8192 };

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
    int profile; /* number of its profile */
    bool steady; /* constant or training */
    char words[96];
};

/* Number i of a case's chances, in [lo, hi) by their logarithms. */
static double draw(int c, int i, double lo, double hi)
{
    return lo * pow(hi / lo, wl_random_uniform(20261120, (uint64_t)c, (uint64_t)i));
}

static void draw_load(int c, struct drawn *d, struct fake_input *in)
{
    *in = (struct fake_input) { .shape = c % 3, .high = draw(c, 1, 0.3, 1), .duty = draw(c, 2, 0.2, 0.9) };
    in->low = in->high * draw(c, 3, 0.01, 0.6);
    in->period_s = in->shape == FAKE_SQUARE ? draw(c, 4, 0.02, 5) : draw(c, 4, 0.05, 2);
    d->steady = in->shape != FAKE_SQUARE;
}

/* From 2 s on the GPU has its load, until the window of a run ends or long behind one inside a job. */
static void draw_case(int c, struct drawn *d)
{
    *d = (struct drawn) { .n_events = 3, .profile = (int)draw(c, 0, 1, 4) - 1 };
    const struct fake_profile *p = fake_profile_at((size_t)d->profile);
    struct fake_input load;
    draw_load(c, d, &load);
    bool run = c / 3 % 2 == 0;
    double length_s = draw(c, 5, 1, 60);
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

static void read_at(struct drawn *d, int64_t t)
{
    size_t i = readings.n++;
    assert_true(i < MOST);
    readings.t_ns[i] = t;
    readings.power_w[i] = round(fake_power_reading_w(&d->gpu, t) * 1e3) / 1e3; /* as NVML gives them: mW, mJ */
    readings.mean_w[i] = round(fake_average_reading_w(&d->gpu, t) * 1e3) / 1e3;
    readings.energy_j[i] = round(fake_counter_reading_j(&d->gpu, t) * 1e3) / 1e3;
}

/* Every `step`, a little late each time, and every 2 ms in a quarter of a second beside both ends. */
static void read_all(struct drawn *d, int c, int64_t step)
{
    const int64_t beside = 250 * MS;
    readings.n = 0;
    for (int64_t t = d->t0 - beside; t < d->t0; t += 2 * MS) read_at(d, t);
    uint64_t i = 100;
    for (int64_t t = d->t0; t < d->t1; t += step) {
        int64_t late = (int64_t)(wl_random_uniform(1, (uint64_t)c, i++) * 2e6);
        if (t + late < d->t1) read_at(d, t + late);
    }
    for (int64_t t = d->t1; t <= d->t1 + beside; t += 2 * MS) read_at(d, t);
}

static double truth_j(const struct drawn *d)
{
    struct fake_gpu fresh = d->gpu;
    fake_gpu_init(&fresh, &d->gpu.profile, 0, 0, 0, d->events, &d->n_events);
    fresh.seed = d->gpu.seed;
    double from = fake_at(&fresh, d->t0).energy_j;
    return fake_at(&fresh, d->t1).energy_j - from;
}

enum { PROFILES = 3 }; /* V100, A100, H100 */

struct score {
    const char *what;
    int in, known;
    double worst_long_pct[PROFILES]; /* of constant and training-like loads over more than 10 s */
    double width_pct;                /* mean half width */
};

static void judge(struct score *s, const struct drawn *d, const struct wl_energy *e)
{
    double truth = truth_j(d), off_pct = 100 * fabs(e->energy_j / truth - 1);
    if (isnan(e->energy_j)) return;
    s->known++;
    s->width_pct += 100 * (e->hi_j - e->lo_j) / 2 / truth;
    bool in = e->lo_j <= truth && truth <= e->hi_j;
    s->in += in;
    if (!in)
        printf("  %s misses: %s: %.2f J in %.2f to %.2f, truth %.2f\n", s->what, d->words, e->energy_j, e->lo_j,
               e->hi_j, truth);
    double *worst = &s->worst_long_pct[d->profile];
    if (d->steady && d->t1 - d->t0 > 10 * S) *worst = fmax(*worst, off_pct);
}

/* What an energy is taken from. */
enum basis { COUNTER, POWER, POWER_CALIBRATED, MEAN_CALIBRATED };

static struct wl_energy energy_of(const struct drawn *d, enum basis basis, int64_t gap)
{
    const struct fake_profile *p = &d->gpu.profile;
    struct wl_gauge power_gauge = { p->update_s, p->window_s, p->lag_s + (p->update_s + p->window_s) / 2 };
    struct wl_gauge mean_gauge = { p->update_s, 1, p->lag_s + (p->update_s + 1) / 2 };
    struct wl_time_series power = { readings.t_ns, readings.power_w, readings.n };
    struct wl_time_series mean = { readings.t_ns, readings.mean_w, readings.n };
    struct wl_time_series energy = { readings.t_ns, readings.energy_j, readings.n };
    switch (basis) {
    case COUNTER: return wl_energy_of_counter(&energy, &power, d->t0, d->t1, gap, &wl_gauge_unknown);
    case POWER: return wl_energy_of_power(&power, d->t0, d->t1, gap, &wl_gauge_unknown);
    case POWER_CALIBRATED: return wl_energy_of_power(&power, d->t0, d->t1, gap, &power_gauge);
    case MEAN_CALIBRATED: return wl_energy_of_mean(&mean, &power, d->t0, d->t1, gap, &mean_gauge);
    }
    return (struct wl_energy) { .energy_j = NAN };
}

static struct score measure_cases(const char *what, enum basis basis, int64_t step)
{
    struct score score = { .what = what };
    for (int c = 0; c < CASES; c++) {
        struct drawn d;
        draw_case(c, &d);
        read_all(&d, c, step);
        struct wl_energy e = energy_of(&d, basis, wl_max_gap_ns((double)step / S));
        judge(&score, &d, &e);
    }
    printf("%s: %d of %d in the interval, half width %.2f %% on average; at most %.2f (V100), %.2f (A100), %.2f %% "
           "(H100) off over 10 s\n",
           what, score.in, score.known, score.width_pct / score.known, score.worst_long_pct[0], score.worst_long_pct[1],
           score.worst_long_pct[2]);
    assert_int_equal(score.known, CASES);
    assert_true(score.in >= 0.95 * CASES);
    return score;
}

static void assert_off(const struct score *s, double v100_pct, double a100_pct, double h100_pct)
{
    assert_true(s->worst_long_pct[0] <= v100_pct);
    assert_true(s->worst_long_pct[1] <= a100_pct);
    assert_true(s->worst_long_pct[2] <= h100_pct);
}

static void the_counter_is_right(void **state)
{
    (void)state;
    struct score s = measure_cases("counter", COUNTER, 100 * MS);
    assert_off(&s, 1, 1, 1);
}

/* Ten readings a second see a tenth of the time of a V100 and a quarter of an A100's or H100's: what happens in the
 * rest is not in them, and no way to add them up brings it back. */
static void the_integral_knows_how_far_it_is_off(void **state)
{
    (void)state;
    struct score s = measure_cases("integral, calibrated", POWER_CALIBRATED, 100 * MS);
    assert_off(&s, 3.5, 2, 2);
    s = measure_cases("integral", POWER, 100 * MS);
    assert_off(&s, 3.5, 2, 2);
}

/* A V100 shows half of its time when each of its updates is read. */
static void all_updates_are_better_than_some(void **state)
{
    (void)state;
    struct score s = measure_cases("integral at 50 Hz, calibrated", POWER_CALIBRATED, 20 * MS);
    assert_off(&s, 1, 2, 2);
}

/* A load that does not change is off by the sensor's own chance alone, which all readings have, whatever share of the time
 * they see. */
static void chance_counts_whole(void **state)
{
    (void)state;
    struct score score = { .what = "V100, constant loads over 10 s at 50 Hz, calibrated" };
    for (int c = 0; score.known < CASES / 2; c += 3) { /* each third load is constant */
        struct drawn d;
        draw_case(c, &d);
        if (!d.steady || d.profile != 0 || d.t1 - d.t0 < 10 * S) continue;
        read_all(&d, c, 20 * MS);
        struct wl_energy e = energy_of(&d, POWER_CALIBRATED, wl_max_gap_ns(0.02));
        judge(&score, &d, &e);
    }
    printf("%s: %d of %d in the interval\n", score.what, score.in, score.known);
    assert_true(score.in >= 0.95 * score.known);
}

/* The driver's mean of a second leaves nothing out. */
static void the_mean_of_a_second_sees_all(void **state)
{
    (void)state;
    struct score s = measure_cases("integral of means, calibrated", MEAN_CALIBRATED, 100 * MS);
    assert_off(&s, 1.5, 1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_counter_is_right),
        cmocka_unit_test(the_integral_knows_how_far_it_is_off),
        cmocka_unit_test(all_updates_are_better_than_some),
        cmocka_unit_test(chance_counts_whole),
        cmocka_unit_test(the_mean_of_a_second_sees_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
