/* Calibration: the prior without data, convergence to what was planted, the same samples for the same seed, and what is
 * held out. */
#include "check.h"
#include "planner/planner.h"

static const char text[] = "[plan]\nworkers = 64\ndraws = 1000\nseed = 7\n"
                           "[machine m]\nnetwork_bandwidth = 5\ndevices_per_node = 1\ncollective = ring\n"
                           "idle_power = 50\nmax_power = 300\nclock = 1400\n"
                           "[framework f]\nepoch_overhead = 4s\n"
                           "[workload w]\nsamples = 500000\nlocal_batch = 50\nstep_time = 100ms\nparameters = 50e6\n"
                           "[workload v]\nsamples = 500000\nlocal_batch = 50\nstep_time = 300ms\nparameters = 5e6\n";

static struct wl_planner_plan plan_of(const char *from, struct wl_arena *a)
{
    struct wl_planner_plan p;
    struct wl_err e;
    if (wl_planner_parse("lab.ini", from, NULL, &p, a, &e)) fail_msg("%s", e.msg);
    return p;
}

static struct wl_planner_posterior calibrated(const struct wl_planner_plan *p, const struct wl_planner_rows *rows,
                                              struct wl_arena *a)
{
    struct wl_planner_posterior q;
    struct wl_err e;
    if (wl_planner_calibrate(p, 0, rows, &q, a, &e)) fail_msg("%s", e.msg);
    return q;
}

static size_t parameter(const struct wl_planner_posterior *q, const char *section, const char *key)
{
    for (size_t i = 0; i < q->parameters.n; i++)
        if (wl_str_eq(q->parameters.v[i].section, section) &&
            wl_str_eq(wl_planner_parameter_rows[q->parameters.v[i].id].key, key))
            return i;
    fail_msg("no parameter %s of %s", key, section);
    return 0;
}

/* Rows of the truth without noise: 1 to 32 workers of both workloads, with and without a cap. */
static struct wl_planner_rows rows_of(const struct wl_planner_plan *truth, struct wl_arena *a)
{
    struct wl_planner_rows rows = { .v = wl_new_array(a, struct wl_planner_row, 24) };
    for (size_t i = 0; i < 24; i++) {
        struct wl_planner_setting at = wl_planner_setting_of(exp2((double)(i % 6)));
        const size_t workload = i / 6 % 2;
        const struct wl_planner_case c = wl_planner_case_of(truth, 0, workload);
        if (i >= 12) at.cap_w = 150;
        const struct wl_planner_point p = wl_planner_evaluate(&c, &at);
        rows.v[rows.n++] = (struct wl_planner_row) { workload, at, log(p.epoch_s), log(p.power_w), 1 };
    }
    return rows;
}

static void without_rows_the_posterior_is_the_prior(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_planner_plan p = plan_of(text, a);
    const struct wl_planner_posterior q = calibrated(&p, NULL, a);
    const struct wl_planner_marginal m = wl_planner_marginal_of(&q, parameter(&q, "framework f", "epoch_overhead"), a);
    assert_float_equal(m.value.value, 4, 1e-12);
    assert_float_equal(m.sd, 1, .1);
    assert_float_equal(log(m.value.hi / m.value.lo), 2 * 1.96 * .5, .25); /* sd .5 in ln */
    assert_float_equal(q.effective, 1000, 1e-6);
    assert_true(isnan(q.noise[0]));
    wl_arena_free(a);
}

