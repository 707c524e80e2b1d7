/* Presets of --log: lines that users of the frameworks have published (tests/fixtures/logs) become marks. */
#include "mark/mark.h"

#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

/* "WORD FIELDS\n" for each mark. */
static void collect(void *ctx, const struct wl_mark *m)
{
    wl_text_addf(ctx, "%s%s%s\n", wl_mark_word_name(m->word), m->n ? " " : "", m->fields);
}

static void check(struct wl_mark_regex_opts o, const char *file, const char *want)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_text out = WL_TEXT(a);
    struct wl_mark_regex *r;
    struct wl_err e;
    char *text;
    size_t n = 0;
    assert_int_equal(wl_mark_regex_new(&r, &o, collect, &out, NULL, a, &e), 0);
    assert_int_equal(wl_file_read(wl_path_join(a, LOG_FIXTURES, file), 1 << 20, &text, NULL, a, &e), 0);
    wl_mark_regex_start(r, 0);
    for (char *line = text; *line; line += n + 1) {
        n = strcspn(line, "\n");
        if (*line != '#' && wl_mark_regex_line(r, 1, line, n, &e) != 0) fail_msg("%s: %s", file, e.msg);
    }
    wl_mark_regex_end(r, 2, true);
    if (strcmp(out.s, want) != 0) fail_msg("%s:\n%s\nexpected:\n%s", file, out.s, want);
    wl_arena_free(a);
}

#define LOG(name_, want) check((struct wl_mark_regex_opts) { .log = name_ }, name_ ".log", want)

static void megatron(void **state)
{
    (void)state;
    LOG("megatron", "step step=122 total=250000 loss=2.504220E+00\n"
                    "step step=123 samples=1024 tokens=4194304 total=250000 loss=2.493043E+00\n"
                    "checkpoint step=123\n"
                    "step step=124 samples=1024 tokens=4194304 total=250000 loss=2.559583E+00\n");
}

/* Colours are removed, and the same step of another rank is not another step. */
static void torchtitan(void **state)
{
    (void)state;
    LOG("torchtitan", "step step=200 total=1000 loss=6.1384\n"
                      "step step=210 samples=80 tokens=163840 total=1000 loss=6.0388\n"
                      "checkpoint\n"
                      "step step=220 samples=80 tokens=163840 total=1000 loss=6.0348\n");
}

/* Facts of Hugging Face's trainer have commas between thousands. */
static void facts_may_have_commas(void **state)
{
    (void)state;
    static const char *const lines[] = { "  Total train batch size (w. parallel, distributed & accumulation) = 1,024",
                                         " 10%|#  | 1/10 [00:01<00:09,  1.00it/s]",
                                         " 20%|#  | 2/10 [00:02<00:08,  1.00it/s]" };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_text out = WL_TEXT(a);
    struct wl_mark_regex *r;
    struct wl_err e;
    assert_int_equal(wl_mark_regex_new(&r, &(struct wl_mark_regex_opts) { .log = "hf" }, collect, &out, NULL, a, &e),
                     0);
    for (size_t i = 0; i < WL_COUNT(lines); i++)
        assert_int_equal(wl_mark_regex_line(r, 1, lines[i], strlen(lines[i]), &e), 0);
    assert_string_equal(out.s, "step step=1 total=10\nstep step=2 samples=1024 total=10\n");
    wl_arena_free(a);
}

static void nemo(void **state)
{
    (void)state;
    LOG("nemo", "step step=0 total=9 loss=11.02\nstep step=1 samples=32 total=9 loss=9.761\n"
                "step step=2 samples=32 total=9 loss=9.21\n");
    check((struct wl_mark_regex_opts) { .log = "nemo" }, "nemo1.log", "step step=794 total=77225 loss=3.090\n");
}

/* The bar of an evaluation, with another total, is none of the training. */
static void hugging_face(void **state)
{
    (void)state;
    LOG("hf", "step step=1998 total=24128\nmetric name=train_loss value=0.0\n"
              "step step=1999 samples=128 total=24128\nmetric name=train_loss value=6.2645\n");
}

/* A bar at 0 does not count, nor does that of an evaluation; each step has 4 samples. Tokens are those of the lines
 * that count them: none before the first one, then the mean, set right by the next one. A checkpoint is whole when
 * steps go on. */
