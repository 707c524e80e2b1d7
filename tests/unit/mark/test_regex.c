#include "mark/mark.h"

#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

/* What came out, as text: "TIME WORD FIELDS\n" for each mark. */
static void collect(void *ctx, const struct wl_mark *m)
{
    wl_text_addf(ctx, "%lld %s%s%s\n", (long long)m->t_ns, wl_mark_word_name(m->word), m->n ? " " : "", m->fields);
}

struct job {
    struct wl_arena *arena;
    struct wl_text out;
    struct wl_mark_regex *r;
    struct wl_err e;
};

static void start(struct job *j, struct wl_mark_regex_opts o)
{
    memset(j, 0, sizeof *j);
    j->arena = wl_arena_new(NULL);
    j->out = WL_TEXT(j->arena);
    assert_int_equal(wl_mark_regex_new(&j->r, &o, collect, &j->out, NULL, j->arena, &j->e), 0);
    wl_mark_regex_start(j->r, 100);
}

static int line(struct job *j, int64_t t_ns, const char *text)
{
    return wl_mark_regex_line(j->r, t_ns, text, strlen(text), &j->e);
}

static void expect(struct job *j, const char *want)
{
    assert_string_equal(j->out.s, want);
    wl_arena_free(j->arena);
}

/* The common log: one line when the epoch is over. */
static void an_epoch_line_ends_its_epoch(void **state)
{
    struct job j;
    (void)state;
    start(&j, (struct wl_mark_regex_opts) { .epoch_regex = "Epoch ([0-9]+)/[0-9]+.*loss=([0-9.]+)",
                                            .epoch_fields = "epoch=1, train_loss=2" });
    assert_int_equal(line(&j, 150, "loading data"), 0);
    assert_int_equal(line(&j, 200, "Epoch 1/3 done loss=2.5 "), 0);
    assert_int_equal(line(&j, 300, "\x1b[1mEpoch 2/3 done loss=1.5"), 0);
    wl_mark_regex_end(j.r, 400, true);
    expect(&j, "100 epoch-begin epoch=1\n200 epoch-end epoch=1\n200 metric name=train_loss value=2.5 epoch=1\n"
               "200 epoch-begin epoch=2\n300 epoch-end epoch=2\n300 metric name=train_loss value=1.5 epoch=2\n");
}

/* Loading and validation are kept out of the epochs by the line that opens them. */
static void a_start_line_begins_the_epoch(void **state)
{
    struct job j;
    (void)state;
    start(&j, (struct wl_mark_regex_opts) { .epoch_regex = "^epoch ([0-9]+) done, ([0-9]+) samples",
                                            .epoch_fields = "epoch=1,samples=2",
                                            .start_regex = "^training" });
    assert_int_equal(line(&j, 140, "training ..."), 0);
    assert_int_equal(line(&j, 200, "epoch 0 done, 640 samples"), 0);
    assert_int_equal(line(&j, 250, "training ..."), 0);
    assert_int_equal(line(&j, 300, "epoch 1 done, 640 samples"), 0);
    expect(&j, "140 epoch-begin epoch=1\n200 epoch-end epoch=1 samples=640\n"
               "250 epoch-begin epoch=2\n300 epoch-end epoch=2 samples=640\n");
}

/* A line that opens an epoch and is printed again with every progress message. */
static void an_epoch_line_may_begin_its_epoch(void **state)
{
    struct job j;
    (void)state;
    start(&j, (struct wl_mark_regex_opts) { .epoch_regex = "Epoch: \\[([0-9]+)\\]\\[ *([0-9]+)/",
                                            .epoch_at = "begin",
                                            .epoch_fields = "epoch=1",
                                            .step_regex = "^Epoch:.*Loss ([0-9.]+)",
                                            .step_fields = "loss=1" });
    assert_int_equal(line(&j, 200, "Epoch: [0][  0/20] Loss 7.0"), 0);
    assert_int_equal(line(&j, 250, "Epoch: [0][ 10/20] Loss 6.5"), 0);
    assert_int_equal(line(&j, 300, "Epoch: [1][  0/20] Loss 6.0"), 0);
    wl_mark_regex_end(j.r, 400, true);
    expect(&j, "200 step step=1 loss=7.0\n250 step step=2 loss=6.5\n"
               "200 epoch-begin epoch=1\n300 epoch-end epoch=1\n300 step step=3 loss=6.0\n"
               "300 epoch-begin epoch=2\n400 epoch-end epoch=2\n");
}

