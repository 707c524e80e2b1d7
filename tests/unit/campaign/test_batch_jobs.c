/* How the jobs of a campaign are made: arrays of equal ones, their time limits, and what Slurm says of them. */
#include "campaign/batch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct wl_arena *a;

static int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wl_arena_free(a);
    return 0;
}

/* ---- arrays ---- */

static void the_key_array(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "1", "0", "-3", "many", "2.5", "YES" };
    int64_t most;
    assert_true(wl_batch_array_parse("no", &most));
    assert_int_equal(most, 0);
    assert_true(wl_batch_array_parse("yes", &most));
    assert_int_equal(most, INT64_MAX);
    assert_true(wl_batch_array_parse("50", &most));
    assert_int_equal(most, 50);
    for (size_t i = 0; i < WL_COUNT(bad); i++)
        if (wl_batch_array_parse(bad[i], &most)) fail_msg("array = '%s' was accepted", bad[i]);
}

static void equal_jobs_of_a_repeat_are_an_array(void **state)
{
    (void)state;
    const struct wl_batch_item v[] = { { 1, "2 nodes", 600 }, { 1, "1 node", 600 },   { 1, "2 nodes", 900 },
                                       { 1, "1 node", 0 },    { 1, "2 nodes", 2400 }, { 2, "2 nodes", 600 },
                                       { 1, "1 node", 0 },    { 2, "2 nodes", 600 } };
    const size_t expected[] = { 0, 1, 0, 2, 3, 4, 2, 4 };
    size_t group[WL_COUNT(v)];
    assert_int_equal(wl_batch_array_split(v, WL_COUNT(v), 100, group, a), 5);
    assert_memory_equal(group, expected, sizeof group);
}

/* MaxArraySize 100 and 250 equal jobs among others. */
static void large_sets_are_split(void **state)
{
    (void)state;
    enum { N = 500 };
    static struct wl_batch_item v[N];
    static size_t group[N];
    size_t in[8] = { 0 };
    for (size_t i = 0; i < N; i++) v[i] = (struct wl_batch_item) { 1, i % 2 ? "odd" : "even", 600 };
    assert_int_equal(wl_batch_array_split(v, N, 100, group, a), 6);
    for (size_t i = 0; i < N; i++) {
        assert_true(group[i] < 6);
        in[group[i]]++;
        if (i >= 2) assert_true(group[i] >= group[i - 2]); /* the order of the plan */
    }
    for (size_t g = 0; g < 6; g++) assert_int_equal(in[g], g < 4 ? 100 : 50);
}

/* A drift must not look like scaling: arrays keep the order of repeats, and each repeat its own order of sizes. */
static void arrays_keep_the_order_of_repeats(void **state)
{
    (void)state;
    enum { SIZES = 4, BATCHES = 5, REPEATS = 6, N = SIZES * BATCHES * REPEATS };
    struct wl_err e;
    struct wl_experiment x;
    struct wl_grid g;
    struct wl_batch_item v[N];
    size_t group[N], first[N] = { 0 }, orders = 0;
    const char *const text = "[campaign]\nname = c\nrepeats = 6\n[sweep]\nworkers = 1,2,4,8\nlocal_batch = 1,2,3,4,5\n"
                             "[launch]\nlauncher = slurm\narray = yes\ncommand = toy {workers} {local_batch}\n";
    const struct wl_machine elsewhere = { 0 };
    assert_int_equal(wl_experiment_parse("c.ini", text, NULL, &x, a, &e), 0);
    assert_int_equal(wl_grid_make(&x, &elsewhere, &g, a, &e), 0);
    assert_int_equal(g.n_runs, N);
    for (size_t i = 0; i < N; i++) {
        struct wl_batch_request r = {
            .x = &x, .trial = &g.trials[g.runs[i].trial], .nodes = 1, .name = "n", .output = "o"
        };
        v[i] = (struct wl_batch_item) { g.runs[i].repeat, wl_batch_needs(&wl_batch_slurm, &r, a), 600 };
    }
    const size_t groups = wl_batch_array_split(v, N, 100, group, a);
    assert_int_equal(groups, SIZES * REPEATS);
    for (size_t i = N; i-- > 0;) first[group[i]] = i;
    for (size_t k = 0; k < groups; k++) assert_int_equal(v[first[k]].repeat, k / SIZES + 1);
    for (size_t r = 1; r < REPEATS; r++) {
        bool same = true;
        for (size_t k = 0; k < SIZES; k++)
            same &= wl_str_eq(v[first[r * SIZES + k]].needs, v[first[(r - 1) * SIZES + k]].needs);
        orders += !same;
    }
    assert_true(orders >= REPEATS - 2); /* of 24 orders, drawn from the seed */
}

