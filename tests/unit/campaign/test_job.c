/* A job under a guard: how it ended is told, and nothing of it is left, whoever dies first. */
#include "campaign/internal.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct wl_arena *a;
static struct wl_err e;
enum { PATIENCE = 6000 }; /* looks, a hundredth of a second apart */
static char dir[] = "/tmp/wattlaw-job-XXXXXX";

static int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    e = (struct wl_err) { 0 };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wl_arena_free(a);
    return 0;
}

static int start(struct wl_job **job, const char *script, bool pass_through, double grace_s)
{
    static char *argv[] = { (char *)"sh", (char *)"-c", NULL, NULL };
    argv[2] = (char *)script;
    struct wl_job_spec spec = {
        .argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .pass_through = pass_through, .grace_s = grace_s
    };
    int64_t t;
    assert_int_equal(wl_job_prepare(job, &spec, a, &e), 0);
    return wl_job_go(*job, &t, &e);
}

static struct wl_job_exit end_of(struct wl_job *job)
{
    struct wl_job_exit out;
    struct pollfd fd = { .fd = wl_job_fd(job), .events = POLLIN };
    if (poll(&fd, 1, PATIENCE * 10) != 1) fail_msg("the job did not end");
    if (wl_job_end(job, &out, &e) < 0) fail_msg("%s", e.msg);
    return out;
}

static struct wl_job_exit run(const char *script)
{
    struct wl_job *job;
    assert_int_equal(start(&job, script, false, 5), 0);
    return end_of(job);
}