static void exact_rows_lead_to_the_truth(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_planner_plan p = plan_of(text, a);
    struct wl_planner_plan *truth = wl_planner_plan_copy(&p, a);
    truth->frameworks[0].epoch_s = 7;
    truth->workloads[0].step_s = .11;
    truth->workloads[1].load = .6;
    truth->machines[0].network_gb_s = 3;
    const struct wl_planner_rows rows = rows_of(truth, a);
    const struct wl_planner_posterior q = calibrated(&p, &rows, a);
    const struct {
        const char *section, *key;
        double truth;
    } wanted[] = { { "framework f", "epoch_overhead", 7 },
                   { "workload w", "step_time", .11 },
                   { "workload v", "load", .6 },
                   { "machine m", "network_bandwidth", 3 } };
    for (size_t i = 0; i < WL_COUNT(wanted); i++) {
        const struct wl_planner_marginal m =
            wl_planner_marginal_of(&q, parameter(&q, wanted[i].section, wanted[i].key), a);
        if (fabs(m.value.value / wanted[i].truth - 1) > .12 /* the prior still counts */)
            fail_msg("%s: %g, not %g", wanted[i].key, m.value.value, wanted[i].truth);
        assert_true(m.value.lo < wanted[i].truth && wanted[i].truth < m.value.hi);
        assert_true(m.sd < .7);
    }
    assert_true(q.noise[0] < .03 && q.effective > 50);
    wl_arena_free(a);
}

static void the_same_seed_gives_the_same_band(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_planner_plan p = plan_of(text, a);
    struct wl_planner_forecast f[3];
    for (size_t i = 0; i < 3; i++) {
        p.seed = i < 2 ? 7 : 8;
        const struct wl_planner_posterior q = calibrated(&p, NULL, a);
        f[i] = (struct wl_planner_forecast) { .at = wl_planner_setting_of(1024) };
        wl_planner_forecast(&q, &f[i], 1, a);
    }
    assert_true(f[0].time_s.lo == f[1].time_s.lo && f[0].energy_j.hi == f[1].energy_j.hi);
    assert_true(f[0].time_s.lo != f[2].time_s.lo);
    assert_true(f[0].time_s.lo < f[0].time_s.value && f[0].time_s.value < f[0].time_s.hi);
    wl_arena_free(a);
}

static void the_largest_scale_is_held_out(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_planner_plan p = plan_of(text, a);
    struct wl_planner_plan *truth = wl_planner_plan_copy(&p, a);
    struct wl_planner_accuracy x;
    struct wl_err e;
    truth->frameworks[0].epoch_s = 7;
    struct wl_planner_rows rows = rows_of(truth, a);
    assert_int_equal(wl_planner_leave_largest_out(&p, 0, &rows, &x, a, &e), 0);
    assert_float_equal(x.largest, 16, 0);
    assert_int_equal(x.trained, 20);
    assert_int_equal(x.n, 4);
    assert_true(x.median_error < .05 && x.inside == 4);
    for (size_t i = 0; i < rows.n; i++)
        if (rows.v[i].at.workers > 16) rows.v[i].ln_time += log(3); /* a network that collapses: the model is wrong */
    assert_int_equal(wl_planner_leave_largest_out(&p, 0, &rows, &x, a, &e), 0);
    assert_float_equal(x.median_error, 2. / 3, .05);
    assert_int_equal(x.inside, 0);
    wl_arena_free(a);
}

static void one_scale_has_no_accuracy(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_planner_plan p = plan_of(text, a);
    struct wl_planner_row row = { 0, wl_planner_setting_of(1), log(1000), NAN, 3 };
    const struct wl_planner_rows rows = { .v = &row, .n = 1 };
    struct wl_planner_accuracy x;
    struct wl_err e;
    assert_int_equal(wl_planner_leave_largest_out(&p, 0, &rows, &x, a, &e), 0);
    assert_non_null(x.why);
    const struct wl_planner_posterior q = calibrated(&p, &rows, a); /* one GPU alone */
    assert_true(wl_planner_marginal_of(&q, parameter(&q, "workload w", "step_time"), a).sd < .8);
    assert_true(isnan(q.noise[1]));
    wl_arena_free(a);
}

/* ---- from observations ---- */

