/* Is the energy right, and is the truth in the stated interval? Random cases of simulated GPUs (tests/fake/gpu_model.h)
 * on a simulated clock: loads, profiles, lengths of windows; windows of whole runs, which begin and end idle, and
 * windows inside a job. They are read as `measure` reads: with an energy counter ten times per second and in bursts at
 * both ends; without one at each update of the power. */
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
static double draw(int c, int i, double lo, double hi)
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

static void draw_load(int c, struct drawn *d, struct fake_input *in)
{
    *in = (struct fake_input) { .shape = c % 3, .high = draw(c, 1, 0.3, 1), .duty = draw(c, 2, 0.2, 0.9) };
    in->low = in->high * draw(c, 3, 0.01, 0.6);
    in->period_s = in->shape == FAKE_SQUARE ? draw(c, 4, 0.02, 5) : draw(c, 4, 0.05, 2);
    d->steady = in->shape != FAKE_SQUARE;
}

/* From 2 s on the GPU has its load, until the window of a run ends or until long after a window inside a job. */
static void draw_case(int c, const struct choice *of, struct drawn *d)
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

static void read_at(struct drawn *d, int64_t t)
{
    size_t i = readings.n++;
    assert_true(i < MOST);
    readings.t_ns[i] = t;
    readings.power_w[i] = round(fake_power_reading_w(&d->gpu, t) * 1e3) / 1e3; /* the resolution of NVML: mW, mJ */
    readings.mean_w[i] = round(fake_average_reading_w(&d->gpu, t) * 1e3) / 1e3;
    readings.energy_j[i] = round(fake_counter_reading_j(&d->gpu, t) * 1e3) / 1e3;
}

static int64_t step_of(const struct drawn *d, const struct choice *of)
{
    return (int64_t)((of->step_s > 0 ? of->step_s : 0.7 * d->gpu.profile.update_s) * 1e9);
}

/* Every `step`, slightly late each time. */
static void read_steadily(struct drawn *d, int c, int64_t step, int64_t from, int64_t to)
{
    uint64_t i = 100;
    for (int64_t t = from; t < to; t += step) {
        int64_t late = (int64_t)(wl_random_uniform(1, (uint64_t)c, i++) * 2e6);
        if (t + late < to) read_at(d, t + late);
    }
}

static void read_burst(struct drawn *d, int64_t from, int64_t to)
{
    for (int64_t t = from; t < to; t += 2 * MS) read_at(d, t);
}

/* As `measure` does: a run begins after a burst that shows one step of the counter, with the GPU idle, as late as
 * another GPU's counter may require, and a burst of two steps follows its end. Windows inside a job have no bursts. */
static void read_all(struct drawn *d, int c, int64_t step)
{
    int64_t counter = (int64_t)(d->gpu.profile.counter_s * 1e9);
    readings.n = 0;
    if (d->is_run) read_burst(d, d->t0 - counter - 2 * MS, d->t0);
    read_steadily(d, c, step, d->is_run ? d->t0 : S, d->is_run ? d->t1 : d->t1 + S);
    if (d->is_run) read_burst(d, d->t1, d->t1 + 2 * counter + 4 * MS);
}

static double truth_j(const struct drawn *d)
{
    struct fake_gpu fresh = d->gpu;
    fake_gpu_init(&fresh, &d->gpu.profile, 0, 0, 0, d->events, &d->n_events);
    fresh.seed = d->gpu.seed;
    double from = fake_at(&fresh, d->t0).energy_j;
    return fake_at(&fresh, d->t1).energy_j - from;
}

enum { V100, A100, H100, PROFILES, ANY = -1 };

struct score {
    const char *what;
    double least_s, near_pct;    /* counts the steady loads of at least least_s whose error is below near_pct */
    int cases, in, near, steady; /* truth in the interval; of the steady loads: near, all */
    double worst_pct[PROFILES];  /* of the steady loads */
    double width_pct;            /* mean half width */
};

static void judge(struct score *s, const struct drawn *d, const struct wl_energy *e)
{
    double truth = truth_j(d), off_pct = 100 * fabs(e->energy_j / truth - 1);
    assert_false(isnan(e->energy_j));
    bool in = e->lo_j <= truth && truth <= e->hi_j;
    s->cases++;
    s->in += in;
    s->width_pct += (100 * (e->hi_j - e->lo_j) / 2 / truth - s->width_pct) / s->cases;
    if (!in)
        printf("  %s misses: %s: %.2f J in %.2f to %.2f, truth %.2f\n", s->what, d->words, e->energy_j, e->lo_j,
               e->hi_j, truth);
    if (!d->steady || d->t1 - d->t0 < (int64_t)(s->least_s * 1e9)) return;
    s->steady++;
    s->near += off_pct <= s->near_pct;
    s->worst_pct[d->profile] = fmax(s->worst_pct[d->profile], off_pct);
}

