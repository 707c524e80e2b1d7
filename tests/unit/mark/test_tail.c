#include "mark/mark.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    struct wl_arena *arena;
    char dir[64];
    const char *path;
};

static int setup(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct fixture *p = wl_new(a, struct fixture);
    p->arena = a;
    snprintf(p->dir, sizeof p->dir, "/tmp/wattlaw-tail-XXXXXX");
    if (!mkdtemp(p->dir)) return -1;
    p->path = wl_path_join(a, p->dir, "marks");
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *p = *state;
    char dir[64];
    memcpy(dir, p->dir, sizeof dir);
    unlink(p->path);
    wl_arena_free(p->arena);
    return rmdir(dir);
}

static void put(const struct fixture *p, int flags, const char *text)
{
    int fd = open(p->path, O_WRONLY | O_CREAT | flags, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void append(const struct fixture *p, const char *text) { put(p, O_APPEND, text); }

/* Expects one line, or NULL for "no more at the moment". */
static void expect(struct wl_tail *t, bool cr_too, const char *want)
{
    const char *line;
    struct wl_err e;
    size_t n;
    assert_int_equal(wl_tail_line(t, cr_too, &line, &n, &e), want ? 1 : 0);
    if (!want) return;
    assert_int_equal(n, strlen(want));
    assert_memory_equal(line, want, n);
}

static void only_whole_lines_are_returned(void **state)
{
    struct fixture *p = *state;
    struct wl_tail *t = wl_tail_new(p->path, p->arena);
    const char *line;
    struct wl_err e;
    size_t n;
    expect(t, false, NULL); /* not there yet */
    append(p, "one\ntw");
    expect(t, false, "one");
    expect(t, false, NULL); /* half a line is not given out */
    append(p, "o\n\nthree");
    expect(t, false, "two");
    assert_int_equal(wl_tail_line_number(t), 2);
    expect(t, false, "");
    expect(t, false, NULL);
    assert_int_equal(wl_tail_rest(t, &line, &n, &e), 1);
    assert_memory_equal(line, "three", n);
    assert_int_equal(wl_tail_line_number(t), 4);
    assert_int_equal(wl_tail_rest(t, &line, &n, &e), 0);
}

static void a_truncated_file_is_read_from_its_start(void **state)
{
    struct fixture *p = *state;
    struct wl_tail *t = wl_tail_new(p->path, p->arena);
    append(p, "first\nsecond\nhalf");
    expect(t, false, "first");
    expect(t, false, "second");
    expect(t, false, NULL);
    put(p, O_TRUNC, "again\n");
    expect(t, false, "again");
    assert_int_equal(wl_tail_line_number(t), 1);
    expect(t, false, NULL);
}

static void a_replaced_file_is_read_from_its_start(void **state)
{
    struct fixture *p = *state;
    struct wl_tail *t = wl_tail_new(p->path, p->arena);
    const char *aside = wl_path_join(p->arena, p->dir, "aside");
    append(p, "old file\n");
    expect(t, false, "old file");
    assert_int_equal(rename(p->path, aside), 0); /* kept, so that its inode is not given out again */
    append(p, "a new and longer file\n");
    expect(t, false, "a new and longer file");
    unlink(aside);
}

static void the_rest_of_a_long_line_is_skipped(void **state)
{
    struct fixture *p = *state;
    struct wl_tail *t = wl_tail_new(p->path, p->arena);
    char *big = wl_alloc(p->arena, 200001);
    const char *line;
    struct wl_err e;
    size_t n;
    memset(big, 'x', 200000);
    append(p, big);
    append(p, "\nnext\n");
    assert_int_equal(wl_tail_line(t, false, &line, &n, &e), 1);
    assert_int_equal(n, 65536);
    expect(t, false, "next");
    assert_int_equal(wl_tail_line_number(t), 2);
}

static void a_carriage_return_may_end_a_line(void **state)
{
    struct fixture *p = *state;
    struct wl_tail *t = wl_tail_new(p->path, p->arena);
    append(p, "10%\r20%\r\nEpoch 1\r");
    expect(t, true, "10%");
    expect(t, true, "20%");
    expect(t, true, "");
    expect(t, true, "Epoch 1");
    expect(t, true, NULL);
}

/* Broken lines cost themselves only, and are named by file and line. */
static void a_malformed_line_affects_only_itself(void **state)
{
    struct fixture *p = *state;
    struct wl_mark_tail *t = wl_mark_tail_new(p->path, p->arena);
    struct wl_mark m;
    struct wl_err e;
    append(p, "1 0 start workers=2\nTraceback (most recent call last):\n2 0 epoch-begin epoch=1\n3 0 epo");
    assert_int_equal(wl_mark_tail_next(t, &m, &e), 1);
    assert_int_equal(m.word, WL_MARK_START);
    assert_int_equal(wl_mark_tail_next(t, &m, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "marks:2: time 'Traceback'"));
    assert_int_equal(wl_mark_tail_next(t, &m, &e), 1);
    assert_int_equal(m.word, WL_MARK_EPOCH_BEGIN);
    assert_int_equal(wl_mark_tail_next(t, &m, &e), 0);
    assert_int_equal(wl_mark_tail_last(t, &m, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "marks:4: last line without newline: '3 0 epo'"));
    assert_int_equal(wl_mark_tail_last(t, &m, &e), 0);
}

static void assert_refused(const struct fixture *p, const char *path)
{
    struct wl_tail *t = wl_tail_new(path, p->arena);
    const char *line;
    struct wl_err e;
    size_t n;
    assert_int_equal(wl_tail_line(t, false, &line, &n, &e), WL_EIO);
    assert_string_equal(e.msg, wl_strf(p->arena, "%s: not a regular file", path));
}

/* The workload may have put anything in place of its marks: a pipe would block, a device never ends. */
static void only_regular_files_are_followed(void **state)
{
    const struct fixture *p = *state;
    assert_refused(p, p->dir);
    assert_int_equal(symlink("/dev/zero", p->path), 0);
    assert_refused(p, p->path);
    unlink(p->path);
    assert_int_equal(mkfifo(p->path, 0600), 0);
    assert_refused(p, p->path);
}

/* A writer that is faster than we are. */
static void a_round_ends_however_fast_the_file_grows(void **state)
{
    const struct fixture *p = *state;
    struct wl_tail *t = wl_tail_new(p->path, p->arena);
    const char *line;
    struct wl_err e;
    size_t n;
    append(p, "1\n2\n3\n");
    for (int round = 0, lines = 3, next; round < 3; round++, lines = next) {
        wl_tail_round(t);
        for (next = 0; wl_tail_line(t, false, &line, &n, &e) == 1; next += 2) {
            if (--lines < 0) fail_msg("round %d returns lines that were written in it", round);
            append(p, "more\nand more\n");
        }
        assert_int_equal(lines, 0);
    }
}

static void a_file_that_is_replaced_all_the_time_does_not_hold_a_round(void **state)
{
    const struct fixture *p = *state;
    struct wl_tail *t = wl_tail_new(p->path, p->arena);
    const char *aside = wl_path_join(p->arena, p->dir, "aside"), *line;
    struct wl_err e;
    size_t n;
    int lines = 0;
    append(p, "first\n");
    wl_tail_round(t);
    for (; wl_tail_line(t, false, &line, &n, &e) == 1 && lines < 10; lines++) {
        assert_int_equal(rename(p->path, aside), 0);
        append(p, "again\n");
    }
    assert_int_equal(lines, 2); /* and what the first replacement had */
    wl_tail_round(t);
    expect(t, false, "again");
    unlink(aside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_whole_lines_are_returned, setup, teardown),
        cmocka_unit_test_setup_teardown(a_truncated_file_is_read_from_its_start, setup, teardown),
        cmocka_unit_test_setup_teardown(a_replaced_file_is_read_from_its_start, setup, teardown),
        cmocka_unit_test_setup_teardown(the_rest_of_a_long_line_is_skipped, setup, teardown),
        cmocka_unit_test_setup_teardown(a_carriage_return_may_end_a_line, setup, teardown),
        cmocka_unit_test_setup_teardown(a_malformed_line_affects_only_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(only_regular_files_are_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_round_ends_however_fast_the_file_grows, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_is_replaced_all_the_time_does_not_hold_a_round, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
