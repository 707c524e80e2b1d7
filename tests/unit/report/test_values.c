/* The numbers of a report in the JSON of its figures, as the page reads them. */
#include "values.h"

#include <math.h>

/* One group alone: "net" is what its workload is called. */
static const char only[] = "net";

/* Points: runs. Line: t = 2880 N^-1/2. Band: the line times exp(+-t(.975; 4) se), where the six runs leave the line by
 * d each: sigma^2 = 6 d^2 / 4, and se^2 = sigma^2 (1/6 + (ln N - ln 4)^2 / (4 ln^2 4)). Ideal: 2880 / N, slope 1. */
static void times_and_law_match_hand_computation(void **state)
{
    const struct wl_json *f = figure(known_answer_report(&estimated, *state), "epoch-time");
    assert_int_equal(wl_json_size(wl_json_get(f, "series")), 4);
    assert_kind(f, 0, "points", only);
    VALUES(f, 0, "x", 1, 1, 4, 4, 16, 16);
    VALUES(f, 0, "y", 3600, 2304, 1800, 1152, 900, 576);

    double x[20], y[20], lo[20], hi[20];
    for (int i = 0; i < 20; i++) {
        const double l = log(16) * i / 19, off = (l - log(4)) / log(4);
        const double se = sqrt(1.5) * D * sqrt(1. / 6 + off * off / 4);
        x[i] = exp(l);
        y[i] = 2880 / sqrt(x[i]);
        lo[i] = y[i] * exp(-T4 * se);
        hi[i] = y[i] * exp(T4 * se);
    }
    assert_kind(f, 1, "line", NULL);
    assert_values(f, 1, "x", x, 20);
    assert_values(f, 1, "y", y, 20);
    assert_kind(f, 2, "band", NULL);
    assert_values(f, 2, "x", x, 20);
    assert_values(f, 2, "lo", lo, 20);
    assert_values(f, 2, "hi", hi, 20);

    assert_kind(f, 3, "line", "ideal");
    VALUES(f, 3, "x", 1, 16);
    VALUES(f, 3, "y", 2880, 180);
    assert_false(flag(f, "estimated")); /* times are measured */
}

/* t1/tN = 2 and 4. Interval of the ratio of two means (Welch): variance d^2 + d^2, 2 degrees of freedom. */
static void speedups_match_hand_computation(void **state)
{
    const struct wl_json *f = figure(known_answer_report(&estimated, *state), "speedup");
    const double half = T2 * sqrt(2) * D;
    assert_kind(f, 0, "points", only);
    VALUES(f, 0, "x", 1, 4, 16);
    VALUES(f, 0, "y", 1, 2, 4);
    VALUES(f, 0, "lo", 1, 2 * exp(-half), 4 * exp(-half));
    VALUES(f, 0, "hi", 1, 2 * exp(half), 4 * exp(half));
    assert_kind(f, 1, "line", NULL);
    VALUES(f, 1, "y", 1, 2, 4);
    assert_kind(f, 2, "line", "ideal");
    VALUES(f, 2, "x", 1, 16);
    VALUES(f, 2, "y", 1, 16);
}

/* Ideal lines begin at the smallest count that there is: 2 workers need 400 s, 8 of them 160 s, ideally 100. */
static void ideal_lines_begin_at_the_smallest_worker_count(void **state)
{
    static const struct known_answer_run from_two[] = { { 2, NAN, 400, 40, .5, 50, .1, .1, .1 },
                                                        { 8, NAN, 160, 40, .5, 50, .1, .1, .1 } };
    const struct wl_document *d = known_answer_report(&(struct hand) { .runs = from_two, .n = 2 }, *state);
    const struct wl_json *f = figure(d, "epoch-time");
    size_t last = wl_json_size(wl_json_get(f, "series")) - 1;
    assert_kind(f, last, "line", "ideal");
    VALUES(f, last, "x", 2, 8);
    VALUES(f, last, "y", 400, 100);
    f = figure(d, "speedup");
    VALUES(f, 0, "x", 2, 8);
    VALUES(f, 0, "y", 1, 2.5);
    assert_kind(f, 2, "line", "ideal");
    VALUES(f, 2, "x", 2, 8);
    VALUES(f, 2, "y", 1, 4);
    const struct wl_report_table *t = table(d, "configurations");
    for (size_t c = 0; c < t->n_columns; c++)
        if (wl_str_eq(t->columns[c].id, "efficiency"))
            assert_near(t->cells[t->n_columns + c].value, .625, "efficiency");
}