/* The readings of a case; `known`: the sensor's response is known. */
enum basis { COUNTER, POWER, POWER_KNOWN, MEAN_KNOWN };

static struct wl_energy energy_of(const struct drawn *d, enum basis basis, int64_t gap)
{
    const struct fake_profile *p = &d->gpu.profile;
    double max_w = p->limit_w[2];
    struct wl_sensor_response power_gauge = { p->update_s, p->window_s, p->lag_s + (p->update_s + p->window_s) / 2,
                                              max_w };
    struct wl_sensor_response mean_gauge = { p->update_s, 1, p->lag_s + (p->update_s + 1) / 2, max_w };
    struct wl_time_series power = { readings.t_ns, readings.power_w, readings.n };
    struct wl_time_series mean = { readings.t_ns, readings.mean_w, readings.n };
    struct wl_time_series energy = { readings.t_ns, readings.energy_j, readings.n };
    switch (basis) {
    case COUNTER: return wl_energy_of_counter(&energy, &power, d->t0, d->t1, gap, &wl_sensor_response_unknown);
    case POWER: return wl_energy_of_power(&power, d->t0, d->t1, gap, &wl_sensor_response_unknown);
    case POWER_KNOWN: return wl_energy_of_power(&power, d->t0, d->t1, gap, &power_gauge);
    case MEAN_KNOWN: return wl_energy_of_mean(&mean, &power, d->t0, d->t1, gap, &mean_gauge, &power_gauge);
    }
    return (struct wl_energy) { .energy_j = NAN };
}

static struct score measure_cases(const char *what, enum basis basis, const struct choice *of)
{
    struct score score = { .what = what, .least_s = of->brief ? 0.2 : 10, .near_pct = of->brief ? 5 : 1 };
    for (int c = 0; score.cases < CASES; c++) {
        struct drawn d;
        draw_case(c, of, &d);
        if (of->steady && !d.steady && !of->in_step) continue;
        if (of->brief && c % 3 != FAKE_CONSTANT) continue;
        int64_t step = step_of(&d, of);
        read_all(&d, c, step);
        struct wl_energy e = energy_of(&d, basis, wl_max_gap_ns((double)step / S));
        judge(&score, &d, &e);
    }
    printf(
        "%s: %d of %d in the interval, half width %.2f %% on average; steady over %g s: %d of %d within %g %%, at most "
        "%.2f (V100), %.2f (A100), %.2f %% (H100) off\n",
        what, score.in, score.cases, score.width_pct, score.least_s, score.near, score.steady, score.near_pct,
        score.worst_pct[V100], score.worst_pct[A100], score.worst_pct[H100]);
    assert_true(score.in >= 0.95 * score.cases);
    return score;
}

static void the_counter_is_right(void **state)
{
    (void)state;
    struct score s = measure_cases("counter", COUNTER, &(struct choice) { .profile = ANY, .step_s = 0.1 });
    assert_int_equal(s.near, s.steady);
    s = measure_cases("counter, in step with the power sensor", COUNTER,
                      &(struct choice) { .profile = ANY, .step_s = 0.1, .in_step = true });
    assert_int_equal(s.near, s.steady);
}

/* A command of a fifth of a second or more, of which a counter with ten steps per second sees two: the error is that of
 * the edges. */
static void the_counter_is_right_for_short_runs(void **state)
{
    (void)state;
    struct score s = measure_cases("counter, runs of .2 to 1 s", COUNTER,
                                   &(struct choice) { .profile = ANY, .step_s = 0.1, .brief = true });
    assert_int_equal(s.near, s.steady);
}

/* Ten readings per second see a tenth of the time of a V100 and a quarter of an A100's or H100's: the rest is missing,
 * and no method can recover it. */
static void the_interval_of_the_integral_covers_its_error(void **state)
{
    (void)state;
    struct score s = measure_cases("power", POWER, &(struct choice) { .profile = ANY, .step_s = 0.1 });
    assert_true(s.width_pct < 12);
    measure_cases("power, what the sensor sees known", POWER_KNOWN, &(struct choice) { .profile = ANY, .step_s = 0.1 });
}

