/* Plan files: what is read, and what is wrong with others. */
#include "check.h"
#include "planner/planner.h"

static const char good[] = "[plan]\nworkers = 1,2\n[machine m]\nnetwork_bandwidth = 10\n[workload w]\nsamples = 1000\n"
                           "local_batch = 10\nstep_time = 100ms\nparameters = 1e6\n";

static void defaults_and_cards_fill_in(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_planner_plan p;
    struct wl_err e;
    if (wl_planner_parse("x/lab.ini", good, NULL, &p, a, &e)) fail_msg("%s", e.msg);
    assert_string_equal(p.name, "lab.ini");
    assert_string_equal(p.workloads[0].framework->name, "default");
    assert_int_equal(p.machines[0].devices_per_node, 1);
    assert_true(isnan(p.machines[0].idle_w));
    assert_float_equal(p.workloads[0].step_s, .1, 0);
    assert_float_equal(p.workloads[0].step_batch, 10, 0);
    const char *with_card = wl_strf(a, "%s[machine n]\ncard = h100-sxm5\nmax_power = 500\n", good);
    if (wl_planner_parse("lab.ini", with_card, NULL, &p, a, &e)) fail_msg("%s", e.msg);
    assert_float_equal(p.machines[1].max_w, 500, 0); /* the file comes before the card */
    assert_float_equal(p.machines[1].node_gb_s, 450, 1e-9);
    assert_int_equal(p.machines[1].devices_per_node, 8);
    wl_arena_free(a);
}

static void measured_power_is_a_load(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_planner_plan p;
    struct wl_err e;
    const char *text = "[machine m]\nidle_power = 50\nmax_power = 250\n[workload w]\nsamples = 10\nlocal_batch = 1\n"
                       "active_power = 200\n";
    if (wl_planner_parse("lab.ini", text, NULL, &p, a, &e)) fail_msg("%s", e.msg);
    assert_float_equal(p.workloads[0].load, .75, 1e-15);
    wl_arena_free(a);
}

static void counts_are_ordered_and_unique(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_planner_plan p;
    struct wl_err e;
    const char *many = "[plan]\nworkers = 8,1,8,2,1\npower_caps = 200,100,200\n[machine m]\nlatency = 1us\n"
                       "[workload v]\nsamples = 10\nlocal_batch = 1\n"
                       "[workload w]\nsamples = 10\nlocal_batch = 1\nworkers = 5,3,5\n";
    if (wl_planner_parse("lab.ini", many, NULL, &p, a, &e)) fail_msg("%s", e.msg);
    const struct wl_ints v = p.workloads[0].workers, w = p.workloads[1].workers;
    assert_true(v.n == 3 && v.v[0] == 1 && v.v[1] == 2 && v.v[2] == 8);
    assert_true(w.n == 2 && w.v[0] == 3 && w.v[1] == 5);
    assert_true(p.power_caps.n == 2 && p.power_caps.v[0] == 200 && p.power_caps.v[1] == 100);
    wl_arena_free(a);
}

