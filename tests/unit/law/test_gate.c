/* A gate for continuous integration: what it decides, and how often it is wrong. */
#include "law/gate.h"

#include "base/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static double normal(unsigned *at) { return wl_random_normal(148, 0, (*at)++); }

/* Runs without epochs of configurations with 1 ... workers. */
static struct wl_observations side(int configs, int runs, double factor, double sd, unsigned *seed, struct wl_arena *a)
{
    struct wl_observations obs = { .source = "test" };
    wl_obs_alloc(&obs, (size_t)(configs * runs), a);
    for (int i = 0; i < configs * runs; i++) {
        const double noise = exp(sd * normal(seed));
        obs.workload[i] = "net";
        obs.workers[i] = i / runs + 1;
        obs.run[i] = wl_strf(a, "%d", i);
        obs.time_s[i] = 100;
        obs.energy_j[i] = 5000 * factor * noise;
        obs.samples[i] = 1000 / (factor * noise);
    }
    wl_obs_index_runs(&obs, a);
    return obs;
}

static struct wl_gate_result gate(const char *text, int configs, int runs, double factor, double sd, unsigned *seed,
                                  struct wl_arena *a)
{
    struct wl_gate_condition c;
    struct wl_gate_result r;
    struct wl_err e;
    assert_int_equal(wl_gate_parse(text, &c, a, &e), 0);
    const struct wl_observations base = side(configs, runs, 1, sd, seed, a),
                                 now = side(configs, runs, factor, sd, seed, a);
    const struct wl_gate_options how = { .conditions = &c, .n = 1, .drop_epochs = 1 };
    assert_int_equal(wl_gate_compare(&base, &now, &how, &r, a, &e), 0);
    assert_int_equal(r.n, configs);
    return r;
}

static void conditions_are_read(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_gate_condition c;
    struct wl_err e;
    assert_int_equal(wl_gate_parse("energy > 3%", &c, a, &e), 0);
    assert_true(c.quantity == WL_GATE_ENERGY && c.above && c.change == .03);
    assert_int_equal(wl_gate_parse("throughput<-5.5%", &c, a, &e), 0);
    assert_true(c.quantity == WL_GATE_THROUGHPUT && !c.above && c.change == -.055);
    static const char *const wrong[] = { "",          "energy",     "energy>3",     "energy>%", ">3%",
                                         "energy=3%", "energy>x%%", "energy<-100%", "%",        "energy>inf%" };
    for (size_t i = 0; i < WL_COUNT(wrong); i++)
        if (wl_gate_parse(wrong[i], &c, a, &e) != WL_EUSAGE) fail_msg("'%s' was read", wrong[i]);
    assert_int_equal(wl_gate_parse("energi>3%", &c, a, &e), WL_EUSAGE);
    assert_non_null(strstr(e.msg, "did you mean energy?"));
    wl_arena_free(a);
}

static void clear_changes_are_decided(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    unsigned seed = 1;
    assert_int_equal(gate("energy>3%", 2, 5, 1.10, .005, &seed, a).verdict, WL_GATE_FAILED);
    assert_int_equal(gate("energy>3%", 2, 5, 1.00, .005, &seed, a).verdict, WL_GATE_PASSED);
    assert_int_equal(gate("energy>3%", 2, 5, 0.80, .005, &seed, a).verdict, WL_GATE_PASSED);
    assert_int_equal(gate("energy<-3%", 2, 5, 0.80, .005, &seed, a).verdict, WL_GATE_FAILED);
    assert_int_equal(gate("throughput<-3%", 2, 5, 1.10, .005, &seed, a).verdict, WL_GATE_FAILED);
    assert_int_equal(gate("time>0.1%", 2, 5, 1.10, .005, &seed, a).verdict, WL_GATE_PASSED); /* always 100 s */
    wl_arena_free(a);
}

/* Of quantities of energy, where one run of either side is. */
static void estimates_are_called_so(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_gate_condition v[2];
    struct wl_gate_result r;
    struct wl_err e;
    unsigned seed = 1;
    const struct wl_observations base = side(1, 3, 1, .005, &seed, a), now = side(1, 3, 1, .005, &seed, a);
    const struct wl_gate_options how = { .conditions = v, .n = 2 };
    base.simulated[2] = now.estimated[1] = 1;
    assert_int_equal(wl_gate_parse("energy>3%", &v[0], a, &e) || wl_gate_parse("time>3%", &v[1], a, &e), 0);
    assert_int_equal(wl_gate_compare(&base, &now, &how, &r, a, &e), 0);
    assert_true(r.n == 2 && r.v[0].simulated && r.v[0].estimated && !r.v[1].simulated && !r.v[1].estimated);
    wl_arena_free(a);
}