static void runs_become_configurations(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_planner_plan p = plan_of(text, a);
    struct wl_observations obs = { .source = "x.csv" };
    struct wl_planner_rows rows;
    struct wl_err e;
    wl_obs_alloc(&obs, 7, a);
    /* two runs of one configuration: one of two epochs, the first slower, and a whole one; one with another cap */
    const double times[] = { 99, 10, 40, 20, 5, 5, 5 }, workers[] = { 4, 4, 4, 4, 2, NAN, 2 };
    const char *const names[] = { "w", "w", "w", "w", "v", "w", "other" }, *const runs[] = { "1", "1", "2", "3",
                                                                                             "4", "5", "6" };
    for (size_t i = 0; i < 7; i++) {
        obs.workload[i] = names[i], obs.run[i] = runs[i], obs.time_s[i] = times[i], obs.workers[i] = workers[i];
        obs.energy_j[i] = 100 * times[i] * workers[i];
    }
    obs.epoch[0] = 1, obs.epoch[1] = 2, obs.power_cap_w[3] = 200, obs.simulated[6] = 1; /* of a run that is not used */
    wl_obs_index_runs(&obs, a);
    if (wl_planner_rows_of(&p, &obs, &rows, a, &e)) fail_msg("%s", e.msg);
    assert_int_equal(rows.n, 3);
    assert_int_equal(rows.v[0].runs, 2);
    assert_float_equal(exp(rows.v[0].ln_time), 20, 1e-9); /* the geometric mean of 10 and 40 */
    assert_float_equal(exp(rows.v[0].ln_power), 100, 1e-9);
    assert_float_equal(rows.v[1].at.cap_w, 200, 0);
    assert_int_equal(rows.notes.n, 1);
    assert_non_null(strstr(rows.notes.v[0], "2 of 6 runs are not used"));
    assert_false(rows.simulated);
    obs.simulated[2] = 1;
    assert_int_equal(wl_planner_rows_of(&p, &obs, &rows, a, &e), 0);
    assert_true(rows.simulated);
    wl_arena_free(a);
}

/* A meter that did not count says 0: such a run counts for the time alone. */
static void energies_of_zero_are_left_out(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_planner_plan p = plan_of(text, a);
    struct wl_observations obs = { .source = "x.csv" };
    struct wl_planner_rows rows;
    struct wl_err e;
    wl_obs_alloc(&obs, 4, a);
    static const double energies[] = { 800, 0, -5, NAN };
    static const char *const runs[] = { "1", "2", "3", "4" };
    for (size_t i = 0; i < 4; i++) {
        obs.workload[i] = "w", obs.run[i] = runs[i], obs.time_s[i] = 2, obs.workers[i] = i == 2 ? 8 : 4;
        obs.energy_j[i] = energies[i];
    }
    wl_obs_index_runs(&obs, a);
    if (wl_planner_rows_of(&p, &obs, &rows, a, &e)) fail_msg("%s", e.msg);
    assert_int_equal(rows.n, 2);
    assert_int_equal(rows.v[0].runs, 3);
    assert_float_equal(exp(rows.v[0].ln_power), 100, 1e-9);
    assert_true(isnan(rows.v[1].ln_power));
    assert_float_equal(exp(rows.v[1].ln_time), 2, 1e-12);
    assert_int_equal(rows.notes.n, 1);
    assert_string_equal(rows.notes.v[0], "energies of 2 of 4 runs are not used: energy_j of an epoch is not above 0");
    const struct wl_planner_posterior q = calibrated(&p, &rows, a);
    assert_true(isfinite(q.noise[0]) && isfinite(q.noise[1]));
    wl_arena_free(a);
}

/* Memory for one point, for two, for all: the same bits. */
static void bands_do_not_depend_on_the_memory(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_planner_plan p = plan_of(text, a);
    const struct wl_planner_posterior q = calibrated(&p, NULL, a);
    const size_t of_a_point = 3 * q.draws * sizeof(double), bytes[] = { 0, 2 * of_a_point, 100 * of_a_point };
    struct wl_planner_forecast f[3][5];
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < 5; i++)
            f[k][i] = (struct wl_planner_forecast) { .workload = i % 2, .at = wl_planner_setting_of(1 << 2 * i) };
        wl_planner_forecast_within(&q, f[k], 5, bytes[k], a);
    }
    for (size_t i = 0; i < 5; i++) {
        assert_memory_equal(&f[0][i].time_s, &f[2][i].time_s, sizeof f[0][i].time_s);
        assert_memory_equal(&f[1][i].energy_j, &f[2][i].energy_j, sizeof f[0][i].energy_j);
        assert_memory_equal(&f[1][i].power_w, &f[2][i].power_w, sizeof f[0][i].power_w);
    }
    assert_true(f[0][0].time_s.lo != f[0][1].time_s.lo);
    wl_arena_free(a);
}