/* Energies of an epoch at N = 1: 3600 s x 40 W = 144000 J and 2304 s x 60 W = 138240 J, a factor 25/24 apart; twice
 * that at 4 workers, four times at 16. */
static void energies_match_hand_computation(void **state)
{
    const struct wl_json *f = figure(known_answer_report(&estimated, *state), "energy-ratio");
    const double half = T2 * sqrt(2) * log(25. / 24) / 2;
    VALUES(f, 0, "x", 1, 4, 16);
    VALUES(f, 0, "y", 1, 2, 4);
    VALUES(f, 0, "lo", 1, 2 * exp(-half), 4 * exp(-half));
    VALUES(f, 0, "hi", 1, 2 * exp(half), 4 * exp(half));
    assert_kind(f, 2, "line", "no change");
    VALUES(f, 2, "y", 1, 1);
    assert_true(flag(f, "estimated"));
}

/* Of the whole job: N sqrt(40 x 60) W, the geometric mean of its two runs; bars at the places 0, 1, 2. */
static void mean_power_matches_hand_computation(void **state)
{
    const struct wl_json *f = figure(known_answer_report(&estimated, *state), "mean-power");
    const double one = sqrt(40 * 60);
    assert_kind(f, 0, "bars", only);
    VALUES(f, 0, "x", 0, 1, 2);
    VALUES(f, 0, "y", one, 4 * one, 16 * one);
    const struct wl_json *ticks = wl_json_get(wl_json_get(f, "x"), "ticks");
    static const char *const names[] = { "1", "4", "16" };
    for (size_t i = 0; i < WL_COUNT(names); i++)
        assert_string_equal(wl_json_str(wl_json_get(wl_json_at(ticks, i), "name")), names[i]);
    assert_string_equal(wl_json_str(wl_json_get(wl_json_get(f, "y"), "title")), "mean power [W]");
    assert_true(flag(f, "estimated"));
}

static void worker_hours_match_hand_computation(void **state)
{
    const struct wl_document *d = known_answer_report(&estimated, *state);
    const struct wl_json *f = figure(d, "energy-worker-hours");
    double base, slope, x[40], y[40];
    line_of_energy(&base, &slope);
    assert_kind(f, 0, "points", only);
    assert_values(f, 0, "x", worker_h, KNOWN_ANSWER_RUNS);
    assert_values(f, 0, "y", kwh, KNOWN_ANSWER_RUNS);
    for (int i = 0; i < 40; i++) { /* from the smallest to the largest worker-hours */
        x[i] = 2.56 * pow(16 / 2.56, i / 39.);
        y[i] = base + slope * x[i];
    }
    assert_kind(f, 1, "line", NULL);
    assert_values(f, 1, "x", x, 40);
    assert_values(f, 1, "y", y, 40);
    assert_true(flag(f, "estimated"));
    assert_string_equal(wl_json_str(wl_json_get(f, "honesty")), "estimated values");

    /* 3 epochs of 640 samples and of 20 updates */
    f = figure(d, "rate-samples");
    VALUES(f, 0, "x", 1920 / 4., 1920 / 2.56, 1920 / 8., 1920 / 5.12, 1920 / 16., 1920 / 10.24);
    VALUES(f, 0, "y", .04, .06, .04, .06, .04, .06);
    assert_true(flag(f, "estimated"));
    f = figure(d, "rate-updates");
    VALUES(f, 0, "x", 60 / 4., 60 / 2.56, 60 / 8., 60 / 5.12, 60 / 16., 60 / 10.24);
    assert_null(find_figure(d, "rate-local-batch")); /* one value drives nothing */
}