static void tasks_have_numbers(void **state)
{
    (void)state;
    assert_string_equal(wl_batch_task("5c1f0e8a9b3d_3"), "3");
    assert_string_equal(wl_batch_task("4711_12"), "12");
    assert_null(wl_batch_task("4711"));
    assert_null(wl_batch_task(NULL));
}

static void an_array_asks_for_its_tasks(void **state)
{
    (void)state;
    struct wl_experiment x = { .launch.batch = { .signal_before_s = 119.5 } };
    const struct wl_trial t = { .workers = 1, .threads = 1 };
    const struct wl_batch_request r = {
        .x = &x, .trial = &t, .name = "n", .output = "o", .nodes = 1, .tasks = "0-9%4"
    };
    const char *text = wl_batch_slurm.directives(&r, a);
    assert_non_null(strstr(text, "#SBATCH --array=0-9%4\n"));
    assert_non_null(strstr(text, "#SBATCH --signal=B:USR1@120\n"));
}

/* The command would be warned as soon as it starts. */
static void a_signal_after_the_start(void **state)
{
    (void)state;
    const char *const text = "[campaign]\nname = c\n[launch]\nlauncher = slurm\ncommand = toy\ntime_limit = 2m\n"
                             "signal_before = ";
    struct wl_experiment x;
    struct wl_err e;
    assert_int_equal(wl_experiment_parse("c.ini", wl_strf(a, "%s119s", text), NULL, &x, a, &e), 0);
    assert_int_equal(wl_experiment_parse("c.ini", wl_strf(a, "%s2m", text), NULL, &x, a, &e), WL_EINVAL);
    assert_string_equal(e.msg, "c.ini:7: [launch] signal_before = 120 s: expected less than time_limit, 120 s");
}

/* ---- time limits ---- */

static void the_law_of_the_durations(void **state)
{
    (void)state;
    struct wl_batch_took v[12];
    size_t n = 0;
    for (int w = 1; w <= 8; w *= 2)
        for (int b = 16; b <= 64; b *= 2) v[n++] = (struct wl_batch_took) { w, b, 1000 * pow(w, -0.8) * pow(b, -0.3) };
    assert_float_equal(wl_batch_law_s(v, n, 4, 32, a), 1000 * pow(4, -0.8) * pow(32, -0.3), 1e-6);
    assert_float_equal(wl_batch_law_s(v, n, 3, 50, a), 1000 * pow(3, -0.8) * pow(50, -0.3), 1e-6);
    assert_true(isnan(wl_batch_law_s(v, n, 16, 32, a))); /* beyond what was measured */
    assert_true(isnan(wl_batch_law_s(v, n, 4, 8, a)));
    assert_float_equal(wl_batch_law_s(v, 3, 1, 20, a), 1000 * pow(20, -0.3), 1e-6); /* of the batch alone */
}