/* With each update read, a V100 shows half of its time, an A100 a quarter. */
static void reading_all_updates_beats_reading_some(void **state)
{
    (void)state;
    struct score s = measure_cases("power of a V100, each update", POWER_KNOWN,
                                   &(struct choice) { .profile = V100, .steady = true });
    assert_true(s.near >= 0.99 * s.steady && s.worst_pct[V100] < 1.5);
    s = measure_cases("power of an A100, each update", POWER_KNOWN,
                      &(struct choice) { .profile = A100, .steady = true });
    assert_true(s.near >= 0.8 * s.steady);
}

/* A load in step with the updates repeatedly shows the same moments, or one: the interval covers that. */
static void intervals_cover_loads_in_step_with_updates(void **state)
{
    (void)state;
    for (int p = 0; p < PROFILES; p++)
        measure_cases("power, in step", POWER_KNOWN, &(struct choice) { .profile = p, .in_step = true });
}

/* A load that is not in step is not mistaken for one: its interval stays useful. */
static void loads_out_of_step_keep_narrow_intervals(void **state)
{
    (void)state;
    struct score s = { .what = "power of an A100, training", .least_s = 10, .near_pct = 1 };
    struct choice of = { .profile = A100, .steady = true };
    for (int c = 2; s.cases < CASES; c += 3) { /* each third load is training */
        struct drawn d;
        draw_case(c, &of, &d);
        int64_t step = step_of(&d, &of);
        read_all(&d, c, step);
        struct wl_energy e = energy_of(&d, POWER_KNOWN, wl_max_gap_ns((double)step / S));
        judge(&s, &d, &e);
    }
    printf("%s: %d of %d in the interval, half width %.2f %% on average\n", s.what, s.in, s.cases, s.width_pct);
    assert_true(s.in >= 0.95 * s.cases && s.width_pct < 15);
}

/* The error of a constant load is that of the sensor's noise alone, which all readings have, whatever share of the time
 * they see. A sensor that sees all cannot alias. Inside a job, where no edge widens the interval; many cases, since the
 * interval should cover 95 % of them and not more. */
static void noise_counts_in_full(void **state)
{
    (void)state;
    struct score score = { .what = "V100, constant loads over 10 s, the sensor sees all",
                           .least_s = 10,
                           .near_pct = 1 };
    struct choice of = { .profile = V100, .steady = true };
    for (int c = 0; score.cases < 5 * CASES; c += 3) { /* each third load is constant */
        struct drawn d;
        draw_case(c, &of, &d);
        if (d.is_run) continue;
        d.gpu.profile.window_s = d.gpu.profile.update_s;
        int64_t step = step_of(&d, &of);
        read_all(&d, c, step);
        struct wl_energy e = energy_of(&d, POWER_KNOWN, wl_max_gap_ns((double)step / S));
        judge(&score, &d, &e);
    }
    printf("%s: %d of %d in the interval\n", score.what, score.in, score.cases);
    assert_true(score.in >= 0.95 * score.cases && score.in < 0.98 * score.cases && score.width_pct < 0.5);
}

/* The driver's 1 s mean, which H100 and most boards since Ampere have, misses nothing, in step or not. */
static void the_one_second_mean_misses_nothing(void **state)
{
    (void)state;
    for (int in_step = 0; in_step < 2; in_step++) {
        struct score s = measure_cases(in_step ? "mean of a second, in step" : "mean of a second", MEAN_KNOWN,
                                       &(struct choice) { .profile = H100, .steady = true, .in_step = in_step });
        assert_true(s.near >= 0.98 * s.steady && s.worst_pct[H100] < 2 && s.width_pct < 1);
    }
    measure_cases("mean of a second, any load from 1 s", MEAN_KNOWN, &(struct choice) { .profile = H100 });
}

/* ---- Holes ---- */

/* Readings that fail for a while: a driver that hangs, a sampler that was stopped, a busy machine. One to four holes of
 * .3 s to half of the window, anywhere from a second before it to a second after it. `together`: counter and power have
 * the same holes. */
static void punch(const struct drawn *d, int c, double *value, uint64_t stream)
{
    double length_s = (double)(d->t1 - d->t0) / S;
    int n = 1 + (int)(4 * wl_random_uniform(stream, (uint64_t)c, 0));
    for (int k = 0; k < n; k++) {
        double u = wl_random_uniform(stream, (uint64_t)c, 2 * (uint64_t)k + 1);
        double hole_s = 0.3 * pow(fmax(1, length_s / 2 / 0.3), u);
        double at_s = (length_s + 2) * wl_random_uniform(stream, (uint64_t)c, 2 * (uint64_t)k + 2) - 1;
        int64_t from = d->t0 + (int64_t)(at_s * 1e9), to = from + (int64_t)(hole_s * 1e9);
        for (size_t i = 0; i < readings.n; i++)
            if (readings.t_ns[i] > from && readings.t_ns[i] < to) value[i] = NAN;
    }
}