/* Mean of the two runs, with the interval of t(1): half the difference times t, as sd / sqrt(2) is half the difference.
 */
static void utilisation_matches_hand_computation(void **state)
{
    const struct wl_document *d = known_answer_report(&estimated, *state);
    const struct wl_json *f = figure(d, "utilisation-cpu");
    VALUES(f, 0, "x", 1, 4, 16);
    VALUES(f, 0, "y", 50, 70, 90);
    VALUES(f, 0, "lo", 50 - T1 * 10, 70, 90);
    VALUES(f, 0, "hi", 50 + T1 * 10, 70, 90);
    f = figure(d, "variation-cpu"); /* in %: 12 and 28 at one worker */
    VALUES(f, 0, "y", 20, 20, 10);
    VALUES(f, 0, "lo", 20 - T1 * 8, 20, 10);
    VALUES(f, 0, "hi", 20 + T1 * 8, 20, 10);
    assert_string_equal(wl_json_str(wl_json_get(wl_json_get(f, "y"), "title")), "coefficient of variation [%]");
}

/* .5 .6 .7 and .7 .8 .9 in the epochs of two runs. */
static void learning_curves_match_hand_computation(void **state)
{
    const struct wl_document *d = known_answer_report(&estimated, *state);
    const struct wl_json *f = figure(d, "validation-accuracy");
    static const char *const labels[] = { "1 worker", "4 workers", "16 workers" };
    assert_int_equal(wl_json_size(wl_json_get(f, "series")), 9);
    for (size_t i = 0; i < 3; i++) {
        assert_kind(f, 3 * i, "points", labels[i]);
        VALUES(f, 3 * i, "x", 1, 2, 3);
        VALUES(f, 3 * i, "y", .6, .7, .8);
        assert_kind(f, 3 * i + 1, "line", NULL);
        VALUES(f, 3 * i + 1, "y", .6, .7, .8);
        assert_kind(f, 3 * i + 2, "band", NULL);
        VALUES(f, 3 * i + 2, "lo", .5, .6, .7);
        VALUES(f, 3 * i + 2, "hi", .7, .8, .9);
    }
    VALUES(figure(d, "training-loss"), 0, "y", 3, 2, 1);

    f = figure(d, "quality-val-top1"); /* at the end .7 and .9 */
    VALUES(f, 0, "x", 1, 4, 16);
    VALUES(f, 0, "y", .8, .8, .8);
    VALUES(f, 0, "lo", .8 - T1 * .1, .8 - T1 * .1, .8 - T1 * .1);
    VALUES(f, 0, "hi", .8 + T1 * .1, .8 + T1 * .1, .8 + T1 * .1);

    f = figure(d, "batch-val-top1"); /* one line per worker count: its runs, their mean, the mean of the best epochs */
    assert_int_equal(wl_json_size(wl_json_get(f, "series")), 9);
    assert_kind(f, 3, "points", "4 workers");
    VALUES(f, 3, "x", 128, 128);
    VALUES(f, 3, "y", .7, .9);
    VALUES(f, 4, "x", 128);
    VALUES(f, 4, "y", .8);
    VALUES(f, 4, "lo", .8 - T1 * .1);
    VALUES(f, 4, "hi", .8 + T1 * .1);
    VALUES(f, 5, "y", .8);
}