static void too_few_points_are_no_law(void **state)
{
    (void)state;
    const struct wl_batch_took v[] = { { 1, NAN, 100 }, { 4, NAN, 30 }, { 4, NAN, 31 }, { 2, NAN, 55 } };
    assert_true(isnan(wl_batch_law_s(v, 0, 1, NAN, a)));
    assert_true(isnan(wl_batch_law_s(v, 1, 1, NAN, a)));
    assert_true(isnan(wl_batch_law_s(v, 3, 2, NAN, a))); /* two settings, whatever their repeats */
    const double s = wl_batch_law_s(v, 4, 2, NAN, a);
    assert_true(s > 50 && s < 60);
    const struct wl_batch_took diagonal[] = { { 1, 16, 9 }, { 2, 32, 8 }, { 4, 64, 7 }, { 8, 128, 6 } };
    assert_true(isnan(wl_batch_law_s(diagonal, 4, 2, 32, a))); /* workers and batch cannot be separated */
}

/* A queue with the runs of four trials of 2, 4, 8 and 16 workers. */
static struct wl_batch_queue queue_of(struct wl_experiment *x, const struct wl_batch_site *site)
{
    struct wl_sweep *s = wl_new(a, struct wl_sweep);
    s->x = x;
    struct wl_batch_queue q = { .s = s, .site = site };
    q.trials = (struct wl_trial_rows) { .v = wl_new_array(a, struct wl_trial_row, 4), .n = 4 };
    q.runs = (struct wl_run_rows) { .v = wl_new_array(a, struct wl_run_row, 4), .n = 4 };
    for (int i = 0; i < 4; i++) {
        q.trials.v[i] = (struct wl_trial_row) { .id = 10 + i, .set = wl_settings_none };
        q.trials.v[i].set.workers = 2 << i;
        q.runs.v[i] = (struct wl_run_row) { .id = 100 + i, .trial = 10 + i, .repeat = 1, .status = WL_RUN_PLANNED };
    }
    return q;
}

static void timed_out(struct wl_batch_queue *q, double limit_s)
{
    q->submissions = (struct wl_submission_rows) { .v = wl_new_array(a, struct wl_submission_row, 1), .n = 1 };
    q->submissions.v[0] = (struct wl_submission_row) { .run = 100, .outcome = "timeout", .time_limit_s = limit_s };
}

static struct wl_experiment experiment_of(double time_limit_s)
{
    return (struct wl_experiment) { .measure = { .idle_s = 10, .cooldown.below_c = NAN },
                                    .launch.batch = { .time_limit_s = time_limit_s, .time_margin = 2 } };
}

static struct wl_batch_limit limit_of(const struct wl_batch_queue *q, int64_t trial)
{
    return wl_batch_limit_of(wl_batch_limits_new(q, a), trial);
}

static void limits_are_predicted(void **state)
{
    (void)state;
    struct wl_experiment x = experiment_of(3600);
    struct wl_batch_queue q = queue_of(&x, NULL);
    assert_float_equal(limit_of(&q, 10).s, 3600, 0);
    assert_string_equal(limit_of(&q, 10).why, "the key time_limit");
    q.runs.v[0].status = WL_RUN_DONE;
    q.runs.v[0].time_s = 500;
    const struct wl_batch_limit own = limit_of(&q, 10);
    assert_float_equal(own.s, 2 * 500 + 120 + 2 * 10, 1e-9);
    assert_string_equal(own.why, "2 times 8m20s, the longest of 1 finished run of these settings, and 2m20s around it");
    assert_float_equal(limit_of(&q, 11).s, 3600, 0); /* no law of one setting */
    q.runs.v[1].status = q.runs.v[2].status = WL_RUN_DONE;
    q.runs.v[1].time_s = 250;
    q.runs.v[2].time_s = 140;
    const struct wl_batch_limit law = limit_of(&q, 11);
    assert_true(law.s > 2 * 250 + 140 && law.s < 2 * 300 + 140);
    assert_non_null(strstr(law.why, "the law of 3 finished runs"));
    x.launch.batch.time_margin = 0;
    assert_float_equal(limit_of(&q, 11).s, 3600, 0);
    x.launch.batch.time_margin = 2;
    x.launch.batch.time_limit_s = 0; /* the site's */
    assert_float_equal(limit_of(&q, 11).s, 0, 0);
    assert_null(limit_of(&q, 11).why);
}

