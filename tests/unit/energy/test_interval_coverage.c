/* Is the energy right, and is the truth in the stated interval? Of random cases, with all their readings. */
#include "random_cases.h"

enum { V100, A100, H100, PROFILES };

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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
