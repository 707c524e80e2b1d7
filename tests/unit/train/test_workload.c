/* A workload unlike images through a complete training: samples of different sizes, data sets that write whole batches,
 * a regression, a metric from outputs, its own options and attributes. */
#include "cmd/train/run.h"
#include "nn/comm/comm.h"
#include "temp_dir.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the data: a walk of 2 to 9 steps; the target is a combination of its length and its displacement ---- */

enum { TRAIN = 64, VAL = 26, MAX_STEPS = 10, INPUTS = 4 };

struct walk {
    double at[MAX_STEPS][2];
    int n;
};

static struct walk walk_of(uint64_t part, int64_t index)
{
    struct walk w = { .n = 3 + (int)wl_random_below(5, part, (uint64_t)index, MAX_STEPS - 2) };
    for (int i = 1; i < w.n; i++)
        for (int k = 0; k < 2; k++)
            w.at[i][k] = w.at[i - 1][k] + wl_random_normal(5, part ^ (uint64_t)index << 8, (uint64_t)(2 * i + k));
    return w;
}

static double distance(const double *a, const double *b) { return hypot(a[0] - b[0], a[1] - b[1]); }

/* features [INPUTS] of a walk, and the target */
static void write_features(const struct walk *w, float *x, float *target)
{
    double length = 0, spread = 0;
    for (int i = 1; i < w->n; i++) {
        length += distance(w->at[i], w->at[i - 1]);
        spread += distance(w->at[i], w->at[0]);
    }
    const double far = distance(w->at[w->n - 1], w->at[0]);
    x[0] = (float)(length / MAX_STEPS);
    x[1] = (float)(spread / (w->n * 4));
    x[2] = (float)(far / MAX_STEPS);
    x[3] = (float)w->n / MAX_STEPS;
    *target = (float)(0.3 * length - 0.2 * far);
}

/* buffer: features [B,INPUTS], targets [B,1]. The walks of a batch are sorted by their number of steps, so that no
 * sample has a fixed position. */
struct walks {
    struct wl_tensor *prediction, *target;
    struct wl_dataset train, val;
    int64_t batch;
};

static int write_batch(const struct wl_dataset *s, void *thread, const struct wl_epoch_key *key, const int64_t *index,
                       int64_t n, void *const *buffer, struct wl_err *e)
{
    const struct walks *state = s->data;
    float *x = buffer[0], *target = buffer[1];
    int64_t at = 0;
    (void)thread, (void)key, (void)e;
    for (int steps = 0; steps <= MAX_STEPS; steps++) {
        for (int64_t i = 0; i < n; i++) {
            struct walk w = walk_of(s == &state->val, index[i]);
            if (w.n != steps) continue;
            write_features(&w, x + at * INPUTS, target + at);
            at++;
        }
    }
    memset(x + n * INPUTS, 0, (size_t)((state->batch - n) * INPUTS) * sizeof *x);
    memset(target + n, 0, (size_t)(state->batch - n) * sizeof *target);
    return 0;
}

static const struct wl_dataset_ops walks = { .noun = "walk", .write_batch = write_batch };

/* ---- the workload ---- */

struct options {
    struct wl_train_opts train;
    const char *data, *save;
    int64_t hidden;
    double bias;
};

static const struct wl_opt_preset recipes[] = { { "quick", "epochs=3 lr=0.02 hidden=9" }, { NULL, NULL } };

static const struct wl_opt rows[] = {
    { "data", WL_STR, .offset = offsetof(struct options, data), .help = "any word" },
    { "recipe", WL_CHOICE, .offset = offsetof(struct options, train.recipe), .choices = "quick", .presets = recipes,
      .help = "values for other options" },
    { "hidden", WL_INT, .offset = offsetof(struct options, hidden), "16", 1, 1000, .help = "width of the network" },
    { "bias", WL_REAL, .offset = offsetof(struct options, bias), .help = "of the answer, at the start" },
    { "save", WL_STR, .offset = offsetof(struct options, save), .help = "file for that bias at the end" },
    WL_OPT_END,
};