/* What distinguishes runs otherwise than by workers and batch has a law of its own. */
static void other_settings_are_another_law(void **state)
{
    (void)state;
    struct wl_experiment x = experiment_of(3600);
    struct wl_batch_queue q = queue_of(&x, NULL);
    for (int i = 0; i < 4; i++) q.runs.v[i].status = WL_RUN_DONE, q.runs.v[i].time_s = 100;
    q.runs.v[1].status = WL_RUN_PLANNED;
    assert_true(limit_of(&q, 11).s < 3600);
    q.trials.v[1].set.power_cap_w = 150;
    assert_float_equal(limit_of(&q, 11).s, 3600, 0);
}

static void a_reached_limit_is_doubled_up_to_the_partitions(void **state)
{
    (void)state;
    struct wl_experiment x = experiment_of(600);
    struct wl_batch_site site = { .partition = "gpu", .time_limit_s = 3600, .default_limit_s = 1800 };
    struct wl_batch_queue q = queue_of(&x, &site);
    timed_out(&q, 900);
    assert_float_equal(limit_of(&q, 10).s, 1800, 0);
    assert_string_equal(limit_of(&q, 10).why, "2 times the limit of 15m00s, which was reached");
    assert_float_equal(limit_of(&q, 11).s, 600, 0);
    timed_out(&q, 2400);
    assert_float_equal(limit_of(&q, 10).s, 3600, 0);
    assert_non_null(strstr(limit_of(&q, 10).why, "the longest that partition gpu allows"));
    timed_out(&q, NAN); /* the site's default */
    x.launch.batch.time_limit_s = 0;
    site.default_limit_s = 1200;
    assert_float_equal(limit_of(&q, 10).s, 2400, 0);
    q.site = NULL;
    assert_float_equal(limit_of(&q, 10).s, 0, 0);
    x.launch.batch.time_limit_s = 7200;
    q.site = &site;
    q.submissions.n = 0;
    assert_float_equal(limit_of(&q, 12).s, 3600, 0);
}

/* ---- the words of Slurm ---- */

static void times_of_slurm(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double s;
    } times[] = {
        { "1:00", 60 },       { "30", 1800 },     { "2:03:04", 7384 }, { "1-00:00:00", 86400 }, { "3-12", 302400 },
        { "1-02:03", 93780 }, { "infinite", 0 },  { "n/a", 0 },        { "UNLIMITED", 0 },      { "", 0 },
        { "1:2:3:4", 0 },     { "x-1:00:00", 0 }, { "-1:00:00", 0 },   { "1:00 or so", 0 }
    };
    for (size_t i = 0; i < WL_COUNT(times); i++)
        if (wl_batch_slurm_time_s(times[i].text) != times[i].s)
            fail_msg("'%s': %g s, not %g s", times[i].text, wl_batch_slurm_time_s(times[i].text), times[i].s);
}

