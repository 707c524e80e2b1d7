/* Files and child processes. */
#include "base/base.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct wl_arena *a;
static struct wl_err e;
static char dir[] = "/tmp/wl-test-XXXXXX";

static int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    char *rm[] = { "rm", "-rf", dir, NULL };
    struct wl_process_result x;
    int rc = wl_process_run(&(struct wl_process_run) { .argv = rm }, NULL, &x, a, &e);
    wl_arena_free(a);
    return rc;
}

static void files_are_written_whole_or_not_at_all(void **state)
{
    (void)state;
    char *path = wl_path_join(a, dir, "f"), *text;
    size_t n;
    assert_int_equal(wl_file_write(path, "one", 3, &e), 0);
    assert_int_equal(wl_file_read(path, 10, &text, &n, a, &e), 0);
    assert_string_equal(text, "one");
    assert_int_equal(wl_file_read(path, 2, &text, &n, a, &e), WL_EINVAL);
    assert_int_equal(wl_file_write("/dev/full/x", "one", 3, &e) < 0, 1);
    assert_int_equal(wl_file_read("/proc/nowhere/f", 10, &text, &n, a, &e), WL_ENOENT);
    assert_non_null(strstr(e.msg, "/proc/nowhere/f"));
    assert_int_equal(wl_file_read("/proc", 10, &text, &n, a, &e), WL_EINVAL);
    assert_string_equal(e.msg, "/proc: expected a file, but this is a folder");
    struct wl_strs names;
    assert_int_equal(wl_dir_list(dir, &names, a, &e), 0);
    assert_int_equal(names.n, 1); /* no temporary file is left */
}

static void proc_files_are_read_whole(void **state)
{
    (void)state;
    char *text;
    size_t n;
    assert_int_equal(wl_file_read("/proc/self/status", 1 << 16, &text, &n, a, &e), 0);
    assert_true(wl_str_starts(text, "Name:"));
}

static void a_tail_starts_at_a_whole_line(void **state)
{
    (void)state;
    char *path = wl_path_join(a, dir, "log");
    assert_int_equal(wl_file_write(path, "first\nsecond\nthird\n", 19, &e), 0);
    assert_string_equal(wl_file_tail(path, 10, a), "third\n");
    assert_string_equal(wl_file_tail(path, 100, a), "first\nsecond\nthird\n");
    assert_string_equal(wl_file_tail("/proc/nowhere", 10, a), "");
}

static void missing_parent_folders_are_created(void **state)
{
    (void)state;
    char *deep = wl_path_join(a, dir, "a/b/c");
    assert_int_equal(wl_mkdirs(deep, &e), 0);
    assert_int_equal(wl_mkdirs(deep, &e), 0);
    assert_true(wl_is_dir(deep));
    char *file = wl_path_join(a, dir, "a/f");
    assert_int_equal(wl_file_write(file, "", 0, &e), 0);
    assert_true(wl_mkdirs(wl_path_join(a, file, "g"), &e) < 0);
    assert_true(wl_mkdirs(file, &e) < 0);
}

/* Those that were made, and of them those that are empty. */
static void folders_that_were_made_are_removed(void **state)
{
    (void)state;
    size_t made;
    char *there = wl_path_join(a, dir, "there"), *deep = wl_path_join(a, dir, "there//x/y"), *file;
    assert_int_equal(wl_mkdirs_made(there, &made, &e), 0);
    assert_int_equal(made, strlen(there));
    assert_int_equal(wl_mkdirs_made(there, &made, &e), 0);
    assert_int_equal(made, 0);
    wl_rmdirs(there, made);
    assert_int_equal(wl_mkdirs_made(deep, &made, &e), 0);
    assert_int_equal(made, strlen(deep) - strlen("/y"));
    wl_rmdirs(deep, made);
    assert_true(wl_is_dir(there));
    assert_false(wl_is_dir(wl_path_join(a, there, "x")));
    assert_int_equal(wl_mkdirs_made(deep, &made, &e), 0);
    file = wl_path_join(a, there, "x/f");
    assert_int_equal(wl_file_write(file, "", 0, &e), 0);
    wl_rmdirs(deep, made);
    assert_false(wl_is_dir(deep));
    assert_true(wl_is_file(file));
    assert_true(wl_mkdirs_made(wl_path_join(a, file, "g"), &made, &e) < 0);
    assert_int_equal(made, 0);
}

static void exits_and_signals_are_distinguished(void **state)
{
    (void)state;
    struct wl_process_result x;
    char *text;
    assert_int_equal(wl_process_run(&(struct wl_process_run) { .argv =
                                                                   (char *[]) { "sh", "-c", "echo hi; exit 3", NULL },
                                                               .max = 100 },
                                    &text, &x, a, &e),
                     0);
    assert_string_equal(text, "hi\n");
    assert_int_equal(x.status, 3);
    assert_int_equal(x.signal, 0);
    assert_int_equal(wl_process_run(&(struct wl_process_run) { .argv =
                                                                   (char *[]) { "sh", "-c", "kill -TERM $$", NULL } },
                                    NULL, &x, a, &e),
                     0);
    assert_int_equal(x.status, 128 + SIGTERM);
    assert_int_equal(x.signal, SIGTERM);
}

static void only_stdin_of_a_child_is_dev_null(void **state)
{
    (void)state;
    struct wl_process_result x;
    char *text;
    char *argv[] = { "sh", "-c", "for f in 0 1 2 3 4 5 6 7 8 9; do readlink /proc/$$/fd/$f; done | grep -c /dev/null",
                     NULL };
    assert_int_equal(wl_process_run(&(struct wl_process_run) { .argv = argv, .max = 100, .merge_stderr = true }, &text,
                                    &x, a, &e),
                     0);
    assert_string_equal(text, "1\n");
}