/* Of the largest worker count the slower of two runs comes second: the lower median is run 6, 2304 s, 960 W. */
static void trace_shows_the_median_run(void **state)
{
    const struct wl_document *d = known_answer_report(&estimated, *state);
    const struct wl_json *f = figure(d, "power-over-time");
    assert_holds(wl_json_str(wl_json_get(f, "source")), "Run 6: ");
    assert_kind(f, 0, "line", "package (cpu_model, estimated)");
    VALUES(f, 0, "x", 230.4, 691.2, 1152, 1612.8, 2073.6); /* the middles of the fifths of 2304 s */
    VALUES(f, 0, "y", 960, 960, 960, 960, 960);
    const struct wl_json *lines = wl_json_get(f, "vlines");
    static const double begins[] = { 0, 1152, 1728 };
    assert_int_equal(wl_json_size(lines), 3);
    for (size_t i = 0; i < 3; i++)
        assert_near(wl_json_real(wl_json_get(wl_json_at(lines, i), "x")), begins[i], "epoch");
    assert_true(flag(f, "estimated"));

    d = report_of(&estimated, (struct wl_report_options) { .run = 3 }, *state);
    VALUES(figure(d, "power-over-time"), 0, "y", 160, 160, 160, 160, 160); /* 4 x 40 W */
    f = figure(d, "utilisation-over-time");
    VALUES(f, 0, "x", 720, 2160, 3600, 5040, 6480);
    VALUES(f, 0, "y", 10, 20, 30, 40, 50);
    assert_false(flag(f, "estimated"));
}

/* Numbers of energy are marked where it is estimated or simulated, and not where it was measured. */
static void estimated_and_simulated_are_marked(void **state)
{
    static const char *const figures[] = { "energy-ratio", "mean-power",   "energy-worker-hours",
                                           "rate-samples", "rate-updates", "power-over-time" };
    static const char *const tables[] = { "configurations", "energy-laws", "energy-drivers", "runs" };
    struct hand simulated = measured;
    simulated.simulated = true;
    const struct {
        const struct hand *hand;
        bool estimated, simulated;
    } cases[] = { { &estimated, true, false }, { &measured, false, false }, { &simulated, false, true } };
    for (size_t c = 0; c < WL_COUNT(cases); c++) {
        const struct wl_document *d = known_answer_report(cases[c].hand, *state);
        for (size_t i = 0; i < WL_COUNT(figures); i++) {
            const struct wl_json *f = figure(d, figures[i]);
            if (flag(f, "estimated") != cases[c].estimated || flag(f, "simulated") != cases[c].simulated)
                fail_msg("figure %s is marked wrongly in case %zu", figures[i], c);
        }
        for (size_t i = 0; i < WL_COUNT(tables); i++) {
            const struct wl_report_table *t = table(d, tables[i]);
            if (t->estimated != cases[c].estimated || t->simulated != cases[c].simulated)
                fail_msg("table %s is marked wrongly in case %zu", tables[i], c);
        }
        char *findings = joined(&d->findings, *state);
        if (!strstr(findings, "Least estimated energy") == cases[c].estimated ||
            !strstr(findings, "Least simulated energy") == cases[c].simulated)
            fail_msg("case %zu: %s", c, findings);
    }
}

/* ---- caps: 150 W takes 200 s at 150 W, 300 W 120 s at 300 W, no cap 100 s at 400 W ---- */

static const struct known_answer_run capped_runs[] = {
    { 2, 300, 120, 150, .5, 50, .1, .1, .1 },
    { 2, 150, 200, 75, .5, 50, .1, .1, .1 },
    { 2, NAN, 100, 200, .5, 50, .1, .1, .1 },
};

/* The highest level is 1, and uncapped is above all caps; one worker count is enough for speed and energy. */
static void tradeoff_matches_hand_computation(void **state)
{
    const struct hand all = { .runs = capped_runs, .n = 3 }, capped = { .runs = capped_runs, .n = 2 };
    const struct wl_json *f = figure(known_answer_report(&all, *state), "tradeoff-power-cap-net-local-batch-32");
    assert_string_equal(wl_json_str(wl_json_get(wl_json_get(f, "y"), "title")), "ratio to uncapped");
    assert_kind(f, 0, "bars", "speed, 2 workers");
    VALUES(f, 0, "y", .5, 100. / 120, 1);
    assert_kind(f, 1, "bars", "energy, 2 workers");
    VALUES(f, 1, "y", 30000. / 40000, 36000. / 40000, 1);

    f = figure(known_answer_report(&capped, *state), "tradeoff-power-cap-net-local-batch-32");
    assert_string_equal(wl_json_str(wl_json_get(wl_json_get(f, "y"), "title")), "ratio to 300");
    VALUES(f, 0, "y", .6, 1);
    VALUES(f, 1, "y", 30000. / 36000, 1);
}