static void what_a_site_allows(void **state)
{
    (void)state;
    static const char lines[] =
        "main*|infinite|30:00\nshort|1:00|n/a\nshort|1:00|n/a\nlong|7-00:00:00|1:00:00\nshorter|30|n/a\n";
    struct wl_batch_site site = { 0 };
    wl_batch_slurm_read_config("MaxArraySize            = 100\nMaxJobCount             = 20000\n", &site, a);
    assert_int_equal(site.array_max, 100);
    wl_batch_slurm_read_config("MaxArraySize = 1001\nSchedulerParameters     = bf_interval=2,max_array_tasks=50,x\n",
                               &site, a);
    assert_int_equal(site.array_max, 50);
    wl_batch_slurm_read_partitions(wl_strdup(a, lines), NULL, &site, a);
    assert_string_equal(site.partition, "main");
    assert_true(site.time_limit_s == 0 && site.default_limit_s == 1800);
    wl_batch_slurm_read_partitions(wl_strdup(a, lines), "short", &site, a);
    assert_true(site.time_limit_s == 60 && site.default_limit_s == 0);
    wl_batch_slurm_read_partitions(wl_strdup(a, lines), "long,shorter", &site, a);
    assert_true(site.time_limit_s == 7 * 86400.0 && site.default_limit_s == 3600);
    wl_batch_slurm_read_partitions(wl_strdup(a, lines), "short,main", &site, a);
    assert_true(site.time_limit_s == 0);
    site = (struct wl_batch_site) { 0 };
    wl_batch_slurm_read_partitions(wl_strdup(a, lines), "nowhere", &site, a);
    assert_true(site.time_limit_s == 0 && !site.partition);
}

/* ---- nodes that fail ---- */

static void lists_of_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *list, *nodes;
    } lists[] = { { "n1", "n1" },
                  { "n[1-3]", "n1 n2 n3" },
                  { "n[08-10,12],login", "n08 n09 n10 n12 login" },
                  { "a[1,3]-ib,b2", "a1-ib a3-ib b2" },
                  { "", "" },
                  { "n[", "n[" },
                  { "n[]", "" },
                  { "n[x-y]", "" },
                  { "n[3-1]", "" },
                  { "n[99999999999]", "" } };
    for (size_t i = 0; i < WL_COUNT(lists); i++) {
        struct wl_strs nodes = wl_batch_nodes_expand(lists[i].list, a);
        const char *text = nodes.n ? wl_shell_quote(a, wl_strs_argv(&nodes, a)) : "";
        if (!wl_str_eq(text, lists[i].nodes) && !wl_str_eq(lists[i].list, "n["))
            fail_msg("'%s': '%s', not '%s'", lists[i].list, text, lists[i].nodes);
    }
    assert_int_equal(wl_batch_nodes_expand("n[1-999999999]", a).n, 100000);
}

static const char *failed(const char *const *ends, size_t n)
{
    struct wl_submission_rows rows = { .v = wl_new_array(a, struct wl_submission_row, n / 2), .n = n / 2 };
    for (size_t i = 0; i < n / 2; i++)
        rows.v[i] = (struct wl_submission_row) { .nodes = ends[2 * i], .why = ends[2 * i + 1] };
    return wl_batch_failed_nodes(&rows, a);
}

static void a_node_that_fails_twice_is_excluded(void **state)
{
    (void)state;
#define FAILED(...) failed((const char *const[]) { __VA_ARGS__ }, WL_COUNT(((const char *const[]) { __VA_ARGS__ })))
    assert_null(FAILED("n1", "NODE_FAIL"));
    assert_null(FAILED("n1", "NODE_FAIL", "n2", "NODE_FAIL"));
    assert_string_equal(FAILED("n1", "NODE_FAIL", "n1", "BOOT_FAIL", "n1", "NODE_FAIL"), "n1");
    assert_null(FAILED("n1", "FAILED", "n1", "TIMEOUT", "n1", "PREEMPTED"));
    assert_null(FAILED("n1", NULL, NULL, "NODE_FAIL"));
    assert_null(FAILED("n[1-4]", "NODE_FAIL", "n[1-4]", "NODE_FAIL")); /* any of the four */
    assert_string_equal(FAILED("n[1-4]", "NODE_FAIL", "n[4-7]", "NODE_FAIL"), "n4");
    assert_string_equal(FAILED("n[1-2]", "NODE_FAIL", "n2", "NODE_FAIL", "n[1,3]", "NODE_FAIL"), "n2,n1");
}

