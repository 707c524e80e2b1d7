/* Experiment files: their meaning, and the messages about wrong ones. */
#include "experiment_text.h"

static void defaults_are_filled_in(void **state)
{
    (void)state;
    assert_int_equal(parse(NAME "[launch]\ncommand = true\n"), 0);
    assert_string_equal(x.campaign.name, "demo");
    assert_string_equal(x.campaign.store, "demo");
    assert_string_equal(x.campaign.order, "random");
    assert_string_equal(x.campaign.scaling, "strong");
    assert_string_equal(x.launch.launcher, "local");
    assert_int_equal(x.campaign.repeats, 3);
    assert_true(x.measure.power.rate_hz == 10);
    assert_false(x.launch.oversubscribe);
}

static void lists_and_user_axes_are_read(void **state)
{
    (void)state;
    assert_int_equal(parse(NAME "[sweep]\nworkers = 1, 2,4\nlr = 0.1, 0.2\npower_cap_w = 100,150.5\n"
                                "[launch]\ncommand = job -n {workers} --lr {lr}\n"),
                     0);
    assert_int_equal(x.sweep.workers.n, 3);
    assert_int_equal(x.sweep.workers.v[2], 4);
    assert_true(x.sweep.cap[WL_CAP_POWER].v[1] == 150.5);
    assert_int_equal(x.n_user, 1);
    assert_string_equal(x.user[0].key, "lr");
    assert_string_equal(x.user[0].values.v[1], "0.2");
}

static void set_overrides_the_file(void **state)
{
    (void)state;
    assert_int_equal(parse_with(NAME "[sweep]\nworkers = 1,2\n[launch]\ncommand = job {workers}\n", "sweep.workers=8"),
                     0);
    assert_int_equal(x.sweep.workers.n, 1);
    assert_int_equal(x.sweep.workers.v[0], 8);
}

static void the_expanded_text_parses_to_the_same_experiment(void **state)
{
    (void)state;
    assert_int_equal(parse_with(NAME "[sweep]\nworkers = 1,2\nlr = 0.1,0.2\n[data]\npath = /tmp\n"
                                     "[measure]\nepoch_regex = ^Epoch ([0-9]+)\n"
                                     "[launch]\ncommand = sh -c 'job {workers} {lr} \"a b\"'\ntimeout = 2m\n",
                                "campaign.repeats=7"),
                     0);
    const char *text = x.expanded, *fixed = x.fixed;
    assert_int_equal(parse(text), 0);
    assert_string_equal(x.expanded, text);
    assert_string_equal(x.fixed, fixed);
    assert_int_equal(x.campaign.repeats, 7);
    assert_true(x.launch.timeout_s == 120);
}

static void lists_and_limits_may_change_but_the_command_may_not(void **state)
{
    (void)state;
    static const char text[] = NAME "[sweep]\nworkers = 1,2\n[launch]\ncommand = job {workers}\n";
    assert_int_equal(parse(text), 0);
    const char *fixed = x.fixed;
    static const char *const changeable[] = { "sweep.workers=4",    "campaign.repeats=9",
                                              "launch.timeout=5",   "campaign.order=sequential",
                                              "measure.country=DE", "measure.price=0.3",
                                              "measure.pue=2",      "measure.rules=mlperf" };
    for (size_t i = 0; i < WL_COUNT(changeable); i++) {
        assert_int_equal(parse_with(text, changeable[i]), 0);
        assert_string_equal(x.fixed, fixed);
    }
    static const char *const significant[] = { "launch.command=other {workers}", "launch.env=A=1", "data.path=/tmp",
                                               "measure.rate_hz=5", "campaign.seed=2" };
    for (size_t i = 0; i < WL_COUNT(significant); i++) {
        assert_int_equal(parse_with(text, significant[i]), 0);
        assert_string_not_equal(x.fixed, fixed);
    }
}

