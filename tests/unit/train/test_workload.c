/* The workload of walks.h through a complete training. */
#include "nn/backends.h"
#include "nn/comm/comm.h"
#include "walks_run.h"

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

static void assert_close(double a, double b, double relative)
{
    if (!(fabs(a - b) <= relative * fabs(b))) fail_msg("%.9g is not %.9g", a, b);
}

/* ---- tests ---- */

/* Two ranks, whose last batches are incomplete, give the results of one rank. */
static void two_ranks_equal_one(void **state)
{
    const struct wl_json *one = walks_results(*state, "--epochs 12 --local-batch 4 --accumulation 2 --eval-train"),
                         *two = walks_results(*state, "--epochs 12 --local-batch 4 --workers 2 --eval-train");
    static const char *const names[] = { "train_loss", "val_mae", "eval_train_mae", "eval_train_loss", "lr" };
    for (size_t i = 0; i < 12; i++)
        for (size_t k = 0; k < WL_COUNT(names); k++)
            assert_close(walks_of_epoch(two, i, names[k]), walks_of_epoch(one, i, names[k]), 1e-4);
    assert_true(walks_of_epoch(one, 11, "val_mae") < 0.5 * walks_of_epoch(one, 0, "val_mae"));
    assert_true(isnan(walks_of_epoch(one, 0, "train_mae"))); /* there are outputs only in evaluation */
    assert_close(wl_json_real(wl_json_get(two, "steps_per_s")), 5 * wl_json_real(wl_json_get(two, "samples_per_s")),
                 1e-9);
    assert_int_equal(wl_json_int(wl_json_get(two, "samples"), 0), 12 * WALKS_TRAIN);
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
    const struct wl_json *whole = walks_results(p, "--epochs 4 --lr-schedule constant");
    const char *options = wl_strf(p->arena, "--lr-schedule constant --checkpoint-dir %s/c", p->dir);
    walks_results(p, wl_strf(p->arena, "--epochs 2 %s", options));
    const struct wl_json *rest = walks_results(p, wl_strf(p->arena, "--epochs 4 --resume %s", options));
    for (size_t i = 0; i < 2; i++) {
        assert_true(walks_of_epoch(rest, i, "train_loss") == walks_of_epoch(whole, 2 + i, "train_loss"));
        assert_true(walks_of_epoch(rest, i, "val_mae") == walks_of_epoch(whole, 2 + i, "val_mae"));
    }
    const char *text = walks_run(p, wl_strf(p->arena, "--data here --quiet --resume --hidden 5 %s", options), 1);
    assert_non_null(strstr(text, "was made with hidden 16, this is 5"));
}

/* Options of its own and shared ones in one table; recipes set both. */
static void workload_and_shared_options_and_recipes(void **state)
{
    struct temp_dir *p = *state;
    const struct wl_json *quick = walks_results(p, "--recipe quick --warmup-updates 4"),
                         *o = wl_json_get(quick, "options");
    assert_int_equal(wl_json_int(wl_json_get(o, "hidden"), 0), 9);
    assert_int_equal(wl_json_int(wl_json_get(o, "epochs"), 0), 3);
    assert_string_equal(wl_json_str(wl_json_get(o, "optimizer")), "adam");
    assert_string_equal(wl_json_str(wl_json_get(o, "lr_schedule")), "linear");
    const double updates = WALKS_TRAIN / 8, warm = 4; /* 4 updates of warm-up, then straight to 0 at the end */
    assert_close(walks_of_epoch(quick, 0, "lr"), 0.02 * (3 * updates - (updates - 1)) / (3 * updates - warm), 1e-9);
    assert_close(walks_of_epoch(quick, 2, "lr"), 0.02 / (3 * updates - warm), 1e-9);
    assert_non_null(strstr(walks_run(p, "--hiden 3", 1), "did you mean --hidden?"));
    assert_non_null(strstr(walks_run(p, "--local-bach 3", 1), "did you mean --local-batch?"));
    assert_non_null(strstr(walks_run(p, "--epochs 1", 1), "--data is missing: any word"));
    assert_non_null(strstr(walks_run(p, "--data x --warmup-updates 3 --warmup-epochs 1", 1), "give one of them"));
    assert_non_null(strstr(walks_run(p, "--data x --quiet --local-batch 60 --accumulation 2", 1),
                           "64 training walks do not fill a global batch of 120"));
}