static void few_or_missing_runs_are_undecided(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    unsigned seed = 1;
    struct wl_gate_result r = gate("energy>3%", 1, 1, 1.5, .005, &seed, a);
    assert_int_equal(r.verdict, WL_GATE_UNDECIDED);
    assert_string_equal(r.v[0].why, "needs at least two runs of each");
    assert_true(fabs(r.v[0].change - .5) < .1 && isnan(r.v[0].lo));
    r = gate("energy_per_token>3%", 1, 5, 1.5, .005, &seed, a);
    assert_int_equal(r.verdict, WL_GATE_UNDECIDED);
    assert_string_equal(r.v[0].why, "BASE and NEW have no energy_per_token");
    wl_arena_free(a);
}

/* Four runs of two epochs, the first of which takes `first_s`. */
static struct wl_observations with_warm_up(double first_s, struct wl_arena *a)
{
    struct wl_observations obs = { .source = "test" };
    wl_obs_alloc(&obs, 8, a);
    for (size_t i = 0; i < obs.n; i++) {
        obs.run[i] = wl_strf(a, "%zu", i / 2);
        obs.epoch[i] = (double)(1 + i % 2);
        obs.time_s[i] = i % 2 ? 100 + 0.01 * (double)i : first_s;
    }
    wl_obs_index_runs(&obs, a);
    return obs;
}

static void the_warm_up_does_not_count(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_observations base = with_warm_up(150, a), now = with_warm_up(300, a);
    struct wl_gate_condition c;
    struct wl_gate_result r;
    struct wl_err e;
    assert_int_equal(wl_gate_parse("time>3%", &c, a, &e), 0);
    for (int drop = 0; drop < 2; drop++) {
        const struct wl_gate_options how = { .conditions = &c, .n = 1, .drop_epochs = drop };
        assert_int_equal(wl_gate_compare(&base, &now, &how, &r, a, &e), 0);
        assert_int_equal(r.verdict, drop ? WL_GATE_PASSED : WL_GATE_FAILED);
    }
    wl_arena_free(a);
}

static void a_configuration_of_one_side_is_a_note(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    unsigned seed = 1;
    struct wl_gate_result r;
    struct wl_err e;
    const struct wl_observations base = side(2, 3, 1, .01, &seed, a), now = side(3, 3, 1, .01, &seed, a);
    const struct wl_gate_options how = { 0 };
    assert_int_equal(wl_gate_compare(&base, &now, &how, &r, a, &e), 0);
    assert_true(r.n == 4 && r.notes.n == 1 && r.verdict == WL_GATE_PASSED);
    assert_string_equal(r.notes.v[0], "net workers=3 is not in BASE and was not compared");
    struct wl_observations other = side(1, 3, 1, .01, &seed, a);
    for (size_t i = 0; i < other.n; i++) other.workload[i] = "another";
    assert_int_equal(wl_gate_compare(&base, &other, &how, &r, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "no configuration is in both"));
    wl_arena_free(a);
}

/* At the bound itself a verdict is wrong; over the checks of a comparison at most 2.5 % fail. */
static void wrong_verdicts_are_rare(void **state)
{
    (void)state;
    enum { TIMES = 3000 };
    unsigned seed = 5;
    int failed = 0, passed = 0, family = 0;
    for (int i = 0; i < TIMES; i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        const enum wl_gate_verdict v = gate("energy>3%", 1, 4, 1.03, .02, &seed, a).verdict;
        failed += v == WL_GATE_FAILED;
        passed += v == WL_GATE_PASSED;
        family += gate("energy>3%", 5, 4, 1.03, .02, &seed, a).verdict == WL_GATE_FAILED;
        wl_arena_free(a);
    }
    if (failed > .034 * TIMES || failed < .014 * TIMES) fail_msg("%d of %d fail at the bound", failed, TIMES);
    if (passed > .034 * TIMES || passed < .014 * TIMES) fail_msg("%d of %d pass at the bound", passed, TIMES);
    if (family > .034 * TIMES) fail_msg("%d of %d families fail at the bound", family, TIMES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_are_read),
        cmocka_unit_test(clear_changes_are_decided),
        cmocka_unit_test(estimates_are_called_so),
        cmocka_unit_test(few_or_missing_runs_are_undecided),
        cmocka_unit_test(a_configuration_of_one_side_is_a_note),
        cmocka_unit_test(the_warm_up_does_not_count),
        cmocka_unit_test(wrong_verdicts_are_rare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