static void hugging_face_5(void **state)
{
    (void)state;
    check(
        (struct wl_mark_regex_opts) { .log = "hf" }, "hf5.log",
        "step step=3 total=80\nmetric name=train_loss value=4.643\n"
        "step step=5 samples=8 tokens=256 total=80\nstep step=6 samples=4 tokens=128 total=80\n"
        "step step=9 samples=12 tokens=384 total=80\nmetric name=train_loss value=4.66\n"
        "step step=10 samples=4 tokens=128 total=80\nstep step=12 samples=8 tokens=256 total=80\n"
        "metric name=train_loss value=4.644\nstep step=15 samples=12 tokens=384 total=80\n"
        "checkpoint step=15\nstep step=16 samples=4 tokens=128 total=80\nstep step=19 samples=12 tokens=384 total=80\n"
        "metric name=train_loss value=4.669\nstep step=20 samples=4 tokens=128 total=80\n"
        "step step=22 samples=8 tokens=256 total=80\nstep step=25 samples=12 tokens=384 total=80\n"
        "metric name=train_loss value=4.642\nstep step=29 samples=16 tokens=512 total=80\n");
    check((struct wl_mark_regex_opts) { .log = "hf" }, "hf5_resumed.log",
          "step step=31 total=80\nmetric name=train_loss value=4.634\nstep step=35 tokens=512 total=80\n");
    check((struct wl_mark_regex_opts) { .log = "hf", .tokens_per_sample = 10, .samples_per_step = 2 },
          "hf5_resumed.log",
          "step step=31 total=80\nmetric name=train_loss value=4.634\nstep step=35 samples=8 tokens=80 total=80\n");
}

/* Sequences of unlike length: what the mean gave between two counts is set right by the second. Of the bars after a
 * count the one that is drawn anew has its step, whether it is read before or after it. */
static void tokens_that_are_counted_now_and_then(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_mark_regex *r;
    struct wl_text out = WL_TEXT(a);
    struct wl_err e;
    const char *const lines[] = {
        " 20%|#| 2/10 [",   "{'loss': 1, 'num_input_tokens_seen': 400}",
        " 30%|#| 3/10 [",   "        ",
        " 40%|#| 4/10 [",   " 60%|#| 6/10 [",
        "        ",         " 60%|#| 6/10 [",
        " 70%|#| 7/10 [",   "{'eval_loss': 1, 'num_input_tokens_seen': 510}",
        " 80%|#| 8/10 [",   " 90%|#| 9/10 [",
        "        ",         " 100%|#| 10/10 [",
        " 100%|#| 10/10 [", "{'train_loss': 1, 'num_input_tokens_seen': 900}",
    };
    assert_int_equal(wl_mark_regex_new(&r, &(struct wl_mark_regex_opts) { .log = "hf" }, collect, &out, NULL, a, &e),
                     0);
    wl_mark_regex_start(r, 0);
    for (size_t i = 0; i < WL_COUNT(lines); i++)
        assert_int_equal(wl_mark_regex_line(r, (int64_t)i, lines[i], strlen(lines[i]), &e), 0);
    /* 200 up to step 2; 400 at step 4; 700 by the mean at step 7; but 510 at step 6, so 85 a step: 680 at 8, 765 at 9;
     * 850 at 10, where 900 are counted */
    assert_string_equal(out.s,
                        "step step=2 total=10\nmetric name=train_loss value=1\nstep step=3 total=10\n"
                        "step step=4 tokens=200 total=10\nstep step=6 tokens=200 total=10\n"
                        "step step=7 tokens=100 total=10\nstep step=8 tokens=0 total=10\n"
                        "step step=9 tokens=65 total=10\nstep step=10 tokens=85 total=10\nstep step=10 tokens=50\n");
    wl_arena_free(a);
}

static void deepspeed(void **state)
{
    (void)state;
    LOG("deepspeed", "step step=40\nstep step=50\n");
    check((struct wl_mark_regex_opts) { .log = "deepspeed", .samples_per_step = 64, .tokens_per_sample = 512 },
          "deepspeed.log", "step step=40\nstep step=50 samples=640 tokens=327680\n");
}

/* Steps go on over epochs, and epochs are marked too. */
static void lightning(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_mark_regex *r;
    struct wl_text out = WL_TEXT(a);
    struct wl_err e;
    const char *const lines[] = {
        "Epoch 0:   0%|          | 0/2 [00:00<?, ?it/s]",
        "Epoch 0:  50%|#####     | 1/2 [00:08<02:29,  8.77s/it, train_loss=2.5]",
        "Epoch 0: 100%|##########| 2/2 [00:11<01:33,  5.82s/it, loss=1.5, v_num=1]",
        "Epoch 0: 100%|##########| 2/2 [00:11<01:33,  5.82s/it, loss=1.5, v_num=1, val_loss=9]",
        "Epoch 1:  50%|#####     | 1/2 [00:17<01:02,  4.47s/it, train_loss_step=1.25]",
        "Epoch 1:  50%|#####     | 1/2 [00:17<01:02,  4.47s/it, train_loss_step=1.5]"
    };
    assert_int_equal(wl_mark_regex_new(&r, &(struct wl_mark_regex_opts) { .log = "lightning" }, collect, &out, NULL, a,
                                       &e),
                     0);
    wl_mark_regex_start(r, 0);
    for (size_t i = 0; i < WL_COUNT(lines); i++)
        assert_int_equal(wl_mark_regex_line(r, (int64_t)i, lines[i], strlen(lines[i]), &e), 0);
    assert_string_equal(
        out.s, "step step=1\nepoch-begin epoch=1\nepoch-end epoch=1\nstep step=2 loss=1.5\nstep step=3 loss=1.5\n");
    wl_arena_free(a);
}

/* Published lines skip epochs, which is an error of its own: only steps are compared. */
/* A step is drawn twice, at first with the loss of the step before; an epoch ends with its last step, before the
 * validation. */