static void a_missing_command_is_an_error_of_spawn(void **state)
{
    (void)state;
    pid_t pid;
    struct wl_process_spawn spawn = {
        .argv = (char *[]) { "no-such-command-here", NULL }, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1
    };
    assert_int_equal(wl_process_spawn(&spawn, &pid, &e), WL_ENOENT);
    assert_string_equal(e.msg, "no-such-command-here: command not found");
    spawn.argv = (char *[]) { "/etc/passwd", NULL };
    assert_int_equal(wl_process_spawn(&spawn, &pid, &e), WL_EPERM);
    spawn.argv = (char *[]) { "true", NULL };
    spawn.dir = "/proc/nowhere";
    assert_int_equal(wl_process_spawn(&spawn, &pid, &e), WL_ENOENT);
    assert_non_null(strstr(e.msg, "/proc/nowhere"));
}

static void variables_are_added_to_the_environment(void **state)
{
    (void)state;
    setenv("WL_TEST_A", "ours", 1);
    struct wl_strs env = { 0 };
    wl_strs_add(a, &env, "WL_TEST_A=theirs");
    wl_strs_add(a, &env, "WL_TEST_B=x");
    char *path = wl_path_join(a, dir, "env");
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    struct wl_process_spawn spawn = {
        .argv = (char *[]) { "sh", "-c", "echo $WL_TEST_A $WL_TEST_B; env | grep -c WL_TEST_A", NULL },
        .env = &env,
        .stdin_fd = -1,
        .stdout_fd = fd,
        .stderr_fd = -1,
        .own_group = true
    };
    pid_t pid;
    struct wl_process_result x;
    bool done;
    char *text;
    assert_int_equal(wl_process_spawn(&spawn, &pid, &e), 0);
    close(fd);
    assert_int_equal(wl_process_wait(pid, true, &done, &x, &e), 0);
    assert_int_equal(wl_file_read(path, 100, &text, NULL, a, &e), 0);
    assert_string_equal(text, "theirs x\n1\n");
}

/* What a progress bar into a log says of this share, with so much left. */
static const char *progress_line(double done, double total, double left_s)
{
    struct wl_progress p = { .what = "job", .started_ns = wl_now_ns() - 60 * WL_NS_PER_S };
    const char *path = wl_path_join(a, dir, "stderr");
    int was = dup(STDERR_FILENO), to = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *text;
    p.shown_ns = p.started_ns;
    assert_true(dup2(to, STDERR_FILENO) >= 0);
    wl_progress_update(&p, done, total, left_s, "note");
    assert_true(dup2(was, STDERR_FILENO) >= 0);
    close(was);
    close(to);
    assert_int_equal(wl_file_read(path, 1000, &text, NULL, a, &e), 0);
    return text;
}

static void progress_shows_100_percent_only_at_the_end(void **state)
{
    (void)state;
    assert_non_null(strstr(progress_line(29, 100, 12.4), "29 %, 12 s left, note"));
    assert_non_null(strstr(progress_line(23.99, 24, 0.2), "99 %, 1 s left, note"));
    assert_non_null(strstr(progress_line(23.99, 24, 0), "99 %, note"));
    assert_non_null(strstr(progress_line(1, 4, -1), "25 %, 3m00s left, note"));
    assert_non_null(strstr(progress_line(4, 4, -1), "100 %, note"));
}

/* Anybody may have put something of its name into /tmp. */
static void state_without_a_home_is_our_own(void **state)
{
    (void)state;
    static const char *const variables[] = { "HOME", "XDG_STATE_HOME", "WATTLAW_STATE_DIR" };
    const char *kept[WL_COUNT(variables)];
    const bool root = geteuid() == 0;
    for (size_t i = 0; i < WL_COUNT(variables); i++) {
        kept[i] = getenv(variables[i]) ? wl_strdup(a, getenv(variables[i])) : NULL;
        unsetenv(variables[i]);
    }
    if (root && seteuid(61235)) skip(); /* there are no other users in this container */
    const char *path = wl_strf(a, "/tmp/wattlaw-state-%ld", (long)geteuid());
    assert_string_equal(wl_state_dir(NULL, a), path);
    assert_int_equal(symlink(dir, path), 0);
    assert_string_equal(wl_state_dir(NULL, a), "/nonexistent/wattlaw");
    assert_int_equal(unlink(path) || mkdir(path, 0700), 0);
    assert_string_equal(wl_state_dir(NULL, a), path);
    assert_int_equal(chmod(path, 0777), 0);
    assert_string_equal(wl_state_dir(NULL, a), "/nonexistent/wattlaw");
    rmdir(path);
    if (root) assert_int_equal(seteuid(0), 0);
    for (size_t i = 0; i < WL_COUNT(variables); i++)
        if (kept[i]) setenv(variables[i], kept[i], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_written_whole_or_not_at_all),
        cmocka_unit_test(proc_files_are_read_whole),
        cmocka_unit_test(a_tail_starts_at_a_whole_line),
        cmocka_unit_test(missing_parent_folders_are_created),
        cmocka_unit_test(folders_that_were_made_are_removed),
        cmocka_unit_test(exits_and_signals_are_distinguished),
        cmocka_unit_test(only_stdin_of_a_child_is_dev_null),
        cmocka_unit_test(a_missing_command_is_an_error_of_spawn),
        cmocka_unit_test(variables_are_added_to_the_environment),
        cmocka_unit_test(progress_shows_100_percent_only_at_the_end),
        cmocka_unit_test(state_without_a_home_is_our_own),
    };
    return cmocka_run_group_tests_name("system", tests, setup, teardown);
}
