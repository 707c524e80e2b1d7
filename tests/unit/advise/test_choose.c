/* The choice: the worked example of the prototype, limits, ties, prices, and what is said where no setting is allowed.
 */
#include "../stats/check.h"

#include "advise/choose/choose.h"

enum { SETTINGS = 12, REF = 8, CHOICE = 9 };

/* 1, 2, 4, 8 workers x caps .5, .7, 1, two runs each. */
struct campaign {
    double ln_n[SETTINGS], ln_cap[SETTINGS];
    struct wl_joint_runs runs[WL_JOINT_RESPONSES][SETTINGS];
    struct wl_choose_setting settings[SETTINGS];
    struct wl_choose_group group;
    struct wl_choose_input in;
    struct wl_choose_limit limits[3];
    struct wl_choose_options o;
    struct wl_choose_result r;
    struct wl_arena *arena;
};

static struct wl_joint_runs two(double a, double b)
{
    return (struct wl_joint_runs) { 2, (a + b) / 2, (a - b) * (a - b) / 2 };
}

static void measure(struct campaign *c)
{
    static const double t[SETTINGS] = { 152, 118, 100, 77, 60, 51, 39.6, 31, 26.6, 20.9, 16.6, 14.4 },
                        p[] = { .47, .64, .82 }, cap[] = { .5, .7, 1 },
                        d[SETTINGS] = { 1, -1, 0, -1, 0, 1, 0, 1, -1, 1, 0, -1 };
    for (size_t i = 0; i < SETTINGS; i++) {
        const double n = ldexp(1, (int)(i / 3)), lt = log(t[i]), lp = log(p[i % 3]) - 0.02 * (double)(i / 3),
                     e = d[i] / 100;
        c->ln_n[i] = log(n);
        c->ln_cap[i] = log(cap[i % 3]);
        c->runs[WL_JOINT_TIME][i] = two(lt + e, lt - e);
        c->runs[WL_JOINT_POWER][i] = two(lp - e, lp + e / 2);
        c->settings[i] = (struct wl_choose_setting) { "setting", n, NAN, 2, 0, NULL };
    }
}

static void campaign_init(struct campaign *c, bool power)
{
    *c = (struct campaign) { .arena = wl_arena_new(NULL) };
    measure(c);
    struct wl_joint_axis axes[] = { wl_joint_workers_axis, wl_joint_cap_axis };
    struct wl_joint *joint;
    struct wl_err e;
    axes[0].x = c->ln_n;
    axes[1].x = c->ln_cap;
    const struct wl_joint_data d = {
        .n = SETTINGS, .axes = axes, .n_axes = 2, .runs = { c->runs[0], power ? c->runs[1] : NULL }
    };
    if (wl_joint_fit(&d, &joint, c->arena, &e)) fail_msg("%s", e.msg);
    c->group = (struct wl_choose_group) { 0, SETTINGS, joint };
    c->in = (struct wl_choose_input) { c->settings, SETTINGS, &c->group, 1, NULL };
    c->limits[0] = (struct wl_choose_limit) { "--max-slowdown 17%", WL_CHOOSE_TIME, true, 1.17 };
    c->o = (struct wl_choose_options) { .limits = c->limits, .n_limits = 1, .probability = 0.9, .reference = REF };
    c->o.prices = (struct wl_choose_prices) { 1, NAN, NAN, NAN, NAN };
    c->o.max_power_w = NAN;
}

static void choose(struct campaign *c)
{
    struct wl_err e;
    if (wl_choose(&c->in, &c->o, &c->r, c->arena, &e)) fail_msg("%s", e.msg);
}

static void near(const char *what, double got, double truth, double tolerance)
{
    if (!(fabs(got - truth) <= tolerance)) fail_msg("%s: %.10g, not %.10g", what, got, truth);
}