/* Constants that are all exact leave the scatter of configurations: s^2 ~ scaled inverse chi^2(3, .05^2), and so t of 3
 * degrees of freedom in ln. */
static void exact_constants_leave_the_scatter(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_planner_plan p = plan_of(text, a);
    for (size_t i = 0; i < WL_PLANNER_PARAMETERS; i++) p.prior_sd[i] = 0;
    p.draws = 20000;
    const struct wl_planner_posterior q = calibrated(&p, NULL, a);
    assert_int_equal(q.parameters.n, 0);
    struct wl_planner_forecast f = { .at = wl_planner_setting_of(16) };
    wl_planner_forecast(&q, &f, 1, a);
    const double width = 2 * wl_t_quantile(.975, 3) * .05;
    assert_float_equal(log(f.time_s.hi / f.time_s.lo), width, .05 * width);
    assert_float_equal(log(f.power_w.hi / f.power_w.lo), width, .05 * width);
    assert_float_equal(log(f.energy_j.hi / f.energy_j.lo), sqrt(2) * width, .15 * width);
    wl_arena_free(a);
}

static void draws_that_no_memory_holds_are_refused(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_text many = WL_TEXT(a);
    struct wl_planner_posterior q;
    struct wl_err e;
    wl_text_addf(&many, "[plan]\nworkers = 1\ndraws = 1000000\n[machine m]\nidle_power = 1\n");
    for (int i = 0; i < 100; i++)
        wl_text_addf(&many, "[workload w%d]\nsamples = 1000\nlocal_batch = 1\nstep_time = 1s\n", i);
    const struct wl_planner_plan p = plan_of(many.s, a);
    assert_int_equal(wl_planner_calibrate(&p, 0, NULL, &q, a, &e), WL_EINVAL);
    assert_true(wl_str_starts(e.msg, "lab.ini: draws = 1000000: expected at most "));
    wl_arena_free(a);
}

static void a_measured_cap_that_the_plan_rules_out_is_named(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_planner_plan p = plan_of(text, a);
    struct wl_planner_setting at = wl_planner_setting_of(2);
    at.cap_w = 40; /* idle_power is 50 */
    struct wl_planner_row row = { 0, at, log(1000), NAN, 3 };
    const struct wl_planner_rows rows = { .v = &row, .n = 1 };
    struct wl_planner_posterior q;
    struct wl_err e;
    assert_int_equal(wl_planner_calibrate(&p, 0, &rows, &q, a, &e), WL_EINVAL);
    assert_string_equal(e.msg, "lab.ini: [machine m] idle_power = 50: expected less than 40 (W), the cap of a "
                               "measurement of w with 2 workers, or lowest_clock");
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_rows_the_posterior_is_the_prior),
        cmocka_unit_test(exact_rows_lead_to_the_truth),
        cmocka_unit_test(the_same_seed_gives_the_same_band),
        cmocka_unit_test(the_largest_scale_is_held_out),
        cmocka_unit_test(one_scale_has_no_accuracy),
        cmocka_unit_test(runs_become_configurations),
        cmocka_unit_test(energies_of_zero_are_left_out),
        cmocka_unit_test(bands_do_not_depend_on_the_memory),
        cmocka_unit_test(exact_constants_leave_the_scatter),
        cmocka_unit_test(draws_that_no_memory_holds_are_refused),
        cmocka_unit_test(a_measured_cap_that_the_plan_rules_out_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