static void a_failed_job_leaves_no_incomplete_epoch(void **state)
{
    struct job j;
    (void)state;
    start(&j, (struct wl_mark_regex_opts) { .epoch_regex = "begin", .epoch_at = "begin" });
    assert_int_equal(line(&j, 200, "begin"), 0);
    assert_int_equal(line(&j, 300, "begin"), 0);
    wl_mark_regex_end(j.r, 400, false);
    expect(&j, "200 epoch-begin epoch=1\n300 epoch-end epoch=1\n");
}

/* Lines that make no sense are named, and give no epoch of wrong length. */
static void an_invalid_line_is_an_error_and_gives_no_epoch(void **state)
{
    struct job j;
    (void)state;
    start(&j, (struct wl_mark_regex_opts) { .epoch_regex = "Epoch ([^ ]+)( loss ([^ ]+))?",
                                            .epoch_fields = "epoch=1,train_loss=3" });
    assert_int_equal(line(&j, 200, "Epoch 1"), 0);
    assert_int_equal(line(&j, 250, "Epoch 1"), WL_EINVAL);
    assert_non_null(strstr(j.e.msg, "'Epoch 1': the end of epoch 1 follows that of epoch 1"));
    assert_int_equal(line(&j, 300, "Epoch two"), WL_EINVAL);
    assert_non_null(strstr(j.e.msg, "epoch 'two': expected a whole number"));
    assert_int_equal(line(&j, 400, "Epoch 3"), WL_EINVAL);
    assert_non_null(strstr(j.e.msg, "epoch 3 follows epoch 1, so its beginning is unknown"));
    assert_int_equal(line(&j, 500, "Epoch 4 loss oops"), WL_EINVAL);
    assert_non_null(strstr(j.e.msg, "value=oops: expected a number"));
    assert_int_equal(line(&j, 600, "Epoch 9223372036854775807"), WL_EINVAL);
    expect(&j, "100 epoch-begin epoch=1\n200 epoch-end epoch=1\n400 epoch-begin epoch=4\n500 epoch-end epoch=4\n");
}

/* What the metrics are is said before the first of them. */
static void definitions_come_before_the_first_metric(void **state)
{
    struct job j;
    char *said[] = { (char *)"name=val_f1 better=larger unit=%", (char *)"name=val_mae better=smaller" };
    (void)state;
    start(&j, (struct wl_mark_regex_opts) { .epoch_regex = "Epoch ([0-9]+)", .define = { .v = said, .n = 2 } });
    assert_int_equal(line(&j, 200, "Epoch 1"), 0);
    expect(&j, "100 define name=val_f1 better=larger unit=%\n100 define name=val_mae better=smaller\n"
               "100 epoch-begin epoch=1\n200 epoch-end epoch=1\n");
}

static void the_first_epoch_of_a_resumed_job_has_any_number(void **state)
{
    struct job j;
    (void)state;
    start(&j, (struct wl_mark_regex_opts) { .epoch_regex = "Epoch ([0-9]+)" });
    assert_int_equal(line(&j, 200, "Epoch 6"), 0);
    expect(&j, "100 epoch-begin epoch=6\n200 epoch-end epoch=6\n");
}

static void step_lines_give_step_marks(void **state)
{
    struct job j;
    (void)state;
    start(&j, (struct wl_mark_regex_opts) { .step_regex = "step ([0-9]+) +loss +([0-9.]+|nan)",
                                            .step_fields = "step=1,loss=2" });
    assert_int_equal(line(&j, 200, "step 10  loss  1.5"), 0);
    assert_int_equal(line(&j, 210, "step 20  loss  nan"), 0);
    expect(&j, "200 step step=10 loss=1.5\n210 step step=20 loss=nan\n");
}