static void worked_example(void **state)
{
    (void)state;
    static const double pareto[SETTINGS] = { .248, 0, 0, .8365, 0, 0, 1, .011, 0, 1, 1, 1 };
    struct campaign c;
    campaign_init(&c, true);
    choose(&c);
    assert_int_equal(c.r.choice, CHOICE);
    near("probability", c.r.rows[7].meets[0], 0.68337044, 1e-8);
    near("saving", log(c.r.saving[WL_CHOOSE_ENERGY].value), -0.12380498, 1e-8);
    near("saving, low", log(c.r.saving[WL_CHOOSE_ENERGY].lo), -0.14728379, 0.004);
    near("saving, high", log(c.r.saving[WL_CHOOSE_ENERGY].hi), -0.09851412, 0.004);
    assert_int_equal(c.r.worst, 11);
    near("over the worst", log(c.r.over_worst.value),
         c.r.rows[CHOICE].ln[WL_CHOOSE_ENERGY] - c.r.rows[11].ln[WL_CHOOSE_ENERGY], 1e-12);
    assert_true(c.r.over_worst.lo < c.r.over_worst.value && c.r.over_worst.value < c.r.over_worst.hi);
    for (size_t i = 0; i < SETTINGS; i++) {
        near("pareto", c.r.rows[i].pareto, pareto[i], 0.03);
        assert_int_equal(c.r.rows[i].tied, i == CHOICE);
        assert_int_equal(c.r.rows[i].allowed, i >= REF);
    }
    near("within 1 %", c.r.within[0], 1, 0.03);
    assert_int_equal(c.r.allowed, 4);
    assert_int_equal(c.r.runner_up, 10);
    assert_int_equal(c.r.other, WL_CHOOSE_ENERGY);
    wl_arena_free(c.arena);
}

static void no_limit_and_other_objectives(void **state)
{
    (void)state;
    struct campaign c;
    campaign_init(&c, true);
    c.o.n_limits = 0;
    choose(&c);
    assert_int_equal(c.r.choice, 3); /* 2 workers, cap .5: .006 below 1 worker */
    assert_true(c.r.rows[0].tied);
    c.o.minimize = WL_CHOOSE_TIME;
    choose(&c);
    assert_int_equal(c.r.choice, 11);
    c.o.minimize = WL_CHOOSE_ED2P;
    choose(&c);
    assert_int_equal(c.r.choice, 11);
    c.o.minimize = WL_CHOOSE_ZEUS;
    c.o.eta = 0;
    c.o.max_power_w = 1;
    choose(&c);
    assert_int_equal(c.r.choice, 2); /* worker-hours alone */
    near("Zeus cost", log(c.r.rows[2].amount[WL_CHOOSE_ZEUS].value), log(100), 0.02);
    wl_arena_free(c.arena);
}

/* A limit on the time, unless there is a limit or time is a part of what is minimized. */
static void what_is_asked_where_nothing_else_is(void **state)
{
    (void)state;
    struct campaign c;
    const struct {
        enum wl_choose_quantity minimize;
        double worker_h;
        size_t limits;
        bool limited;
    } cases[] = { { WL_CHOOSE_ENERGY, NAN, 0, true }, { WL_CHOOSE_ENERGY, 2, 0, true },
                  { WL_CHOOSE_CARBON, NAN, 0, true }, { WL_CHOOSE_COST, NAN, 0, true },
                  { WL_CHOOSE_COST, 2, 0, false },    { WL_CHOOSE_TIME, NAN, 0, false },
                  { WL_CHOOSE_EDP, NAN, 0, false },   { WL_CHOOSE_ED2P, NAN, 0, false },
                  { WL_CHOOSE_ZEUS, NAN, 0, false },  { WL_CHOOSE_ENERGY, NAN, 1, false } };
    campaign_init(&c, true);
    assert_int_equal(wl_choose_default_quantity(&c.in, &c.o), WL_CHOOSE_ENERGY);
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        c.o.n_limits = cases[i].limits;
        c.o.minimize = cases[i].minimize;
        c.o.prices.per_worker_h = cases[i].worker_h;
        wl_choose_add_default_limit(&c.o);
        assert_int_equal(c.o.n_limits, cases[i].limits + cases[i].limited);
        if (!cases[i].limited) continue;
        assert_true(c.limits[0].by_default && c.limits[0].relative && c.limits[0].quantity == WL_CHOOSE_TIME);
        near("slowdown", c.limits[0].most, 1.1, 1e-12);
    }
    wl_arena_free(c.arena);
    campaign_init(&c, false);
    assert_int_equal(wl_choose_default_quantity(&c.in, &c.o), WL_CHOOSE_TIME);
    wl_arena_free(c.arena);
}