static void errors_name_their_location(void **state)
{
    (void)state;
    static const struct {
        const char *text, *set;
        const char *says[3];
    } cases[] = {
        { "[launch]\ncommand = true\n", NULL, { "exp.ini", "[campaign] name" } },
        { "[campaign]\nname = a b\n[launch]\ncommand = true\n", NULL, { "exp.ini:2", "a b" } },
        { "[campaign]\nname = demo\nrepeat = 3\n", NULL, { "exp.ini:3", "repeat", "did you mean repeats?" } },
        { "[campain]\nname = demo\n", NULL, { "exp.ini:", "[campain]", "did you mean [campaign]?" } },
        { NAME "repeats = many\n", NULL, { "exp.ini:3", "many", "whole number" } },
        { NAME "repeats = 0\n", NULL, { "exp.ini:3", "repeats = 0" } },
        { NAME "order = rand\n", NULL, { "exp.ini:3", "rand", "sequential" } },
        { NAME "[sweep]\nworkers =\n", NULL, { "exp.ini:4", "workers", "empty" } },
        { NAME "[sweep]\nworkers = 1,x\n", NULL, { "exp.ini:4", "1,x" } },
        { NAME "[sweep]\nworkers = 1,0\n", NULL, { "exp.ini:4", "1,0" } },
        { NAME "[sweep]\nworkers = 1,2,1\n[launch]\ncommand = j {workers}\n",
          NULL,
          { "exp.ini:4", "1 is listed twice" } },
        { NAME "[sweep]\nworker = 1,2\n[launch]\ncommand = j\n", NULL, { "exp.ini:4", "did you mean workers?" } },
        { NAME "[sweep]\nlr = 1\n[launch]\ncommand = j\n", NULL, { "exp.ini:4", "{lr} does not occur" } },
        { NAME "[launch]\ncommand = j\n[measure]\nrate_hz = 5\nepoch_regex = Epoch (\n",
          NULL,
          { "exp.ini:7", "[measure] epoch_regex 'Epoch ('", "Unmatched" } },
        { NAME "[launch]\ncommand = j\n[measure]\nstep_regex = s\nstep_fields = loss=2\n",
          NULL,
          { "exp.ini:7", "[measure] step_fields", "0 groups" } },
        { NAME "[launch]\ncommand = j\n", "measure.epoch_regex=(", { "--set", "Unmatched" } },
        { NAME "[launch]\ncommand = j\n[measure]\nprice = .3\ncountry = ZZ\n",
          NULL,
          { "exp.ini:7: [measure] country: 'ZZ' is not in the table" } },
        { NAME "[measure]\ncarbon = 380\n[launch]\ncommand = j\n",
          NULL,
          { "exp.ini:4: [measure] carbon: needs carbon_source" } },
        { NAME "[measure]\ncarbon_range = 3,1\ncarbon_source = x\ncarbon = 2\n[launch]\ncommand = j\n",
          NULL,
          { "exp.ini:4: [measure] carbon_range: expected LOW,HIGH" } },
        { NAME "[measure]\npue = .5\n[launch]\ncommand = j\n", NULL, { "exp.ini:4", "pue = .5", "1 to 10" } },
        { NAME "[measure]\nprice = -1\n[launch]\ncommand = j\n", NULL, { "exp.ini:4", "price = -1" } },
        { NAME "[measure]\nrules = mlpref\n[launch]\ncommand = j\n", NULL, { "exp.ini:4", "mlpref", "mlperf" } },
        { NAME "[measure]\ncarbon_csv = /no/such.csv\n[launch]\ncommand = j\n",
          NULL,
          { "exp.ini:4: [measure] carbon_csv: /no/such.csv" } },
        { NAME "[launch]\ncommand = j\n", "measure.country=ZZ", { "--set: [measure] country: 'ZZ'" } },
        { NAME "[sweep]\nworkload = resnet50\nlocal_batch = 8\nepochs = 1\nprecision = f32,f64\n",
          NULL,
          { "exp.ini:7", "precision = 'f64'", "expected one of f32|tf32|bf16|f16" } },
        { NAME "[sweep]\nworkload = resnet50\nlocal_batch = 8\nepochs = 1\nhardware = a\n",
          NULL,
          { "exp.ini:7", "hardware: wattlaw has a column of this name" } },
        { NAME "[sweep]\nprecison = f32\n[launch]\ncommand = j\n", NULL, { "exp.ini:4", "did you mean precision?" } },
        { NAME "[sweep]\nprecision = f32,bf16\n[launch]\ncommand = j\n",
          NULL,
          { "exp.ini:4: [sweep] precision: {precision} does not occur in [launch] command" } },
        { NAME "[sweep]\nlr = ,\n[launch]\ncommand = j {lr}\n", NULL, { "exp.ini:4", "list of values" } },
        { NAME "[sweep]\ndata = 1\n[launch]\ncommand = j {data}\n", NULL, { "exp.ini:4", "already has a meaning" } },
        { NAME "[sweep]\nmy key = 1\n[launch]\ncommand = j\n", NULL, { "exp.ini:4", "letters, digits and _" } },
        { NAME "[sweep]\nworkers = 1,2\n[launch]\ncommand = j\n", NULL, { "exp.ini:4", "{workers} does not occur" } },
        { NAME "[launch]\ncommand = j {wrokers}\n", NULL, { "exp.ini:4", "{wrokers}", "did you mean {workers}?" } },
        { NAME "[launch]\ncommand = j {epochs}\n", NULL, { "exp.ini:4", "{epochs} has no value", "[sweep] epochs" } },
        { NAME "[launch]\ncommand = j {data}\n", NULL, { "exp.ini:4", "{data} has no value", "[data] path" } },
        { NAME "[launch]\ncommand = j {local_batch}\n", NULL, { "exp.ini:4", "local_batch or global_batch" } },
        { NAME "[launch]\ncommand = awk '{ print }'\n", NULL, { "exp.ini:4", "write {{ and }}" } },
        { NAME "[launch]\ncommand = a | b\n", NULL, { "exp.ini:4", "'|' needs a shell", "sh -c" } },
        { NAME "[launch]\ncommand = 'a\n", NULL, { "exp.ini:4", "quote" } },
        { NAME "[launch]\ncommand = x{mpirun}\n", NULL, { "exp.ini:4", "part of a word" } },
        { NAME "[launch]\ncommand = j\nenv = NOVALUE\n", NULL, { "exp.ini:5", "NOVALUE", "NAME=value" } },
        { NAME "[launch]\nargs = x\n", NULL, { "exp.ini", "command is missing" } },
        { NAME "scaling = weak\n[launch]\ncommand = j\n", NULL, { "exp.ini:3", "weak", "[data] samples" } },
        { NAME "[data]\nprepare = make {data}\n[launch]\ncommand = j\n", NULL, { "exp.ini:4", "needs [data] path" } },
        { NAME "[data]\npath = d\nprepare = make\n[launch]\ncommand = j\n", NULL, { "exp.ini:5", "must name {data}" } },
        { NAME "[data]\npath = d\nprepare = m {data} {workers}\n[launch]\ncommand = j\n",
          NULL,
          { "exp.ini:5", "{workers}" } },
        { NAME "[launch]\ncommand = j\n", "launch.comand=x", { "--set launch.comand=x", "did you mean command?" } },
        { NAME "[launch]\ncommand = j\n", "lunch.command=x", { "--set", "did you mean 'launch'?" } },
        { NAME "[launch]\ncommand = j\n", "repeats", { "--set repeats", "section.key=value" } },
        { NAME "[launch]\ncommand = j\n", "sweep.workers=0", { "--set", "workers = 0" } },
    };
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        e = (struct wl_err) { 0 };
        if (parse_with(cases[i].text, cases[i].set) != WL_EINVAL) fail_msg("accepted: %s", cases[i].text);
        for (size_t k = 0; k < WL_COUNT(cases[i].says) && cases[i].says[k]; k++)
            if (!strstr(e.msg, cases[i].says[k])) fail_msg("'%s' is not in the message: %s", cases[i].says[k], e.msg);
    }
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    assert_int_equal(wl_experiment_read("/no/such.ini", NULL, &x, a, &e), WL_ENOENT);
    assert_non_null(strstr(e.msg, "/no/such.ini"));
}