enum { SUM_ERROR = WL_SUM_CUSTOM, SUM_WALKS };

static double mae(const struct wl_train_metric *m, const double *sum) { return sum[m->index] / sum[SUM_WALKS]; }

static const struct wl_train_metric metrics[] = {
    { "loss", "m2", false, "loss", NULL, 0, wl_train_metric_mean, WL_SUM_LOSS },
    { "mae", "m", false, "MAE", "mm", 1000, mae, SUM_ERROR },
};

static int configure(struct wl_train_task *j, struct wl_err *e)
{
    const struct options *o = (const struct options *)j->opts;
    (void)e;
    struct walks *state = wl_new(j->arena, struct walks);
    state->batch = j->opts->local_batch;
    j->state = state;
    j->sample_text = "walks";
    j->data = o->data;
    j->throughput_unit = "steps";
    j->units_per_sample = 5;
    j->metrics = metrics;
    j->n_metrics = WL_COUNT(metrics);
    j->custom_sums = SUM_WALKS + 1 - WL_SUM_CUSTOM;
    wl_train_task_attr(j, "hidden", o->hidden);
    return 0;
}

static int open_data(struct wl_train_task *j, struct wl_err *e)
{
    struct walks *state = j->state;
    const size_t batch = (size_t)state->batch;
    (void)e;
    state->train = (struct wl_dataset) { .ops = &walks,
                                         .name = "walks/train",
                                         .samples = TRAIN,
                                         .buffers = 2,
                                         .bytes = { batch * INPUTS * sizeof(float), batch * sizeof(float) },
                                         .data = state };
    state->val = state->train;
    state->val.samples = VAL;
    j->train = &state->train;
    j->val = &state->val;
    j->data_text = "walks of some steps";
    return 0;
}

static void assume_data(struct wl_train_task *j) { (void)j; }

static int build(struct wl_train_task *j, struct wl_graph *g, struct wl_err *e)
{
    struct walks *state = j->state;
    const int64_t n = state->batch, hidden = ((const struct options *)j->opts)->hidden;
    struct wl_tensor *x = j->inputs[0] = wl_input(g, "features", WL_F32, WL_DIMS(n, INPUTS));
    state->target = j->inputs[1] = wl_input(g, "targets", WL_F32, WL_DIMS(n, 1));
    x = wl_relu(g, "relu", wl_linear(g, "fc0", x, hidden));
    state->prediction = wl_linear(g, "fc1", x, 1);
    wl_output(g, state->prediction);
    wl_mean_square(g, "loss", state->prediction, state->target, (struct wl_loss) { .weight = 1 });
    return wl_graph_check(g, e);
}

static size_t find_bias(const struct wl_plan *plan)
{
    size_t i = 0;
    while (!wl_str_eq(wl_plan_state(plan, i).name, "fc1.bias")) i++;
    return i;
}

static int init_weights(const struct wl_train_task *j, struct wl_plan *plan, struct wl_err *e)
{
    const float bias = (float)((const struct options *)j->opts)->bias;
    return isnan(bias) ? 0 : wl_plan_state_write(plan, find_bias(plan), &bias, e);
}

static int export_weights(const struct wl_train_task *j, struct wl_plan *plan, struct wl_err *e)
{
    const char *path = ((const struct options *)j->opts)->save;
    float bias;
    int rc = path ? wl_plan_state_read(plan, find_bias(plan), &bias, e) : 0;
    if (rc || !path) return rc;
    const char *text = wl_strf(j->arena, "%.9g", (double)bias);
    return wl_file_write(path, text, strlen(text), e);
}

static void add_metrics(const struct wl_train_task *j, struct wl_plan *plan, int64_t n, double *custom_sums)
{
    const struct walks *state = j->state;
    const float *prediction = wl_plan_output(plan, state->prediction), *target = wl_plan_input(plan, state->target);
    for (int64_t i = 0; i < n; i++) custom_sums[0] += fabs((double)prediction[i] - target[i]);
    custom_sums[1] += (double)n;
}