/* With the price of energy alone the cheapest is the least energy; a price of worker-hours moves it to less time. */
static void prices(void **state)
{
    (void)state;
    struct campaign c;
    campaign_init(&c, true);
    c.o.n_limits = 0;
    c.o.minimize = WL_CHOOSE_COST;
    c.o.prices.per_kwh = 0.3;
    choose(&c);
    assert_int_equal(c.r.choice, 3);
    near("cost", c.r.rows[3].amount[WL_CHOOSE_COST].value, exp(c.r.rows[3].ln[WL_CHOOSE_ENERGY]) / 3.6e6 * 0.3, 1e-12);
    c.o.prices.per_worker_h = 2;
    choose(&c);
    assert_int_equal(c.r.choice, 2);
    near("cost", c.r.rows[2].amount[WL_CHOOSE_COST].value,
         exp(c.r.rows[2].ln[WL_CHOOSE_ENERGY]) / 3.6e6 * 0.3 + exp(c.r.rows[2].ln[WL_CHOOSE_TIME]) / 3600 * 2, 1e-5);
    c.o.prices.per_node_h = 10;
    struct wl_err e;
    assert_int_equal(wl_choose(&c.in, &c.o, &c.r, c.arena, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "the number of nodes was not recorded"));
    for (size_t i = 0; i < SETTINGS; i++) c.settings[i].nodes = c.settings[i].workers / 8;
    c.o.prices.per_worker_h = NAN;
    choose(&c);
    assert_int_equal(c.r.choice, 2);
    wl_arena_free(c.arena);
}

static void nothing_is_allowed(void **state)
{
    (void)state;
    struct campaign c;
    campaign_init(&c, true);
    c.o.n_limits = 2;
    c.limits[0] = (struct wl_choose_limit) { "--deadline", WL_CHOOSE_TIME, false, 30 };
    c.limits[1] = (struct wl_choose_limit) { "--budget", WL_CHOOSE_ENERGY, false, 73 };
    choose(&c);
    assert_int_equal(c.r.choice, WL_CHOOSE_NONE);
    assert_int_equal(c.r.allowed, 0);
    assert_int_equal(c.r.nearest, 9);
    assert_int_equal(c.r.binding, 1);
    assert_int_equal(c.r.relaxed[0].setting, 6); /* 4 workers, cap .5: 39.6 s */
    near("deadline", c.r.relaxed[0].most, 39.6, 1);
    assert_int_equal(c.r.relaxed[1].setting, 9);
    near("budget", c.r.relaxed[1].most, exp(4.30688486), 1.2);
    c.limits[1].most = c.r.relaxed[1].most * 1.002;
    choose(&c);
    assert_int_equal(c.r.choice, 9); /* what it names is enough */
    for (size_t i = 0; i < SETTINGS; i++) c.settings[i].excluded = "not here";
    choose(&c);
    assert_int_equal(c.r.choice, WL_CHOOSE_NONE);
    assert_int_equal(c.r.nearest, WL_CHOOSE_NONE);
    assert_int_equal(c.r.binding, WL_CHOOSE_NONE);
    wl_arena_free(c.arena);
}

static void excluded_settings_are_evidence_only(void **state)
{
    (void)state;
    struct campaign c;
    campaign_init(&c, true);
    c.settings[CHOICE].excluded = "8 workers are too many";
    choose(&c);
    assert_int_equal(c.r.choice, 10);
    assert_true(c.r.rows[CHOICE].pareto == 0);
    wl_arena_free(c.arena);
}

/* It is an error of its own: no limit is in the way. */
static void an_objective_without_a_number(void **state)
{
    (void)state;
    struct campaign c;
    struct wl_err e;
    campaign_init(&c, true);
    c.o.n_limits = 0;
    c.settings[3].ln_work = INFINITY;
    assert_int_equal(wl_choose(&c.in, &c.o, &c.r, c.arena, &e), WL_EINVAL);
    assert_string_equal(e.msg, "cannot minimize energy: that of setting is not a finite number");
    c.settings[3].excluded = "evidence alone";
    choose(&c);
    assert_true(c.r.choice != WL_CHOOSE_NONE);
    wl_arena_free(c.arena);
}