static struct wl_trial trial_of(size_t i)
{
    struct wl_machine here = { .cores = 64 };
    struct wl_grid g;
    assert_int_equal(wl_grid_make(&x, &here, &g, a, &e), 0);
    assert_true(i < g.n_trials);
    return g.trials[i];
}

static const char *command_of(size_t i, int64_t repeat)
{
    struct wl_strs argv;
    struct wl_trial t = trial_of(i);
    if (wl_trial_command(&x, &t, repeat, "/runs/7", &argv, a, &e) < 0) fail_msg("%s", e.msg);
    wl_strs_add(a, &argv, "");
    argv.v[argv.n - 1] = NULL;
    return wl_shell_quote(a, argv.v);
}

static void placeholders_are_filled_word_by_word(void **state)
{
    (void)state;
    assert_int_equal(parse(NAME "seed = 10\n[sweep]\nworkers = 1,2\nlocal_batch = 8\nmode = a b, c\n"
                                "[data]\npath = /my data\n"
                                "[launch]\ncommand = job '{{x}}' -n{workers} -d{data} {mode} {global_batch} {seed}\n"
                                "args = {run_dir} {repeat}\n"),
                     0);
    assert_string_equal(command_of(1, 3), "job '{x}' -n2 '-d/my data' 'a b' 16 12 /runs/7 3");
    assert_string_equal(command_of(2, 1), "job '{x}' -n1 '-d/my data' c 8 10 /runs/7 1");
}

static void mpirun_is_only_used_for_several_workers(void **state)
{
    (void)state;
    assert_int_equal(parse(NAME "[sweep]\nworkers = 1,4\n[launch]\ncommand = {mpirun} job\n"), 0);
    assert_string_equal(command_of(0, 1), "job");
    assert_string_equal(command_of(1, 1), "mpirun -np 4 job");
}