static const struct wl_workload workload = {
    .name = "walks",
    .help = "learns about walks",
    .noun = "walk",
    .rows = rows,
    .options_size = sizeof(struct options),
    .example = "none",
    .full = { .local_batch = 8, .lr = 0.01, .optimizer = "adam", .lr_schedule = "linear" },
    .tiny = { .local_batch = 8, .lr = 0.01, .optimizer = "adam", .lr_schedule = "linear" },
    .configure = configure,
    .open = open_data,
    .assume_data = assume_data,
    .build = build,
    .init_weights = init_weights,
    .export = export_weights,
    .add_metrics = add_metrics,
};

/* ---- running it ---- */

/* In a process of its own, whose other ranks are its children: returns the exit status. */
static int train(char **argv, int argc, const char *out)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_opts_args rest;
    if (!freopen(out, "w", stdout)) return 1;
    struct wl_train_task task = { .workload = &workload, .rows = wl_train_options(&workload, a), .arena = a };
    task.opts = wl_alloc(a, sizeof(struct options));
    const struct wl_opts_line line = { .rows = task.rows, .argc = argc, .argv = argv };
    int rc = wl_opts_parse(&line, task.opts, &rest, a, &e);
    if (!rc) rc = wl_cmd_train_run(&task, &rest, &e);
    if (rc < 0) printf("%s\n", e.msg);
    wl_arena_free(a); /* waits for the other ranks */
    fflush(stdout);
    return rc < 0 ? 1 : rc;
}

/* What a training with these options printed; its status is `status`. */
static const char *run(struct temp_dir *p, const char *options, int status)
{
    struct wl_strs words = wl_str_split(p->arena, options, ' ');
    const char *out = wl_path_join(p->arena, p->dir, "out");
    int wait_status;
    char *text;
    struct wl_err e;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) _exit(train((char **)words.v, (int)words.n, out));
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    assert_int_equal(wl_file_read(out, 1 << 20, &text, NULL, p->arena, &e), 0);
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != status)
        fail_msg("%s: status %x: %s", options, wait_status, text);
    return text;
}

static const struct wl_json *results(struct temp_dir *p, const char *options)
{
    struct wl_json *j = NULL;
    struct wl_err e;
    const char *text = run(p, wl_strf(p->arena, "--data here --quiet --json %s", options), 0);
    if (wl_json_parse(text, "results", &j, p->arena, &e)) fail_msg("%s", e.msg);
    return j;
}

static double of_epoch(const struct wl_json *r, size_t epoch, const char *name)
{
    return wl_json_real(wl_json_get(wl_json_at(wl_json_get(r, "epochs"), epoch), name));
}

static void assert_close(double a, double b, double relative)
{
    if (!(fabs(a - b) <= relative * fabs(b))) fail_msg("%.9g is not %.9g", a, b);
}

/* ---- tests ---- */

/* Two ranks, whose last batches are incomplete, give the results of one rank. */
static void two_ranks_equal_one(void **state)
{
    const struct wl_json *one = results(*state, "--epochs 12 --local-batch 4 --accumulation 2 --eval-train"),
                         *two = results(*state, "--epochs 12 --local-batch 4 --workers 2 --eval-train");
    static const char *const names[] = { "train_loss", "val_mae", "eval_train_mae", "eval_train_loss", "lr" };
    for (size_t i = 0; i < 12; i++)
        for (size_t k = 0; k < WL_COUNT(names); k++)
            assert_close(of_epoch(two, i, names[k]), of_epoch(one, i, names[k]), 1e-4);
    assert_true(of_epoch(one, 11, "val_mae") < 0.5 * of_epoch(one, 0, "val_mae"));
    assert_true(isnan(of_epoch(one, 0, "train_mae"))); /* there are outputs only in evaluation */
    assert_close(wl_json_real(wl_json_get(two, "steps_per_s")), 5 * wl_json_real(wl_json_get(two, "samples_per_s")),
                 1e-9);
    assert_int_equal(wl_json_int(wl_json_get(two, "samples"), 0), 12 * TRAIN);
    assert_int_equal(wl_json_int(wl_json_get(two, "hidden"), 0), 16);
    assert_int_equal(wl_json_int(wl_json_get(two, "bad_walks"), -1), 0);
    const struct wl_json *metric = wl_json_at(wl_json_get(two, "metrics"), 1);
    assert_string_equal(wl_json_str(wl_json_get(metric, "name")), "mae");
    assert_string_equal(wl_json_str(wl_json_get(metric, "better")), "smaller");
}

