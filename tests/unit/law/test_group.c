/* Which rows belong to one law, for the usual ways to scale. */
#include "table.h"

#include "law/fit/notes.h"

static const struct wl_law_options usual = { .drop_epochs = 1 };

enum { MOST = 64 };

/* Workers 1, 2, 4 with either batch size fixed. */
static size_t series(struct row *rows, const char *workload, bool fixed_global, double batch, double cap)
{
    size_t n = 0;
    for (double workers = 1; workers <= 4; workers *= 2, n++) {
        rows[n] = (struct row) {
            .workload = workload, .run = "1", .workers = workers, .time_s = 9 / workers, .power_cap_w = cap
        };
        rows[n].local_batch = fixed_global ? batch / workers : batch;
        rows[n].global_batch = fixed_global ? batch : batch * workers;
    }
    return n;
}

static void titles(const struct wl_law_result *r, struct wl_arena *a, const char *want)
{
    struct wl_text got = WL_TEXT(a);
    for (size_t i = 0; i < r->n; i++) wl_text_addf(&got, "%s%s", i ? " | " : "", r->groups[i].title);
    assert_string_equal(got.s, want);
}

static void fixed_global_batch_separates(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[MOST];
    size_t n = series(rows, "net", true, 256, 0);
    n += series(rows + n, "net", true, 512, 0);
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    titles(&r, a, "net, global_batch 256 | net, global_batch 512");
    assert_int_equal(r.groups[0].n_configs, 3);
    wl_arena_free(a);
}

static void fixed_local_batch_separates(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[MOST];
    size_t n = series(rows, "net", false, 16, 0);
    n += series(rows + n, "net", false, 32, 0);
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    titles(&r, a, "net, local_batch 16 | net, local_batch 32");
    wl_arena_free(a);
}

static void each_workload_may_fix_another_batch(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[MOST];
    size_t n = series(rows, "bert", false, 8, 0);
    n += series(rows + n, "vgg16", true, 64, 0);
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    titles(&r, a, "bert, local_batch 8 | vgg16, global_batch 64");
    wl_arena_free(a);
}

static void caps_separate_even_on_other_worker_counts(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[MOST];
    size_t n = series(rows, "net", false, 8, 250);
    n += series(rows + n, "net", false, 8, 100);
    for (size_t i = 3; i < 6; i++) rows[i].workers *= 64;
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    titles(&r, a, "net, power_cap_w 100, local_batch 8 | net, power_cap_w 250, local_batch 8");
    wl_arena_free(a);
}

static void accumulation_separates_at_one_worker_count(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[MOST];
    size_t n = series(rows, "net", false, 8, 0);
    n += series(rows + n, "net", false, 8, 0);
    for (size_t i = 3; i < 6; i++) rows[i].global_batch *= 4;
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    titles(&r, a, "net, local_batch 8, accumulation 1 | net, local_batch 8, accumulation 4");
    wl_arena_free(a);
}

/* Both batches fixed: accumulation shrinks as workers grow, and that is one series. */
static void accumulation_that_follows_workers_does_not_separate(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[MOST];
    size_t n = series(rows, "net", false, 8, 0);
    for (size_t i = 0; i < n; i++) rows[i].global_batch = 32;
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    titles(&r, a, "net, local_batch 8");
    wl_arena_free(a);
}

/* threads = 1, 2 at each worker count; precision changes only with the workers. */
static void settings_of_a_campaign_separate(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[MOST];
    size_t n = series(rows, "net", false, 8, 0);
    n += series(rows + n, "net", false, 8, 0);
    struct wl_observations obs = table_of(rows, n, a);
    const char *threads[] = { "1", "1", "1", "2", "2", "2" }, *placement[] = { "a", "b", "c", "a", "b", "c" };
    wl_obs_add_extra(&obs, "threads", threads, a);
    wl_obs_add_extra(&obs, "placement", placement, a);
    for (size_t c = 0; c < 2; c++) obs.extra[c].setting = true;
    struct wl_law_result r;
    struct wl_err e;
    assert_int_equal(wl_law_fit(&obs, &usual, &r, a, &e), 0);
    titles(&r, a, "net, local_batch 8, threads 1 | net, local_batch 8, threads 2");
    obs.extra[0].setting = false; /* an unknown column of a CSV may be anything */
    assert_int_equal(wl_law_fit(&obs, &usual, &r, a, &e), 0);
    titles(&r, a, "net, local_batch 8");
    wl_arena_free(a);
}