/* A program of Slurm in the PATH that prints this. */
static void stand_in(const char *name, const char *output, int status)
{
    const char *folder = wl_path_join(a, getenv("TMPDIR"), "slurm"), *path = wl_path_join(a, folder, name);
    const char *text = wl_strf(a, "#!/bin/sh\ncat <<'END'\n%s\nEND\nexit %d\n", output, status);
    struct wl_err e;
    assert_int_equal(wl_mkdirs(folder, &e), 0);
    assert_int_equal(wl_file_write(path, text, strlen(text), &e), 0);
    assert_int_equal(chmod(path, 0755), 0);
    setenv("PATH", wl_strf(a, "%s:/usr/bin:/bin", folder), 1);
}

static void states_of_slurm(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum wl_batch_state expected;
    } jobs[] = { { "PENDING|Priority|", WL_BATCH_WAITING },        { "RUNNING|None|n1", WL_BATCH_RUNNING },
                 { "COMPLETING|None|n1", WL_BATCH_RUNNING },       { "COMPLETED|None|n1", WL_BATCH_DONE },
                 { "FAILED|NonZeroExitCode|n1", WL_BATCH_FAILED }, { "OUT_OF_MEMORY|OutOfMemory|n1", WL_BATCH_FAILED },
                 { "TIMEOUT|TimeLimit|n1", WL_BATCH_TIMEOUT },     { "PREEMPTED|None|n1", WL_BATCH_LOST },
                 { "NODE_FAIL|NodeDown|n1", WL_BATCH_LOST },       { "BOOT_FAIL|None|n1", WL_BATCH_LOST },
                 { "REQUEUED|None|", WL_BATCH_WAITING },           { "REQUEUE_HOLD|JobHeldAdmin|", WL_BATCH_WAITING },
                 { "CANCELLED|None|n1", WL_BATCH_CANCELLED },      { "DEADLINE|DeadLine|", WL_BATCH_FAILED } };
    enum { N = WL_COUNT(jobs) };
    struct wl_batch_job v[N];
    struct wl_text t = WL_TEXT(a);
    struct wl_err e;
    for (size_t i = 0; i < N; i++) {
        v[i] = (struct wl_batch_job) { .id = wl_strf(a, "77_%zu", i), .token = "t" };
        wl_text_addf(&t, "77_%zu|%s|lab.array.r1.t\n", i, jobs[i].line);
    }
    stand_in("squeue", t.s, 0);
    stand_in("sacct", "", 1);
    assert_int_equal(wl_batch_slurm.states(NULL, v, N, a, &e), 0);
    for (size_t i = 0; i < N; i++)
        if (v[i].state != jobs[i].expected)
            fail_msg("%s: %s, not %s", jobs[i].line, wl_batch_state_names[v[i].state],
                     wl_batch_state_names[jobs[i].expected]);
}

/* The answer of sbatch was not heard: a task is known by its number and the token of its array. */
static void tasks_are_found_by_their_token(void **state)
{
    (void)state;
    struct wl_batch_job v[] = {
        { .token = "aaa_0" }, { .token = "aaa_10" }, { .token = "aa_0" }, { .token = "aaa" }, { .token = "bbb" }
    };
    struct wl_err e;
    stand_in("squeue",
             "8_10|RUNNING|None|n2|lab.array.r1.aaa\n8_0|PENDING|None||lab.array.r1.aaa\n9|RUNNING|None|n3|lab.r1.bbb",
             0);
    stand_in("sacct", "", 1);
    assert_int_equal(wl_batch_slurm.states(NULL, v, WL_COUNT(v), a, &e), 0);
    assert_string_equal(v[0].id, "8_0");
    assert_string_equal(v[1].id, "8_10");
    assert_int_equal(v[1].state, WL_BATCH_RUNNING);
    assert_null(v[2].id);
    assert_null(v[3].id);
    assert_string_equal(v[4].id, "9");
}