/* A resumed training gives the numbers of an uninterrupted one; another network is refused by the workload's own
 * attribute. */
static void resumed_training_equals_an_uninterrupted_one(void **state)
{
    struct temp_dir *p = *state;
    const struct wl_json *whole = results(p, "--epochs 4 --lr-schedule constant");
    const char *options = wl_strf(p->arena, "--lr-schedule constant --checkpoint-dir %s/c", p->dir);
    results(p, wl_strf(p->arena, "--epochs 2 %s", options));
    const struct wl_json *rest = results(p, wl_strf(p->arena, "--epochs 4 --resume %s", options));
    for (size_t i = 0; i < 2; i++) {
        assert_true(of_epoch(rest, i, "train_loss") == of_epoch(whole, 2 + i, "train_loss"));
        assert_true(of_epoch(rest, i, "val_mae") == of_epoch(whole, 2 + i, "val_mae"));
    }
    const char *text = run(p, wl_strf(p->arena, "--data here --quiet --resume --hidden 5 %s", options), 1);
    assert_non_null(strstr(text, "was made with hidden 16, this is 5"));
}

/* Options of its own and shared ones in one table; recipes set both. */
static void workload_and_shared_options_and_recipes(void **state)
{
    struct temp_dir *p = *state;
    const struct wl_json *quick = results(p, "--recipe quick --warmup-updates 4"), *o = wl_json_get(quick, "options");
    assert_int_equal(wl_json_int(wl_json_get(o, "hidden"), 0), 9);
    assert_int_equal(wl_json_int(wl_json_get(o, "epochs"), 0), 3);
    assert_string_equal(wl_json_str(wl_json_get(o, "optimizer")), "adam");
    assert_string_equal(wl_json_str(wl_json_get(o, "lr_schedule")), "linear");
    const double updates = TRAIN / 8, warm = 4; /* 4 updates of warm-up, then straight to 0 at the end */
    assert_close(of_epoch(quick, 0, "lr"), 0.02 * (3 * updates - (updates - 1)) / (3 * updates - warm), 1e-9);
    assert_close(of_epoch(quick, 2, "lr"), 0.02 / (3 * updates - warm), 1e-9);
    assert_non_null(strstr(run(p, "--hiden 3", 1), "did you mean --hidden?"));
    assert_non_null(strstr(run(p, "--local-bach 3", 1), "did you mean --local-batch?"));
    assert_non_null(strstr(run(p, "--epochs 1", 1), "--data is missing: any word"));
    assert_non_null(strstr(run(p, "--data x --warmup-updates 3 --warmup-epochs 1", 1), "give one of them"));
    assert_non_null(strstr(run(p, "--data x --quiet --local-batch 60 --accumulation 2", 1),
                           "64 training walks do not fill a global batch of 120"));
}

/* Every choice that the options offer is implemented. */
static void every_choice_is_accepted(void **state)
{
    struct temp_dir *p = *state;
    static const char *const names[] = { "optimizer", "lr-schedule" };
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        struct wl_strs choices =
            wl_str_split(p->arena, wl_opts_find(wl_train_options(&workload, p->arena), names[i])->choices, '|');
        assert_true(choices.n >= 3);
        for (size_t k = 0; k < choices.n; k++)
            results(p, wl_strf(p->arena, "--epochs 1 --%s %s", names[i], choices.v[k]));
    }
}