static void invalid_options_are_refused_by_name(void **state)
{
    static char *bad[] = { (char *)"name=f1 better=up" }, *good[] = { (char *)"name=f1" };
    static const struct {
        struct wl_mark_regex_opts o;
        const char *cause;
    } cases[] = {
        { { .epoch_regex = "(" }, "--epoch-regex '('" },
        { { .step_regex = "a{2,1}" }, "--step-regex 'a{2,1}'" },
        { { .epoch_regex = "\\\\ (\\d+)" }, "\\d is not known to POSIX extended expressions: write [0-9]" },
        { { .epoch_regex = "x", .epoch_fields = "epoch=1" }, "--epoch-regex has 0 groups" },
        { { .epoch_regex = "(x)", .epoch_fields = "epoch" }, "'epoch': expected NAME=GROUP" },
        { { .epoch_regex = "(x)", .epoch_fields = "epoch=0" }, "'epoch=0': expected NAME=GROUP" },
        { { .step_fields = "step=1" }, "--step-fields requires --step-regex" },
        { { .start_regex = "x" }, "--start-regex requires" },
        { { .define = { bad, 1 } }, "--define: define: better=up: expected larger or smaller" },
        { { .define = { good, 1 } }, "--define requires --epoch-regex" },
        { { .epoch_regex = "x", .epoch_at = "begin", .start_regex = "x" }, "--start-regex requires" },
    };
    (void)state;
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_mark_regex *r;
        struct wl_err e = { 0 };
        assert_int_equal(wl_mark_regex_new(&r, &cases[i].o, collect, NULL, NULL, a, &e), WL_EINVAL);
        if (!strstr(e.msg, cases[i].cause)) fail_msg("%s", e.msg);
        wl_arena_free(a);
    }
}

/* What was asked for and never seen is said, with the line that upper and lower case alone keep from matching. */
static void what_no_line_matches_is_named(void **state)
{
    static const char *const lines[] = { "loading", "Epoch 1/3 loss 2.5", "Epoch 2/3 loss 1.5" };
    static const struct {
        struct wl_mark_regex_opts o;
        size_t lines;
        const char *said; /* NULL: nothing */
    } cases[] = {
        { { .epoch_regex = "epoch ([0-9]+)" },
          3,
          "--epoch-regex 'epoch ([0-9]+)' matches no line of the output (3 lines); it would match 'Epoch 1/3 loss 2.5' "
          "but "
          "for upper and lower case" },
        { { .epoch_regex = "iter ([0-9]+)" }, 3, "matches no line of the output (3 lines)" },
        { { .step_regex = "step" }, 0, "--step-regex 'step': the command printed nothing" },
        { { .log = "lightning" }, 3, NULL },
        { { .epoch_regex = "Epoch ([0-9]+)", .start_regex = "^begin" }, 3, "--start-regex '^begin' matches no line" },
        { { .epoch_regex = "Epoch ([0-9]+)", .checkpoint_regex = "saved" }, 3, NULL },
    };
    (void)state;
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct job j;
        start(&j, cases[i].o);
        for (size_t k = 0; k < cases[i].lines; k++) assert_int_equal(line(&j, 100 * (int64_t)k, lines[k]), 0);
        const struct wl_strs said = wl_mark_regex_unmatched(j.r, j.arena);
        assert_int_equal(said.n, cases[i].said != NULL);
        if (said.n && !strstr(said.v[0], cases[i].said)) fail_msg("%s", said.v[0]);
        wl_arena_free(j.arena);
    }
}

/* The rows set the struct that they promise to set. */
static void option_rows_set_the_expressions(void **state)
{
    struct cmd {
        bool other;
        struct wl_mark_regex_opts marks;
    } cmd;
    static const struct wl_opt rows[] = { WL_MARK_REGEX_OPT_ROWS(struct cmd, marks), WL_OPT_END };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    (void)state;
    wl_opts_default(rows, &cmd, a);
    assert_false(wl_mark_regex_is_set(&cmd.marks));
    assert_int_equal(wl_opts_set(rows, &cmd, "step_regex", "s{1,3}", "--set", a, &e), 0);
    assert_string_equal(cmd.marks.step_regex, "s{1,3}");
    assert_true(wl_mark_regex_is_set(&cmd.marks));
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_line_ends_its_epoch),
        cmocka_unit_test(a_start_line_begins_the_epoch),
        cmocka_unit_test(an_epoch_line_may_begin_its_epoch),
        cmocka_unit_test(a_failed_job_leaves_no_incomplete_epoch),
        cmocka_unit_test(an_invalid_line_is_an_error_and_gives_no_epoch),
        cmocka_unit_test(definitions_come_before_the_first_metric),
        cmocka_unit_test(the_first_epoch_of_a_resumed_job_has_any_number),
        cmocka_unit_test(step_lines_give_step_marks),
        cmocka_unit_test(invalid_options_are_refused_by_name),
        cmocka_unit_test(what_no_line_matches_is_named),
        cmocka_unit_test(option_rows_set_the_expressions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