static void without_energy(void **state)
{
    (void)state;
    struct campaign c;
    struct wl_err e;
    campaign_init(&c, false);
    assert_int_equal(wl_choose(&c.in, &c.o, &c.r, c.arena, &e), WL_EINVAL);
    assert_string_equal(e.msg, "cannot minimize energy: no energy was measured");
    c.o.minimize = WL_CHOOSE_TIME;
    choose(&c);
    assert_int_equal(c.r.choice, 11);
    assert_int_equal(c.r.other, WL_CHOOSE_TIME);
    c.o.minimize = WL_CHOOSE_COST;
    c.o.prices.per_worker_h = 1;
    choose(&c);
    assert_int_equal(c.r.choice, 8); /* fewest worker-hours of those within 1.17 of 4 workers uncapped */
    wl_arena_free(c.arena);
}

/* Work that differs and is uncertain: the draws answer. */
static void uncertain_work(void **state)
{
    (void)state;
    struct campaign c;
    campaign_init(&c, true);
    double *work = wl_new_array(c.arena, double, SETTINGS *WL_JOINT_DRAWS);
    for (size_t i = 0; i < SETTINGS; i++) {
        c.settings[i].ln_work = i >= 9 ? log(40) : log(30);
        for (size_t d = 0; d < WL_JOINT_DRAWS; d++)
            work[i * WL_JOINT_DRAWS + d] = i >= 9 ? 0.1 * wl_random_normal(1, 1, d) : 0;
    }
    c.in.work_draws = work;
    c.limits[0] = (struct wl_choose_limit) { "--deadline", WL_CHOOSE_TIME, false, 16.6 * 40 };
    choose(&c);
    near("even chances", c.r.rows[10].meets[0], 0.5, 0.05);
    near("time", c.r.rows[10].ln[WL_CHOOSE_TIME], log(16.6 * 40), 0.01);
    assert_true(c.r.rows[10].amount[WL_CHOOSE_TIME].hi > 1.15 * 16.6 * 40);
    wl_arena_free(c.arena);
}

/* Each setting against the largest cap at its own workers; one has nothing to be compared with. */
static void a_reference_for_each_setting(void **state)
{
    struct campaign c;
    size_t references[SETTINGS];
    (void)state;
    campaign_init(&c, true);
    for (size_t i = 0; i < SETTINGS; i++) references[i] = i == 4 ? WL_CHOOSE_NO_REFERENCE : i / 3 * 3 + 2;
    c.o.references = references;
    choose(&c);
    near("1 worker", c.r.rows[1].slowdown.value, 1.18, 0.015);
    near("8 workers", c.r.rows[10].slowdown.value, 16.6 / 14.4, 0.015);
    near("the largest cap", c.r.rows[5].meets[0], 1, 0);
    near("without a reference", c.r.rows[4].meets[0], 0, 0);
    assert_true(isnan(c.r.rows[4].slowdown.value) && !c.r.rows[4].allowed);
    assert_true(c.r.rows[0].meets[0] < 0.01 && !c.r.rows[0].allowed); /* 1.52 times the time of 2 */
    near("saving", log(c.r.saving[WL_CHOOSE_TIME].value),
         c.r.rows[c.r.choice].ln[WL_CHOOSE_TIME] - c.r.rows[references[c.r.choice]].ln[WL_CHOOSE_TIME], 1e-9);
    wl_arena_free(c.arena);
}

static void a_run_where_two_are_close_is_worth_most(void **state)
{
    (void)state;
    struct campaign c;
    campaign_init(&c, true);
    c.o.n_limits = 0;
    choose(&c);
    assert_true(c.r.measure == 0 || c.r.measure == 3);
    assert_true(c.r.rows[c.r.measure].gain > 0 && c.r.rows[c.r.measure].gain < 0.02);
    assert_true(c.r.rows[11].gain < 1e-6);
    assert_true(c.r.ahead > 0.5 && c.r.ahead < 0.95);
    wl_arena_free(c.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(no_limit_and_other_objectives),
        cmocka_unit_test(what_is_asked_where_nothing_else_is),
        cmocka_unit_test(prices),
        cmocka_unit_test(nothing_is_allowed),
        cmocka_unit_test(an_objective_without_a_number),
        cmocka_unit_test(without_energy),
        cmocka_unit_test(excluded_settings_are_evidence_only),
        cmocka_unit_test(uncertain_work),
        cmocka_unit_test(a_reference_for_each_setting),
        cmocka_unit_test(a_run_where_two_are_close_is_worth_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