/* Initial parameters from elsewhere, and export at the end; a checkpoint replaces initial parameters. */
static void initial_weights_and_export(void **state)
{
    struct temp_dir *p = *state;
    const char *options = wl_strf(p->arena, "--lr 0 --save %s/bias --checkpoint-dir %s/c", p->dir, p->dir);
    const char *path = wl_path_join(p->arena, p->dir, "bias");
    char *text;
    struct wl_err e;
    results(p, wl_strf(p->arena, "--epochs 1 --workers 2 --bias 0.75 %s", options));
    assert_int_equal(wl_file_read(path, 100, &text, NULL, p->arena, &e), 0);
    assert_string_equal(text, "0.75");
    results(p, wl_strf(p->arena, "--epochs 2 --resume --bias 0.5 %s", options));
    assert_int_equal(wl_file_read(path, 100, &text, NULL, p->arena, &e), 0);
    assert_string_equal(text, "0.75");
    const char *said = run(p, "--data here --quiet --epochs 1 --save /proc/nowhere/bias", 1);
    assert_non_null(strstr(said, "/proc/nowhere/bias"));
}

/* The text output. */
static void text_output_names_metrics_and_units(void **state)
{
    const char *table = run(*state, "--data here --quiet --epochs 2", 0), *plan = run(*state, "--explain", 0);
    static const char *const words[] = {
        "walks (full,",    "on here", "global batch 8; walks of some steps",
        "val MAE mm",      "steps/s", "adam, learning rate 0.01, schedule linear, betas",
        "trained 2 epochs"
    };
    for (size_t i = 0; i < WL_COUNT(words); i++)
        if (!strstr(table, words[i])) fail_msg("'%s' is not in\n%s", words[i], table);
    assert_ptr_equal(strstr(table, "MAE mm"), strstr(table, "val MAE mm") + 4); /* no column without a number */
    assert_non_null(strstr(plan, "walks (full), local batch 8, walks: 97 parameters"));
}

/* Trains by the library alone, without events, on one rank. Returns a wl_code. */
static int train_silently(struct wl_arena *a)
{
    struct wl_err e = { 0 };
    struct wl_opts_args rest;
    char *words[] = { "--data", "here", "--epochs", "2" };
    struct wl_train_task task = { .workload = &workload, .rows = wl_train_options(&workload, a), .arena = a };
    task.opts = wl_alloc(a, sizeof(struct options));
    struct wl_trainer t = { .task = &task, .arena = a };
    const struct wl_opts_line line = { .rows = task.rows, .argc = WL_COUNT(words), .argv = words };
    int rc = wl_opts_parse(&line, task.opts, &rest, a, &e);
    if (!rc) rc = wl_train_options_complete(&task, &e);
    if (!rc) rc = wl_comm_open(&t.comm, &(struct wl_comm_opts) { .backend = "null" }, a, &e);
    if (!rc) rc = wl_train_run(&t, &e);
    return rc ? rc : t.n_epochs == 2 ? 0 : WL_EINVAL;
}

/* The library prints nothing, and works with stdout and stderr closed. */
static void library_is_silent(void **state)
{
    struct temp_dir *p = *state;
    const char *out = wl_path_join(p->arena, p->dir, "out");
    char *text;
    struct wl_err e;
    for (int closed = 0; closed < 2; closed++) {
        int status;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
            for (int k = 1; k <= 2; k++) (void)(closed ? close(k) : dup2(fd, k));
            struct wl_arena *a = wl_arena_new(NULL);
            int rc = train_silently(a);
            wl_arena_free(a);
            fflush(NULL);
            _exit(rc ? 1 : 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        assert_int_equal(wl_file_read(out, 1 << 20, &text, NULL, p->arena, &e), 0);
        assert_string_equal(text, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_ranks_equal_one, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(resumed_training_equals_an_uninterrupted_one, temp_dir_setup,
                                        temp_dir_teardown),
        cmocka_unit_test_setup_teardown(workload_and_shared_options_and_recipes, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(every_choice_is_accepted, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(initial_weights_and_export, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(library_is_silent, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(text_output_names_metrics_and_units, temp_dir_setup, temp_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