/* Every choice that the options offer is implemented. */
static void every_choice_is_accepted(void **state)
{
    struct temp_dir *p = *state;
    static const char *const names[] = { "optimizer", "lr-schedule" };
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        struct wl_strs choices =
            wl_str_split(p->arena, wl_opts_find(wl_train_options(&walks_workload, p->arena), names[i])->choices, '|');
        assert_true(choices.n >= 3);
        for (size_t k = 0; k < choices.n; k++)
            walks_results(p, wl_strf(p->arena, "--epochs 1 --%s %s", names[i], choices.v[k]));
    }
}

/* What the help of --backend and --comm says of each of their choices is what its table says. */
static void help_explains_each_back_end(void **state)
{
    struct temp_dir *p = *state;
    const struct wl_opt *rows = wl_train_options(&walks_workload, p->arena);
    const char *backends = wl_opts_find(rows, "backend")->help, *comm = wl_opts_find(rows, "comm")->help;
    const struct wl_backend_row *b;
    for (size_t i = 0; (b = wl_backend_row(i)); i++) {
        const char *says = b->unavailable ? wl_strf(p->arena, "; %s: not available (%s)", b->name, b->unavailable)
                                          : wl_strf(p->arena, "; %s: %s", b->name, b->help);
        if (!strstr(backends, says)) fail_msg("'%s' does not say '%s'", backends, says);
        if (b->unavailable) assert_null(strstr(backends, b->help));
    }
    assert_non_null(strstr(comm, "; null: one rank"));
    assert_non_null(strstr(comm, "; nccl: ranks on GPUs"));
}

/* Initial parameters from elsewhere, and export at the end; a checkpoint replaces initial parameters. */
static void initial_weights_and_export(void **state)
{
    struct temp_dir *p = *state;
    const char *options = wl_strf(p->arena, "--lr 0 --save %s/bias --checkpoint-dir %s/c", p->dir, p->dir);
    const char *path = wl_path_join(p->arena, p->dir, "bias");
    char *text;
    struct wl_err e;
    walks_results(p, wl_strf(p->arena, "--epochs 1 --workers 2 --bias 0.75 %s", options));
    assert_int_equal(wl_file_read(path, 100, &text, NULL, p->arena, &e), 0);
    assert_string_equal(text, "0.75");
    walks_results(p, wl_strf(p->arena, "--epochs 2 --resume --bias 0.5 %s", options));
    assert_int_equal(wl_file_read(path, 100, &text, NULL, p->arena, &e), 0);
    assert_string_equal(text, "0.75");
    const char *said = walks_run(p, "--data here --quiet --epochs 1 --save /proc/nowhere/bias", 1);
    assert_non_null(strstr(said, "/proc/nowhere/bias"));
}

/* The text output. */
static void text_output_names_metrics_and_units(void **state)
{
    const char *table = walks_run(*state, "--data here --quiet --epochs 2", 0),
               *plan = walks_run(*state, "--explain", 0);
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
    struct wl_train_task task = { .workload = &walks_workload,
                                  .rows = wl_train_options(&walks_workload, a),
                                  .arena = a };
    task.opts = wl_alloc(a, sizeof(struct walks_options));
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
        cmocka_unit_test_setup_teardown(help_explains_each_back_end, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(initial_weights_and_export, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(library_is_silent, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(text_output_names_metrics_and_units, temp_dir_setup, temp_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