/* The groups of three series that differ in one setting of a campaign; of a NULL it is unknown. */
static void titles_of(const char *setting, const char *first, const char *second, const char *third, const char *want)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[MOST];
    const char *texts[] = { first, first, first, second, second, second, third, third, third };
    size_t n = 0;
    for (int i = 0; i < 3; i++) n += series(rows + n, "net", false, 8, 0);
    struct wl_observations obs = table_of(rows, n, a);
    wl_obs_add_extra(&obs, setting, texts, a);
    obs.extra[0].setting = true;
    struct wl_law_result r;
    struct wl_err e;
    assert_int_equal(wl_law_fit(&obs, &usual, &r, a, &e), 0);
    titles(&r, a, want);
    wl_arena_free(a);
}

/* The precision of runs of an older version is unknown. They join the only known one; of two it could be either. */
static void runs_of_an_unknown_choice_join_the_only_known_one(void **state)
{
    (void)state;
    titles_of("precision", NULL, "f32", "f32", "net, local_batch 8");
    titles_of("precision", "f32", "bf16", "f32",
              "net, precision bf16, local_batch 8 | net, precision f32, local_batch 8");
    titles_of("precision", NULL, "f32", "bf16",
              "net, precision bf16, local_batch 8 | net, precision f32, local_batch 8 | "
              "net, precision unknown, local_batch 8");
}

/* Which of the columns that a table has beyond the canonical ones separate, and how, is said by the table of settings.
 */
static void a_setting_separates_as_its_group_says(void **state)
{
    (void)state;
    titles_of("epochs", "10", "20", "20", "net, local_batch 8");
    titles_of("accumulation", "1", "2", "2", "net, local_batch 8, accumulation 1 | net, local_batch 8, accumulation 2");
    titles_of("threads", "1", "2", "2", "net, local_batch 8, threads 1 | net, local_batch 8, threads 2");
    titles_of("module_cap_w", "600", NULL, NULL,
              "net, module_cap_w 600, local_batch 8 | net, module_cap_w unknown, local_batch 8");
    titles_of("recompute", "no", "yes", "yes", "net, recompute no, local_batch 8 | net, recompute yes, local_batch 8");
}

static void by_names_the_columns(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[MOST];
    size_t n = series(rows, "net", false, 8, 250);
    n += series(rows + n, "net", false, 8, 0);
    struct wl_law_options options = { .drop_epochs = 1, .by = wl_str_split(a, "power_cap_w", ',') };
    struct wl_law_result r = fit_rows(rows, n, options, a);
    titles(&r, a, "power_cap_w 250 | power_cap_w unknown");
    wl_arena_free(a);
}

static void series_that_are_not_comparable_are_noted(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[MOST];
    size_t n = series(rows, "net", false, 8, 0);
    for (size_t i = 0; i < n; i++) rows[i].samples = i == 1 ? 1000 : 640;
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    assert_int_equal(only_group(&r)->scaling, WL_SCALING_MIXED);
    assert_note(r.groups, "separate the series with --by");
    wl_arena_free(a);
}

/* Two series of one batch size: epochs of 640 and 1280 samples, and of 640 and 1280 a worker. */
static void unlike_work_at_one_worker_count_separates(void **state)
{
    (void)state;
    for (int weak = 0; weak < 2; weak++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct row rows[MOST];
        size_t n = series(rows, "net", false, 8, 0);
        n += series(rows + n, "net", false, 8, 0);
        for (size_t i = 0; i < n; i++) {
            rows[i].run = i < 3 ? "1" : "2";
            rows[i].samples = (i < 3 ? 640 : 1280) * (weak ? rows[i].workers : 1) - (i == 1 ? 8 : 0);
        }
        struct wl_law_result r = fit_rows(rows, n, usual, a);
        titles(&r, a,
               weak ? "net, local_batch 8, samples_per_worker 636 | net, local_batch 8, samples_per_worker 1280"
                    : "net, local_batch 8, samples 632 | net, local_batch 8, samples 1280");
        assert_int_equal(r.groups[0].n_configs, 3);
        assert_int_equal(r.groups[0].scaling, weak ? WL_SCALING_WEAK : WL_SCALING_STRONG);
        assert_note(r.groups, "runs of one worker count differ in the work of their epochs");
        wl_arena_free(a);
    }
}

/* Epochs of a run and its total are one run; a column that the user named replaces the rule. */
static void totals_do_not_separate_and_by_replaces(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[MOST];
    size_t n = series(rows, "net", false, 8, 0);
    for (size_t i = 0; i < n; i++) rows[i].epoch = 1, rows[i].samples = 640;
    n += series(rows + n, "net", false, 8, 0);
    for (size_t i = 3; i < n; i++) rows[i].samples = 6400;
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    titles(&r, a, "net, local_batch 8");
    for (size_t i = 3; i < n; i++) rows[i].run = "2";
    r = fit_rows(rows, n, usual, a);
    assert_int_equal(r.n, 2);
    struct wl_law_options by = usual;
    wl_strs_add(a, &by.by, "workload");
    r = fit_rows(rows, n, by, a);
    assert_int_equal(only_group(&r)->scaling, WL_SCALING_MIXED);
    wl_arena_free(a);
}