static void mistakes_name_line_value_and_what_was_expected(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "[machine m]\nnetwork_bandwith = 10\n",
          "lab.ini:2: unknown key network_bandwith; did you mean network_bandwidth?" },
        { "[machine m]\nnetwork_bandwidth = -10\n",
          "lab.ini:2: network_bandwidth = -10: expected a number from 1e-06 to 1000000 (GB/s)" },
        { "[machine m]\nlatency = 10 parsecs\n", "lab.ini:2: latency = 10 parsecs: expected a time such as 10s" },
        { "[machine m]\ncollective = star\n",
          "lab.ini:2: collective = star: expected one of best|ring|tree|hierarchical" },
        { "[machine m]\ncard = h100-sxm\n[workload w]\nsamples = 1\nlocal_batch = 1\n",
          "lab.ini:2: [machine m] card: no hardware card h100-sxm; did you mean h100-sxm5?" },
        { "[machines m]\nlatency = 1us\n", "lab.ini:2: unknown section [machines m]; did you mean [machine]?" },
        { "[machine]\nlatency = 1us\n", "lab.ini:2: [machine]: expected a name: [machine NAME]" },
        { "[plan x]\nseed = 1\n", "lab.ini:2: [plan] does not take a name" },
        { "[plan]\nworkers = 0\n", "lab.ini:2: workers = 0: expected a list of whole numbers from 1 to 10000000" },
        { "[plan]\nworkers = 1\n", "lab.ini: no [machine NAME]: expected at least one" },
        { "[machine m]\nlatency = 1us\n", "lab.ini: no [workload NAME]: expected at least one" },
        { "[machine m]\nlatency = 1us\n[workload w]\nlocal_batch = 1\n", "lab.ini:4: [workload w] samples is missing" },
        { "[machine m]\nlatency = 1us\n[workload w]\nsamples = 1\n", "lab.ini:4: [workload w] local_batch is missing" },
        { "[machine m]\nidle_power = 300\nmax_power = 200\n[workload w]\nsamples = 1\nlocal_batch = 1\n",
          "lab.ini:2: [machine m] idle_power = 300: expected less than max_power = 200 (W)" },
        { "[machine m]\nlatency = 1us\n[framework horovod]\nbucket = 64\n[workload w]\nsamples = 1\nlocal_batch = 1\n"
          "framework = horovd\n",
          "lab.ini:6: [workload w] framework = horovd: there is no [framework horovd]; did you mean horovod?" },
        { "[machine m]\nlatency = 1us\n[workload w]\nsamples = 1\nlocal_batch = 1\nstep_machine = n\n",
          "lab.ini:4: [workload w] step_machine = n: there is no [machine n]" },
        { "[machine m]\nidle_power = 40\nmax_power = 200\n[workload w]\nsamples = 1\nlocal_batch = 1\nactive_power = "
          "900\n",
          "lab.ini:5: [workload w] active_power = 900: expected more than 40 and at most 200 (W)" },
        { "[machine m]\nlatency = 1us\n[workload w]\nsamples = 1\ncard = none.json\n",
          "lab.ini:4: [workload w] card: " },
        { "[priors]\nlatenzy = 1\n", "lab.ini:2: unknown key latenzy; did you mean latency?" },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_planner_plan p;
        struct wl_err e = { 0 };
        assert_true(wl_planner_parse("lab.ini", cases[i].text, NULL, &p, a, &e) < 0);
        if (!wl_str_starts(e.msg, cases[i].message)) fail_msg("%s, not %s", e.msg, cases[i].message);
    }
    wl_arena_free(a);
}

/* The exponents of the six networks without any fit, as the prototype of the model printed them. */
static void frey2022_gives_the_exponents_of_the_prototype(void **state)
{
    (void)state;
    static const double exponents[] = { .78, .40, .82, .54, .65, .63 }, r2[] = { .984, .897, .998, .915, .953, .944 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_planner_plan p;
    struct wl_err e;
    if (wl_planner_read(WL_EXAMPLES "/frey2022/plan.ini", NULL, &p, a, &e)) fail_msg("%s", e.msg);
    assert_int_equal(p.n_workloads, 6);
    for (size_t i = 0; i < 6; i++) {
        double workers[16], epoch_s[16];
        const struct wl_planner_case c = wl_planner_case_of(&p, 0, i);
        const size_t n = c.workload->workers.n;
        for (size_t k = 0; k < n; k++) {
            const struct wl_planner_setting at = wl_planner_setting_of((double)c.workload->workers.v[k]);
            workers[k] = at.workers;
            epoch_s[k] = wl_planner_evaluate(&c, &at).epoch_s;
        }
        const struct wl_planner_exponent x = wl_planner_exponent_of(workers, epoch_s, n);
        assert_float_equal(x.beta, exponents[i], .006);
        assert_float_equal(x.r2, r2[i], .003);
    }
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_and_cards_fill_in),
        cmocka_unit_test(measured_power_is_a_load),
        cmocka_unit_test(counts_are_ordered_and_unique),
        cmocka_unit_test(mistakes_name_line_value_and_what_was_expected),
        cmocka_unit_test(frey2022_gives_the_exponents_of_the_prototype),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