enum { LONG_CASES = 20000 };
static double widths[LONG_CASES];

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Windows that have an energy. */
struct holed {
    int cases, in, missing, by[3];
    size_t n_widths;
};

/* The energy of a window, as chosen in a run, is right or missing, and missing only if most of it is holes in the power
 * readings. */
static void judge_holed(struct holed *h, const struct drawn *d, int64_t gap, int c)
{
    struct wl_sensor_response g = { d->gpu.profile.update_s, NAN, NAN, d->gpu.profile.limit_w[2] },
                              g_counter = wl_sensor_response_unknown;
    struct wl_time_series power = { readings.t_ns, readings.power_w, readings.n };
    struct wl_time_series energy = { readings.t_ns, readings.energy_j, readings.n };
    struct wl_energy of[3] = { wl_energy_of_counter(&energy, &power, d->t0, d->t1, gap, &g_counter),
                               wl_energy_of_power(&power, d->t0, d->t1, gap, &g),
                               wl_energy_combined(&energy, &power, d->t0, d->t1, gap, &g_counter, &g) };
    const struct wl_energy *e = &of[wl_energy_choose(&of[0], &of[1], &of[2])];
    double truth = truth_j(d);
    for (int m = 0; m < 3; m++) /* each method by itself too */
        assert_true(isnan(of[m].energy_j) ? of[m].why != NULL : of[m].lo_j <= of[m].hi_j);
    h->cases++;
    if (isnan(e->energy_j)) {
        assert_true(of[1].coverage < 0.5);
        h->missing++;
        return;
    }
    bool in = e->lo_j <= truth && truth <= e->hi_j;
    h->in += in;
    h->by[e - of]++;
    widths[h->n_widths++] = 100 * (e->hi_j - e->lo_j) / 2 / truth;
    if (!in)
        printf("  %d by %s misses: %s: %.2f J in %.2f to %.2f, truth %.2f\n", c, wl_energy_method_name(e - of),
               d->words, e->energy_j, e->lo_j, e->hi_j, truth);
}

/* The long form, by hand: WATTLAW_COVERAGE_CASES=5000. */
static int holed_cases(void)
{
    const char *asked = getenv("WATTLAW_COVERAGE_CASES");
    int n = asked ? atoi(asked) : 2 * CASES;
    return n < LONG_CASES ? n : LONG_CASES;
}

static void check_holed(const char *what, bool counter_too, bool together, double widest_pct)
{
    struct holed h = { 0 };
    for (int c = 0, n = holed_cases(); c < n; c++) {
        struct drawn d;
        struct choice of = { .profile = ANY, .step_s = 0.1 };
        draw_case(c, &of, &d);
        read_all(&d, c, step_of(&d, &of));
        if (!counter_too)
            for (size_t i = 0; i < readings.n; i++) readings.energy_j[i] = NAN;
        punch(&d, c, readings.power_w, 7);
        punch(&d, c, readings.energy_j, together ? 7 : 8);
        judge_holed(&h, &d, wl_max_gap_ns(0.1), c);
    }
    qsort(widths, h.n_widths, sizeof *widths, by_value);
    double median = widths[h.n_widths / 2], high = widths[h.n_widths * 9 / 10];
    int known = h.cases - h.missing;
    printf("%s: %d of %d in the interval, median half width %.2f %%, 90 %% below %.1f %%; by counter %d, integral %d, "
           "both %d; "
           "%d of %d missing\n",
           what, h.in, known, median, high, h.by[0], h.by[1], h.by[2], h.missing, h.cases);
    assert_true(h.in >= 0.95 * known && median < widest_pct && known >= 0.7 * h.cases);
}

static void intervals_cover_holes(void **state)
{
    (void)state;
    check_holed("holes of all readings", true, true, 5);
    check_holed("holes of counter and power apart", true, false, 5);
    check_holed("holes, no counter", false, true, 35);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_counter_is_right),
        cmocka_unit_test(the_counter_is_right_for_short_runs),
        cmocka_unit_test(the_interval_of_the_integral_covers_its_error),
        cmocka_unit_test(reading_all_updates_beats_reading_some),
        cmocka_unit_test(intervals_cover_loads_in_step_with_updates),
        cmocka_unit_test(loads_out_of_step_keep_narrow_intervals),
        cmocka_unit_test(noise_counts_in_full),
        cmocka_unit_test(the_one_second_mean_misses_nothing),
        cmocka_unit_test(intervals_cover_holes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