static void status_and_signal_are_told(void **state)
{
    (void)state;
    assert_int_equal(run("exit 0").exit.status, 0);
    assert_int_equal(run("exit 7").exit.status, 7);
    struct wl_job_exit x = run("kill -9 $$");
    assert_int_equal(x.exit.signal, SIGKILL);
    assert_int_equal(x.exit.status, 128 + SIGKILL);
    x = run("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
    assert_true(x.exit.used.ru_utime.tv_usec + x.exit.used.ru_utime.tv_sec > 0);
}

static void a_command_that_is_not_there_is_named(void **state)
{
    (void)state;
    char *argv[] = { (char *)"no-such-command-here", NULL };
    struct wl_job_spec spec = { .argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1 };
    struct wl_job *job;
    int64_t t;
    assert_int_equal(wl_job_prepare(&job, &spec, a, &e), 0);
    assert_int_equal(wl_job_go(job, &t, &e), WL_ENOENT);
    assert_string_equal(e.msg, "no-such-command-here: command not found");
}

/* The pid that a script wrote into dir/name. */
static pid_t pid_in(const char *name)
{
    const char *path = wl_path_join(a, dir, name);
    for (int i = 0; i < PATIENCE; i++) {
        char *text = wl_file_tail(path, 64, a);
        if (strchr(text, '\n')) return (pid_t)atol(text);
        usleep(10000);
    }
    fail_msg("%s was not written", path);
    return 0;
}

static bool gone(pid_t pid)
{
    for (int i = 0; i < PATIENCE; i++) {
        if (kill(pid, 0) < 0) return true;
        usleep(10000);
    }
    return false;
}

static const char *script_with_stray(const char *name, const char *rest)
{
    /* a child in a session of its own, whose parent is gone at once, and deaf to SIGTERM */
    return wl_strf(a,
                   "(setsid sh -c 'trap \"\" TERM; echo $$ > %s/%s; exec sleep 60' &) ; "
                   "while [ ! -s %s/%s ]; do sleep 0.01; done; %s",
                   dir, name, dir, name, rest);
}

static void what_outlives_the_command_is_ended(void **state)
{
    (void)state;
    struct wl_job *job;
    assert_int_equal(start(&job, script_with_stray("stray", "exit 3"), false, 0.1), 0);
    struct wl_job_exit x = end_of(job);
    assert_int_equal(x.exit.status, 3);
    assert_int_equal(x.leftovers, 1);
    assert_true(gone(pid_in("stray")));
}

static void a_measured_command_may_leave_a_daemon(void **state)
{
    (void)state;
    struct wl_job *job;
    assert_int_equal(start(&job, script_with_stray("daemon", "exit 3"), true, 0.1), 0);
    assert_int_equal(end_of(job).exit.status, 3);
    pid_t pid = pid_in("daemon");
    assert_int_equal(kill(pid, 0), 0);
    kill(pid, SIGKILL);
}

/* Starts a script, which goes on until a signal ends it, and returns when its trap stands. */
static struct wl_job *start_trapped(const char *trap, const char *name, bool pass_through, double grace_s)
{
    struct wl_job *job;
    const char *script = wl_strf(a, "trap %s; echo $$ > %s/%s; while :; do sleep 0.01; done", trap, dir, name);
    assert_int_equal(start(&job, script, pass_through, grace_s), 0);
    pid_in(name);
    return job;
}

static void a_stopped_job_gets_its_grace(void **state)
{
    (void)state;
    struct wl_job *job = start_trapped("'exit 9' TERM", "obeys", false, 20);
    wl_job_stop(job, false);
    assert_int_equal(end_of(job).exit.status, 9);

    job = start_trapped("'' TERM", "deaf", false, 0.1);
    wl_job_stop(job, false);
    assert_int_equal(end_of(job).exit.signal, SIGKILL);

    job = start_trapped("'' TERM", "hurried", false, 60);
    wl_job_stop(job, true);
    assert_int_equal(end_of(job).exit.signal, SIGKILL);
}

static void a_signal_reaches_the_command(void **state)
{
    (void)state;
    struct wl_job *job = start_trapped("'exit 4' USR1", "signalled", true, 5);
    wl_job_signal(job, SIGUSR1);
    assert_int_equal(end_of(job).exit.status, 4);
}

static void the_tree_dies_with_its_owner(void **state)
{
    (void)state;
    pid_t owner = fork();
    if (owner == 0) {
        struct wl_job *job;
        if (start(&job, script_with_stray("orphan", "sleep 60"), false, 0.1) < 0) _exit(1);
        pause();
    }
    pid_t stray = pid_in("orphan");
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
    assert_true(gone(stray));
}

static void a_killed_guard_is_an_error(void **state)
{
    (void)state;
    struct wl_job *job;
    struct wl_job_exit x;
    assert_int_equal(start(&job, wl_strf(a, "echo $$ > %s/left; exec sleep 60", dir), false, 0.1), 0);
    pid_t command = pid_in("left");
    kill(wl_job_pid(job), SIGKILL);
    assert_int_equal(wl_job_end(job, &x, &e), WL_EJOB);
    assert_non_null(strstr(e.msg, "guard"));
    kill(command, SIGKILL);
}

static void it_ends_with_the_arena(void **state)
{
    (void)state;
    struct wl_job *job;
    assert_int_equal(start(&job, wl_strf(a, "echo $$ > %s/scoped; sleep 60", dir), false, 0.1), 0);
    pid_t command = pid_in("scoped");
    wl_arena_free(a);
    a = wl_arena_new(NULL);
    assert_true(gone(command));
}

int main(void)
{
    if (!mkdtemp(dir)) return 1;
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(status_and_signal_are_told),
        TEST(a_command_that_is_not_there_is_named),
        TEST(what_outlives_the_command_is_ended),
        TEST(a_measured_command_may_leave_a_daemon),
        TEST(a_stopped_job_gets_its_grace),
        TEST(a_signal_reaches_the_command),
        TEST(the_tree_dies_with_its_owner),
        TEST(a_killed_guard_is_an_error),
        TEST(it_ends_with_the_arena),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    static const char *const files[] = { "stray", "daemon", "obeys", "deaf", "hurried", "signalled", "orphan", "left", "scoped" };
    char path[64];
    for (size_t i = 0; i < WL_COUNT(files); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
    }
    rmdir(dir);
    return failed;
}