static void lightning_2(void **state)
{
    (void)state;
    check((struct wl_mark_regex_opts) { .log = "lightning", .samples_per_step = 4 }, "lightning2.log",
          "step step=1 loss=2.460\nstep step=2 samples=4 loss=2.770\n"
          "epoch-begin epoch=1\nepoch-end epoch=1 samples=12\nstep step=3 samples=4 loss=0.655\n"
          "checkpoint step=3\nstep step=4 samples=4 loss=1.930\nstep step=5 samples=4 loss=2.240\n"
          "epoch-begin epoch=2\nepoch-end epoch=2 samples=12\nstep step=6 samples=4 loss=0.533\ncheckpoint step=6\n");
}

/* Data without a length: steps go on over epochs all the same. */
static void lightning_without_a_length(void **state)
{
    (void)state;
    check((struct wl_mark_regex_opts) { .log = "lightning" }, "lightning2_length.log",
          "step step=1 loss=0.991\nstep step=2 loss=0.453\n"
          "step step=3 loss=0.769\nepoch-begin epoch=1\nepoch-end epoch=1\nstep step=4\n"
          "epoch-begin epoch=2\nepoch-end epoch=2\n");
}

static void lightning_as_published(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_mark_log *l = wl_mark_log_new("lightning", a);
    struct wl_mark_log_step s;
    struct wl_text out = WL_TEXT(a);
    struct wl_err e;
    char *text;
    assert_int_equal(wl_file_read(LOG_FIXTURES "/lightning.log", 1 << 20, &text, NULL, a, &e), 0);
    struct wl_strs lines = wl_str_split(a, text, '\n');
    for (size_t i = 0; i < lines.n; i++)
        if (*lines.v[i] != '#' && wl_mark_log_read_step(l, lines.v[i], &s))
            wl_text_addf(&out, "%g %s\n", s.step, s.loss);
    assert_string_equal(out.s, "1 \n1 10.473\n2 10.473\n19 9.947\n1210 0.429\n");
    wl_arena_free(a);
}

static void checkpoints_by_an_expression_of_ones_own(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_mark_regex *r;
    struct wl_text out = WL_TEXT(a);
    struct wl_err e;
    const struct wl_mark_regex_opts o = { .checkpoint_regex = "^saved ([0-9]*)" };
    assert_int_equal(wl_mark_regex_new(&r, &o, collect, &out, NULL, a, &e), 0);
    const char *const lines[] = { "saved 7", "not saved 8", "saved nothing" };
    for (size_t i = 0; i < WL_COUNT(lines); i++)
        assert_int_equal(wl_mark_regex_line(r, 1, lines[i], strlen(lines[i]), &e), 0);
    assert_string_equal(out.s, "checkpoint step=7\ncheckpoint\n");
    const struct wl_mark_regex_opts both = { .log = "hf", .step_regex = "x" };
    assert_int_equal(wl_mark_regex_new(&r, &both, collect, &out, NULL, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "exclude each other"));
    wl_arena_free(a);
}

/* Numbers that no count holds, and lines that end early. */
static void hostile_lines_give_no_marks(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_mark_regex *r;
    struct wl_err e;
    const char *const names[] = { "megatron", "torchtitan", "nemo", "hf", "deepspeed", "lightning" };
    const char *const lines[] = { "iteration 99999999999999999999/ 10 |",
                                  "step: 99999999999999999999999999999999999 loss: 1",
                                  "global_step: 99999999999999999999,",
                                  " 8%|| 99999999999999999999/5 [",
                                  "[Rank 0] step=99999999999999999999, skipped=",
                                  "Epoch 99999999999999999999:  1%|| 99999999999999999999/99999999999999999999 [",
                                  "\x1b[",
                                  "" };
    for (size_t k = 0; k < WL_COUNT(names); k++) {
        struct wl_text out = WL_TEXT(a);
        const struct wl_mark_regex_opts o = { .log = names[k] };
        assert_int_equal(wl_mark_regex_new(&r, &o, collect, &out, NULL, a, &e), 0);
        for (size_t i = 0; i < WL_COUNT(lines); i++) {
            int rc = wl_mark_regex_line(r, 1, lines[i], strlen(lines[i]), &e);
            assert_true(rc == 0 || rc == WL_EINVAL);
        }
        if (out.n) fail_msg("%s: %s", names[k], out.s);
    }
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(megatron),
        cmocka_unit_test(torchtitan),
        cmocka_unit_test(facts_may_have_commas),
        cmocka_unit_test(nemo),
        cmocka_unit_test(hugging_face),
        cmocka_unit_test(hugging_face_5),
        cmocka_unit_test(tokens_that_are_counted_now_and_then),
        cmocka_unit_test(deepspeed),
        cmocka_unit_test(lightning),
        cmocka_unit_test(lightning_2),
        cmocka_unit_test(lightning_without_a_length),
        cmocka_unit_test(lightning_as_published),
        cmocka_unit_test(checkpoints_by_an_expression_of_ones_own),
        cmocka_unit_test(hostile_lines_give_no_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