/* Where the highest cap was measured at one worker count alone it has no law; speed and energy are relative to it
 * all the same: at 2 workers, where 150 W takes 200 s and 300 W 120 s. */
static void tradeoff_needs_no_law(void **state)
{
    static const struct known_answer_run some[] = {
        { 2, 150, 200, 75, .5, 50, .1, .1, .1 },
        { 4, 150, 100, 75, .5, 50, .1, .1, .1 },
        { 2, 300, 120, 150, .5, 50, .1, .1, .1 },
    };
    const struct hand h = { .runs = some, .n = WL_COUNT(some) };
    const struct wl_json *f = figure(known_answer_report(&h, *state), "tradeoff-power-cap-net-local-batch-32");
    assert_string_equal(wl_json_str(wl_json_get(wl_json_get(f, "y"), "title")), "ratio to 300");
    VALUES(f, 0, "y", .6, 1);
    VALUES(f, 1, "y", 30000. / 36000, 1);
}

/* ---- groups whose keys have other columns ---- */

static void assert_groups(const struct known_answer_run *runs, size_t n, const char *const *labels, struct wl_arena *a)
{
    const struct wl_json *f = figure(known_answer_report(&(struct hand) { .runs = runs, .n = n }, a), "epoch-time");
    assert_int_equal(wl_json_size(wl_json_get(f, "series")), n);
    for (size_t i = 0; i < n; i++) {
        assert_kind(f, i, "points", labels[i]);
        VALUES(f, i, "y", runs[i].time_s);
    }
}

/* "net" recorded its batch, the other one did not; it comes first or last by its name. */
static void keys_of_groups_may_differ(void **state)
{
    struct known_answer_run runs[] = {
        { 2, NAN, 100, 40, .5, 50, .1, .1, .1, "aaa", NAN },
        { 2, NAN, 200, 40, .5, 50, .1, .1, .1, NULL, 8 },
        { 2, NAN, 300, 40, .5, 50, .1, .1, .1, NULL, 16 },
    };
    static const char *const first[] = { "aaa", "net, local batch 8", "net, local batch 16" };
    assert_groups(runs, 3, first, *state);

    const struct known_answer_run last[] = { runs[1], runs[2], { 2, NAN, 100, 40, .5, 50, .1, .1, .1, "zzz", NAN } };
    static const char *const then[] = { "net, local batch 8", "net, local batch 16", "zzz" };
    assert_groups(last, 3, then, *state);

    runs[0].workload = "net"; /* one group of the same workload, without the settings in which the others differ */
    const struct known_answer_run same[] = { runs[1], runs[2], runs[0] };
    static const char *const alone[] = { "local batch 8", "local batch 16", "no local batch" };
    assert_groups(same, 3, alone, *state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(times_and_law_match_hand_computation),
        WITH_ARENA(speedups_match_hand_computation),
        WITH_ARENA(ideal_lines_begin_at_the_smallest_worker_count),
        WITH_ARENA(energies_match_hand_computation),
        WITH_ARENA(mean_power_matches_hand_computation),
        WITH_ARENA(worker_hours_match_hand_computation),
        WITH_ARENA(utilisation_matches_hand_computation),
        WITH_ARENA(learning_curves_match_hand_computation),
        WITH_ARENA(trace_shows_the_median_run),
        WITH_ARENA(estimated_and_simulated_are_marked),
        WITH_ARENA(tradeoff_matches_hand_computation),
        WITH_ARENA(tradeoff_needs_no_law),
        WITH_ARENA(keys_of_groups_may_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