/* squeue then lists the other tasks, or the array alone. */
static void a_task_may_leave_the_queue_before_its_array(void **state)
{
    (void)state;
    struct wl_batch_job v[] = { { .id = "23_1", .token = "t_1" },
                                { .id = "2_1", .token = "u_1" },
                                { .id = "24_1", .token = "w_1" },
                                { .id = "25_1", .token = "x_1" },
                                { .id = "25", .token = "y" } };
    struct wl_err e;
    stand_in("squeue", "23|CANCELLED|None||lab.array.r1.t\n24_0|PENDING|None||lab.array.r1.w", 0);
    stand_in("sacct", "", 1);
    assert_int_equal(wl_batch_slurm.states(NULL, v, WL_COUNT(v), a, &e), 0);
    for (size_t i = 0; i < WL_COUNT(v); i++) assert_int_equal(v[i].state, WL_BATCH_UNKNOWN);
    assert_true(v[0].array_listed && v[2].array_listed);
    assert_false(v[1].array_listed || v[3].array_listed || v[4].array_listed);
}

static int submit(const char *answer, int status, struct wl_err *e)
{
    const struct wl_experiment x = { 0 };
    const struct wl_batch_request r = { .x = &x, .script = "x.sh" };
    const char *job = NULL;
    stand_in("sbatch", answer, status);
    const int rc = wl_batch_slurm.submit(&r, &job, a, e);
    if (rc == 0) assert_string_equal(job, "4711");
    return rc;
}

static void a_full_queue_is_no_failure(void **state)
{
    (void)state;
    static const char *const full[] = {
        "sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates "
        "accounting/QOS policy (job submit limit, user's size and/or time limits)",
        "sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates "
        "accounting/QOS "
        "policy (job submit limit, user's size and/or time limits)",
        "sbatch: error: QOSGrpSubmitJobsLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS "
        "policy (job submit limit, user's size and/or time limits)",
    };
    struct wl_err e;
    assert_int_equal(submit("4711;cluster", 0, &e), 0);
    for (size_t i = 0; i < WL_COUNT(full); i++) assert_int_equal(submit(full[i], 1, &e), WL_EPERM);
    assert_int_equal(submit("sbatch: error: Batch job submission failed: Invalid account or account/partition "
                            "combination specified",
                            1, &e),
                     WL_EINVAL);
    /* a policy that is not about the number of jobs */
    assert_int_equal(
        submit("sbatch: error: AssocMaxWallDurationPerJobLimit\nsbatch: error: Batch job submission failed: "
               "Job violates accounting/QOS policy",
               1, &e),
        WL_EINVAL);
}

/* sbatch itself would wait for two minutes. */
static void sbatch_does_not_sleep(void **state)
{
    (void)state;
    struct wl_err e;
    const int64_t begin_ns = wl_now_ns();
    assert_int_equal(
        submit("sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\nEND\nexec 2>&1\n"
               "sleep 30\ncat <<'END'\n4711",
               0, &e),
        WL_EPERM);
    assert_non_null(strstr(e.msg, "sleeping and retrying"));
    assert_true(wl_now_ns() - begin_ns < 20 * WL_NS_PER_S);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_key_array),
        TEST(equal_jobs_of_a_repeat_are_an_array),
        TEST(large_sets_are_split),
        TEST(arrays_keep_the_order_of_repeats),
        TEST(tasks_have_numbers),
        TEST(an_array_asks_for_its_tasks),
        TEST(a_signal_after_the_start),
        TEST(the_law_of_the_durations),
        TEST(too_few_points_are_no_law),
        TEST(limits_are_predicted),
        TEST(other_settings_are_another_law),
        TEST(a_reached_limit_is_doubled_up_to_the_partitions),
        TEST(times_of_slurm),
        TEST(what_a_site_allows),
        TEST(lists_of_nodes),
        TEST(a_node_that_fails_twice_is_excluded),
        TEST(states_of_slurm),
        TEST(tasks_are_found_by_their_token),
        TEST(a_task_may_leave_the_queue_before_its_array),
        TEST(a_full_queue_is_no_failure),
        TEST(sbatch_does_not_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