static void reference_workloads_have_a_default_command(void **state)
{
    (void)state;
    assert_int_equal(parse(NAME "[sweep]\nworkload = resnet50\nworkers = 1,2\nlocal_batch = 8\nepochs = 4\n"
                                "[data]\npath = d\nsamples = 100\n[launch]\nargs = --size tiny\n"),
                     0);
    assert_string_equal(
        x.launch.command,
        "{train} {workload} --workers {workers} --data {data} --epochs {epochs} --local-batch {local_batch} "
        "--accumulation {accumulation} --threads {threads} --pin --seed {seed} --train-samples {samples}");
}

static void a_choice_of_the_table_becomes_an_option_of_the_default_command(void **state)
{
    (void)state;
    assert_int_equal(parse(NAME "[sweep]\nworkload = resnet50\nlocal_batch = 8\nepochs = 1\nprecision = f32, bf16\n"),
                     0);
    assert_non_null(strstr(x.launch.command, " --precision {precision}"));
    assert_null(strstr(x.launch.command, "--recompute"));
    assert_int_equal(x.n_user, 1);
    assert_int_equal(parse(NAME "[sweep]\nprecision = f32\n[launch]\ncommand = job {precision}\n"), 0);
    assert_string_equal(x.launch.command, "job {precision}");
    assert_int_equal(parse(NAME "[sweep]\nprecision = fp16, amp\n[launch]\ncommand = job {precision}\n"), 0);
}

/* Before a choice had an option of the default command, an experiment gave it in args: its command is still the same.
 */
static void a_choice_that_args_give_is_not_given_twice(void **state)
{
    (void)state;
    assert_int_equal(parse(NAME "[sweep]\nworkload = resnet50\nlocal_batch = 8\nepochs = 1\nprecision = f32, bf16\n"
                                "recompute = yes, no\n[launch]\nargs = --size tiny --precision {precision}\n"),
                     0);
    assert_null(strstr(x.launch.command, "--precision"));
    assert_non_null(strstr(x.launch.command, " --recompute {recompute}"));
}

static void an_axis_cannot_have_the_name_of_an_observation(void **state)
{
    static const char *const names[] = { "hardware",
                                         "time_s",
                                         "energy_j",
                                         "run",
                                         "epoch",
                                         "metric",
                                         "metric_value",
                                         "estimated",
                                         "simulated",
                                         "updates",
                                         "energy_lo_j",
                                         "idle_j",
                                         "extra",
                                         "begin_temperature_c",
                                         "power_capped_pct",
                                         "achieved_clock_mhz",
                                         "metric_unit",
                                         "power_cap_acted_pct",
                                         "power_w",
                                         "carbon_g_per_kwh" };
    (void)state;
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        const char *text = wl_strf(a, NAME "[sweep]\n%s = 1, 2\n[launch]\ncommand = job {%s}\n", names[i], names[i]);
        if (parse(text) == 0) fail_msg("%s is an axis", names[i]);
        assert_non_null(strstr(e.msg, wl_strf(a, "[sweep] %s: wattlaw has a column of this name", names[i])));
    }
    assert_int_equal(parse(NAME "[sweep]\nlr = 1, 2\nprecision = a, b\n[launch]\ncommand = job {lr} {precision}\n"), 0);
}

/* The key reference and the option rows have the same keys. */
static void the_reference_names_every_key(void **state)
{
    (void)state;
    char *guide;
    assert_int_equal(wl_file_read(GUIDE, 1 << 24, &guide, NULL, a, &e), 0);
    for (const struct wl_experiment_section *s = wl_experiment_sections(); s->name; s++)
        for (const struct wl_opt *o = s->rows; o->name; o++) {
            char *key = wl_strf(a, "| `%s` |", o->name);
            for (char *c = key; *c; c++)
                if (*c == '-') *c = '_';
            if (!strstr(guide, key)) fail_msg("docs/reference/experiment-keys.md does not name [%s] %s", s->name, key);
        }
    for (const struct wl_setting *r = wl_settings_table; r->name; r++)
        if (r->type == WL_SETTING_CHOICE && !strstr(guide, wl_strf(a, "| `%s` |", r->name)))
            fail_msg("docs/reference/experiment-keys.md does not name [sweep] %s", r->name);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(defaults_are_filled_in),
        TEST(lists_and_user_axes_are_read),
        TEST(set_overrides_the_file),
        TEST(the_expanded_text_parses_to_the_same_experiment),
        TEST(lists_and_limits_may_change_but_the_command_may_not),
        TEST(errors_name_their_location),
        TEST(a_missing_file_is_named),
        TEST(placeholders_are_filled_word_by_word),
        TEST(mpirun_is_only_used_for_several_workers),
        TEST(reference_workloads_have_a_default_command),
        TEST(a_choice_of_the_table_becomes_an_option_of_the_default_command),
        TEST(a_choice_that_args_give_is_not_given_twice),
        TEST(an_axis_cannot_have_the_name_of_an_observation),
        TEST(the_reference_names_every_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
