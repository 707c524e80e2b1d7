/* The table of choices and its file: what was written is read back, what is damaged is refused whole. */
#include "nn/choices/choices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct wl_arena *a;
static char *folder, *path;

static int set_up(void **state)
{
    (void)state;
    char name[] = "/tmp/wl-choices-XXXXXX";
    a = wl_arena_new(NULL);
    folder = wl_strdup(a, mkdtemp(name));
    path = wl_strf(a, "%s/new/choices.txt", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    rmdir(wl_path_dir(a, path));
    rmdir(folder);
    wl_arena_free(a);
    return 0;
}

static const struct wl_choice rows[] = {
    { "EPYC, oneDNN 2.6.3, 2 threads", "conv2d forward f32 x [2,3] bias", "winograd", "direct", 1.25e-3, 2.5e-3 },
    { "EPYC, oneDNN 2.6.3, 1 thread", "conv2d forward f32 x [2,3] bias", "direct", "winograd", 1e-6, 1. / 3 },
};

static struct wl_choices *table(size_t n)
{
    struct wl_choices *c = wl_choices_new(a);
    for (size_t i = 0; i < n; i++) wl_choices_add(c, &rows[i]);
    return c;
}

static void save(struct wl_choices *c)
{
    struct wl_err e = { 0 };
    if (wl_choices_save(c, path, &e)) fail_msg("%s", e.msg);
    assert_int_equal(c->added, 0);
}

static struct wl_choices *load(void)
{
    struct wl_choices *c = wl_choices_new(a);
    struct wl_err e = { 0 };
    if (wl_choices_load(c, path, &e)) fail_msg("%s", e.msg);
    assert_int_equal(c->added, 0);
    return c;
}

static void test_saved_choices_are_loaded(void **state)
{
    (void)state;
    assert_int_equal(load()->n, 0); /* no file yet */
    save(table(2));
    struct wl_choices *c = load();
    assert_int_equal(c->n, 2);
    assert_null(wl_choices_find(c, rows[0].question)); /* on no machine */
    for (int i = 0; i < 2; i++) {
        c->machine = rows[i].machine;
        const struct wl_choice *x = wl_choices_find(c, rows[i].question);
        assert_non_null(x);
        assert_string_equal(x->answer, rows[i].answer);
        assert_string_equal(x->runner_up, rows[i].runner_up);
        assert_true(x->answer_s > 0.999999 * rows[i].answer_s && x->answer_s < 1.000001 * rows[i].answer_s);
    }
    c->machine = "another";
    assert_null(wl_choices_find(c, rows[0].question));
}

static void test_saving_keeps_choices_of_others(void **state)
{
    (void)state;
    struct wl_choices *mine = table(1), *theirs = wl_choices_new(a);
    wl_choices_add(theirs, &rows[1]);
    save(theirs);
    save(mine);
    assert_int_equal(load()->n, 2);
}

static void write_text(const char *text, size_t n)
{
    struct wl_err e = { 0 };
    assert_int_equal(wl_mkdirs(wl_path_dir(a, path), &e), 0);
    assert_int_equal(wl_file_write(path, text, n, &e), 0);
}

#define TEXT(s) s, sizeof(s) - 1

static void test_damaged_files_are_refused_and_replaced(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n;
        const char *says;
    } bad[] = {
        { TEXT(""), ":1: expected 'wattlaw-choices 1'" },
        { TEXT("wattlaw-choices 2\n"), ":1: expected" },
        { TEXT("\177ELF\0\1\2"), "not a text file" },
        { TEXT("wattlaw-choices 1\nm\tq\tdirect\t1\twinograd\t2\nm\tr\tdirect\t1\twinograd"), ":3: the last line" },
        { TEXT("wattlaw-choices 1\nm\tq\tdirect\t1\twinograd\t2\nm\tr\tdirect\t1\n"), ":3: expected machine" },
        { TEXT("wattlaw-choices 1\nm\tq\tdirect\tfast\twinograd\t2\n"), ":2: expected machine" },
        { TEXT("wattlaw-choices 1\nm\tq\tdirect\t-1\twinograd\t2\n"), ":2: expected machine" },
        { TEXT("wattlaw-choices 1\nm\t\tdirect\t1\twinograd\t2\n"), ":2: expected machine" },
    };
    for (size_t i = 0; i < WL_COUNT(bad); i++) {
        struct wl_choices *c = wl_choices_new(a);
        struct wl_err e = { 0 };
        write_text(bad[i].text, bad[i].n);
        assert_int_equal(wl_choices_load(c, path, &e), WL_EINVAL);
        assert_non_null(strstr(e.msg, path));
        if (!strstr(e.msg, bad[i].says)) fail_msg("'%s' does not say '%s'", e.msg, bad[i].says);
        assert_int_equal(c->n, 0);
        save(table(2)); /* replaces it */
        assert_int_equal(load()->n, 2);
    }
}

/* Of lines with one question the first one counts; a file of many lines is read in a moment. */
static void test_repeated_and_many_lines(void **state)
{
    (void)state;
    enum { LINES = 100000 };
    struct wl_text t = WL_TEXT(a);
    wl_text_add(&t, "wattlaw-choices 1\n");
    for (int i = 0; i < LINES; i++) wl_text_addf(&t, "m\tq %d\t%d\t1\tdirect\t2\n", i * 7919 % LINES, i);
    wl_text_add(&t, "m\tq 7919\tdirect\t1\twinograd\t2\nother\tq 0\tdirect\t1\twinograd\t2\n");
    write_text(t.s, t.n);
    struct wl_choices *c = wl_choices_new(a);
    wl_choices_add(c, &(struct wl_choice) { "m", "q 0", "mine", "direct", 1, 2 });
    c->machine = "m";
    struct wl_err e = { 0 };
    const int64_t from_ns = wl_clock_thread_cpu_ns();
    if (wl_choices_load(c, path, &e)) fail_msg("%s", e.msg);
    save(c);
    assert_true(wl_clock_thread_cpu_ns() - from_ns < 10 * (int64_t)WL_NS_PER_S); /* each against each: minutes */
    assert_int_equal(c->n, LINES + 1);
    assert_string_equal(wl_choices_find(c, "q 0")->answer, "mine");
    assert_string_equal(wl_choices_find(c, "q 7919")->answer, "1");
    assert_int_equal(load()->n, LINES + 1);
}

static void test_pipe_is_not_waited_for(void **state)
{
    (void)state;
    struct wl_err e = { 0 };
    assert_int_equal(wl_mkdirs(wl_path_dir(a, path), &e), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(wl_choices_load(wl_choices_new(a), path, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "pipe"));
}

static void test_missing_or_impossible_folder(void **state)
{
    (void)state;
    struct wl_err e = { 0 };
    char *below = wl_strf(a, "%s/choices.txt", path);
    write_text(TEXT("a file where a folder is wanted"));
    struct wl_choices *c = table(1);
    assert_int_not_equal(wl_choices_save(c, below, &e), 0);
    assert_int_equal(c->added, 1);
    assert_non_null(strstr(e.msg, path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_saved_choices_are_loaded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_saving_keeps_choices_of_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_files_are_refused_and_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_repeated_and_many_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pipe_is_not_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_or_impossible_folder, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