static void runs_for_another_metric_separate(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[MOST];
    size_t n = series(rows, "net", false, 8, 0);
    n += series(rows + n, "net", false, 8, 0);
    for (size_t i = 3; i < n; i++) rows[i].run = "2";
    struct wl_observations obs = table_of(rows, n, a);
    struct wl_law_result r;
    struct wl_err e;
    for (size_t i = 0; i < n; i++) obs.metric[i] = i < 3 ? "loss" : "top1";
    assert_int_equal(wl_law_fit(&obs, &usual, &r, a, &e), 0);
    titles(&r, a, "net, local_batch 8, metric loss | net, local_batch 8, metric top1");
    obs.metric_value[2] = 0.1;
    assert_int_equal(wl_law_fit(&obs, &usual, &r, a, &e), 0);
    titles(&r, a, "net, local_batch 8");
    obs.metric_value[2] = NAN;
    for (size_t i = 3; i < n; i++) obs.metric[i] = NULL;
    assert_int_equal(wl_law_fit(&obs, &usual, &r, a, &e), 0);
    titles(&r, a, "net, local_batch 8");
    wl_arena_free(a);
}

/* One run that is in the table under two labels. */
static void a_copied_run_is_named_and_left_out(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[MOST];
    size_t n = series(rows, "net", false, 8, 0);
    n += series(rows + n, "net", false, 8, 0);
    for (size_t i = 0; i < n; i++) rows[i].run = i < 3 ? "a" : "b", rows[i].energy_j = 100 + (double)i;
    rows[4] = rows[1];
    rows[4].run = "b";
    rows[5].time_s *= 1.01;
    struct wl_law_result r = fit_rows(rows, n, usual, a);
    assert_int_equal(only_group(&r)->n_runs, 5);
    assert_note(r.groups, "run b at N = 2 repeats run a: same settings, time and energy");
    assert_int_equal(r.counts.used, 5);
    rows[4].energy_j += 1;
    r = fit_rows(rows, n, usual, a);
    assert_int_equal(only_group(&r)->n_runs, 6);
    wl_arena_free(a);
}

/* A note names ten runs and counts the others. */
static void labels_in_notes_are_cut_at_ten(void **state)
{
    enum { RUNS = 400, FAR = 14 };
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row *rows = wl_new_array(a, struct row, RUNS);
    for (size_t i = 0; i < RUNS; i++) {
        const double workers = (double)(1 << i % 4);
        rows[i] = (struct row) { .run = wl_strf(a, "%zu", i), .workers = workers };
        rows[i].time_s = 100 / workers * exp(0.001 * wl_random_normal(3, 0, i) + (i < 4 * FAR && i % 4 == 3 ? 0.5 : 0));
    }
    struct wl_law_result r = fit_rows(rows, RUNS, usual, a);
    const struct wl_law_group *g = only_group(&r);
    size_t named = 0;
    for (size_t i = 0; i < g->notes.n; i++) named += strstr(g->notes.v[i], " is an outlier: ") != NULL;
    assert_int_equal(named, WL_LAW_NAMED_RUNS);
    assert_note(g, "4 more runs are outliers");
    assert_note(g, " and 4 more");
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_global_batch_separates),
        cmocka_unit_test(fixed_local_batch_separates),
        cmocka_unit_test(each_workload_may_fix_another_batch),
        cmocka_unit_test(caps_separate_even_on_other_worker_counts),
        cmocka_unit_test(accumulation_separates_at_one_worker_count),
        cmocka_unit_test(accumulation_that_follows_workers_does_not_separate),
        cmocka_unit_test(settings_of_a_campaign_separate),
        cmocka_unit_test(runs_of_an_unknown_choice_join_the_only_known_one),
        cmocka_unit_test(a_setting_separates_as_its_group_says),
        cmocka_unit_test(by_names_the_columns),
        cmocka_unit_test(series_that_are_not_comparable_are_noted),
        cmocka_unit_test(unlike_work_at_one_worker_count_separates),
        cmocka_unit_test(totals_do_not_separate_and_by_replaces),
        cmocka_unit_test(runs_for_another_metric_separate),
        cmocka_unit_test(a_copied_run_is_named_and_left_out),
        cmocka_unit_test(labels_in_notes_are_cut_at_ten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
