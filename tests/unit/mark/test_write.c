/* What the public header and the Python module write, read back. Marks are opened once for each process, so each test
 * works in a child process. */
#include <wattlaw/mark.h>

#include "mark/mark.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

int mark_from_other_unit(void); /* other_unit.c */

static char path[] = "/tmp/wattlaw-mark-XXXXXX";

static int setup(void **state)
{
    int fd = mkstemp(path);
    (void)state;
    if (fd < 0) return -1;
    close(fd);
    setenv("WATTLAW_MARKS", path, 1);
    unsetenv("RANK");
    unsetenv("SLURM_PROCID");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

/* Runs f in a child; returns its exit status. The marks file is empty before. */
static int in_child(int (*f)(void))
{
    int status;
    pid_t pid;
    assert_int_equal(truncate(path, 0), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) _exit(f());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* All marks of the file; every line must be whole and good. */
static size_t read_all(struct wl_mark *m, size_t room, struct wl_arena *a)
{
    struct wl_mark_tail *t = wl_mark_tail_new(path, a);
    struct wl_err e = { 0 };
    size_t n = 0;
    int rc;
    while ((rc = wl_mark_tail_last(t, &m[n], &e)) > 0) {
        n++;
        assert_true(n < room);
    }
    if (rc < 0) print_error("%s\n", e.msg);
    assert_int_equal(rc, 0);
    return n;
}

static int write_every_word(void)
{
    wattlaw_mark_set_rank(3);
    return wattlaw_mark_start("workload=%s workers=%d", "net", 4) || wattlaw_mark_epoch_begin(1) ||
           wattlaw_mark_step(7, 32, 1.25) || wattlaw_mark_step(8, 32, NAN) || wattlaw_mark_epoch_end(1, 640, 20) ||
           wattlaw_mark_phase_begin("validate") || wattlaw_mark_phase_end("validate") ||
           wattlaw_mark_phase_time("input", 0.25, 1) || wattlaw_mark_metric("val_top1", 0.61, 1) ||
           wattlaw_mark_metric("params", 25.6e6, 0) || mark_from_other_unit() ||
           wattlaw_mark_define("name=val_f1 better=larger unit=%s", "%") || wattlaw_mark_stop("ok");
}

static void every_word_reads_back(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_mark *m = wl_new_array(a, struct wl_mark, 16);
    int64_t before = wl_now_ns();
    (void)state;
    assert_int_equal(in_child(write_every_word), 0);
    assert_int_equal(read_all(m, 16, a), 13);
    assert_true(m[0].t_ns >= before && m[12].t_ns <= wl_now_ns());
    assert_int_equal(m[0].word, WL_MARK_START);
    assert_string_equal(wl_mark_str(&m[0], "workload"), "net");
    assert_int_equal(m[0].rank, 3);
    assert_true(fabs(wl_mark_real(&m[2], "loss") - 1.25) < 1e-12);
    assert_null(wl_mark_str(&m[3], "loss"));
    assert_int_equal(wl_mark_int(&m[4], "samples", -1), 640);
    assert_int_equal(m[7].word, WL_MARK_PHASE);
    assert_true(wl_mark_real(&m[7], "time_s") == 0.25);
    assert_int_equal(wl_mark_int(&m[8], "epoch", -1), 1);
    assert_null(wl_mark_str(&m[9], "epoch"));
    assert_string_equal(wl_mark_str(&m[10], "name"), "other");
    assert_int_equal(m[11].word, WL_MARK_DEFINE);
    assert_string_equal(wl_mark_str(&m[11], "unit"), "%");
    assert_int_equal(m[12].word, WL_MARK_STOP);
    wl_arena_free(a);
}

static int write_without_a_file(void)
{
    unsetenv("WATTLAW_MARKS");
    return wattlaw_mark_on() || wattlaw_mark_epoch_begin(1) || wattlaw_mark_stop("ok");
}

static void nothing_is_written_without_a_marks_file(void **state)
{
    struct stat st;
    (void)state;
    assert_int_equal(in_child(write_without_a_file), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 0);
}

static int rank_of_torch_under_srun(void)
{
    setenv("SLURM_PROCID", "0", 1);
    setenv("RANK", "5", 1);
    setenv("WORLD_SIZE", "8", 1);
    return wattlaw_mark_rank() != 5;
}

static int rank_of_srun(void)
{
    setenv("SLURM_PROCID", "2", 1);
    setenv("RANK", "x", 1);
    return wattlaw_mark_rank() != 2;
}

static int rank_of_wattlaw(void)
{
    setenv("WATTLAW_RANK", "9", 1);
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    return wattlaw_mark_rank() != 9;
}

static int rank_without_a_launcher(void) { return wattlaw_mark_rank() != 0; }

static void the_rank_comes_from_the_launcher(void **state)
{
    (void)state;
    assert_int_equal(in_child(rank_of_torch_under_srun), 0);
    assert_int_equal(in_child(rank_of_srun), 0);
    assert_int_equal(in_child(rank_of_wattlaw), 0);
    assert_int_equal(in_child(rank_without_a_launcher), 0);
}

static int write_values_at_the_limits(void)
{
    char big[600];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    if (wattlaw_mark_stop(big) != -1 || errno != EMSGSIZE) return 1;
    if (wattlaw_mark("", "a=1") != -1 || errno != EINVAL) return 2;
    big[WATTLAW_MARK_MAX - 100] = '\0';
    if (wattlaw_mark_stop(big) != 0) return 3;
    return wattlaw_mark_phase_begin("two\nlines");
}

static void long_values_are_refused_and_newlines_replaced(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_mark *m = wl_new_array(a, struct wl_mark, 4);
    (void)state;
    assert_int_equal(in_child(write_values_at_the_limits), 0);
    assert_int_equal(read_all(m, 4, a), 2);
    assert_int_equal(strlen(wl_mark_str(&m[0], "status")), WATTLAW_MARK_MAX - 100);
    assert_string_equal(wl_mark_str(&m[1], "name"), "two_lines");
    wl_arena_free(a);
}

enum { THREADS = 8, EACH = 200 };

static void *write_steps(void *arg)
{
    for (int i = 0; i < EACH; i++) (void)wattlaw_mark_step(*(int *)arg * EACH + i, 1, 0.5);
    return NULL;
}

static int write_from_threads(void)
{
    pthread_t thread[THREADS];
    int id[THREADS];
    for (int i = 0; i < THREADS; i++) {
        id[i] = i;
        if (pthread_create(&thread[i], NULL, write_steps, &id[i]) != 0) return 1;
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    return 0;
}

static void threads_never_mix_their_lines(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_mark *m = wl_new_array(a, struct wl_mark, THREADS * EACH + 1);
    bool seen[THREADS * EACH] = { 0 };
    (void)state;
    assert_int_equal(in_child(write_from_threads), 0);
    assert_int_equal(read_all(m, THREADS * EACH + 1, a), THREADS * EACH);
    for (int i = 0; i < THREADS * EACH; i++) seen[wl_mark_int(&m[i], "step", 0)] = true;
    for (int i = 0; i < THREADS * EACH; i++) assert_true(seen[i]);
    wl_arena_free(a);
}

static void marks_of_python_read_back(void **state)
{
    static const char program[] = "import wattlaw\n"
                                  "wattlaw.set_rank(2)\n"
                                  "wattlaw.start(workload='my net', workers=2)\n"
                                  "with wattlaw.epoch(1) as e:\n"
                                  "    e.samples, e.updates = 640, 20\n"
                                  "with wattlaw.phase('validate'): pass\n"
                                  "wattlaw.phase_time('input', 0.25, epoch=1)\n"
                                  "wattlaw.metric('val_top1', 0.1 + 0.2, epoch=1)\n"
                                  "wattlaw.define('val_f1', better='larger', label='F1 score', main=True)\n"
                                  "try: wattlaw.define('val_f1', better='up')\n"
                                  "except ValueError: pass\n"
                                  "wattlaw.step(3, loss=float('nan'))\n"
                                  "wattlaw.step(4, samples=8, tokens=4096, total=10)\n"
                                  "wattlaw.checkpoint(4)\n"
                                  "wattlaw.checkpoint()\n"
                                  "wattlaw.mark('stop', status='x' * 600)\n"
                                  "try:\n"
                                  "    with wattlaw.epoch(2): raise ValueError\n"
                                  "except ValueError: pass\n"
                                  "wattlaw.stop()\n";
    char *argv[] = { (char *)"python3", (char *)"-c", (char *)program, NULL };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_mark *m = wl_new_array(a, struct wl_mark, 16);
    struct wl_process_result end;
    struct wl_err e;
    char *text;
    (void)state;
    assert_int_equal(truncate(path, 0), 0);
    if (wl_process_run(&(struct wl_process_run) { .argv = argv, .max = 4096, .merge_stderr = true }, &text, &end, a,
                       &e) != 0) {
        print_message("SKIP: %s\n", e.msg);
        wl_arena_free(a);
        skip();
    }
    assert_int_equal(end.status, 0);
    assert_non_null(strstr(text, "was not written")); /* the long line */
    assert_int_equal(read_all(m, 16, a), 14);
    assert_int_equal(m[0].rank, 2);
    assert_string_equal(wl_mark_str(&m[0], "workload"), "my_net");
    assert_non_null(wl_mark_str(&m[0], "host"));
    assert_int_equal(wl_mark_int(&m[2], "updates", 0), 20);
    assert_int_equal(m[5].word, WL_MARK_PHASE);
    assert_true(wl_mark_real(&m[5], "time_s") == 0.25);
    assert_true(fabs(wl_mark_real(&m[6], "value") - 0.3) < 1e-8);
    assert_int_equal(m[7].word, WL_MARK_DEFINE);
    assert_string_equal(m[7].fields, "name=val_f1 better=larger label=F1_score main=1");
    assert_true(isnan(wl_mark_real(&m[8], "loss")));
    assert_int_equal(m[9].word, WL_MARK_STEP);
    assert_string_equal(m[9].fields, "step=4 samples=8 tokens=4096 total=10");
    assert_int_equal(m[10].word, WL_MARK_CHECKPOINT);
    assert_string_equal(m[10].fields, "step=4");
    assert_int_equal(m[11].word, WL_MARK_CHECKPOINT);
    assert_string_equal(m[11].fields, "");
    assert_int_equal(m[12].word, WL_MARK_EPOCH_BEGIN);
    assert_int_equal(m[13].word, WL_MARK_STOP);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_reads_back),
        cmocka_unit_test(nothing_is_written_without_a_marks_file),
        cmocka_unit_test(the_rank_comes_from_the_launcher),
        cmocka_unit_test(long_values_are_refused_and_newlines_replaced),
        cmocka_unit_test(threads_never_mix_their_lines),
        cmocka_unit_test(marks_of_python_read_back),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
