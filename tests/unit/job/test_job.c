/* A job under a guard: its exit status is reported and all its processes end, whichever process dies first. */
#include "fixture.h"

#include <fcntl.h>

static void exit_status_and_signal_are_reported(void **state)
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

static void a_missing_command_is_named(void **state)
{
    (void)state;
    char *argv[] = { (char *)"no-such-command-here", NULL };
    struct wl_job_spec spec = { .argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1 };
    struct wl_job *job;
    int64_t t;
    assert_int_equal(wl_job_prepare(&job, &spec, a, &e), 0);
    assert_int_equal(wl_job_start(job, &t, &e), WL_ENOENT);
    assert_string_equal(e.msg, "no-such-command-here: command not found");
}

static void processes_that_outlive_the_command_are_ended(void **state)
{
    (void)state;
    struct wl_job *job;
    assert_int_equal(start(&job, script_with_stray("stray", "exit 3"), false, 0.1), 0);
    struct wl_job_exit x = end_of(job);
    assert_int_equal(x.exit.status, 3);
    assert_int_equal(x.leftovers, 1);
    assert_true(wait_gone(wait_for_pid("stray")));
}

static void a_measured_command_may_leave_a_daemon(void **state)
{
    (void)state;
    struct wl_job *job;
    assert_int_equal(start(&job, script_with_stray("daemon", "exit 3"), true, 0.1), 0);
    assert_int_equal(end_of(job).exit.status, 3);
    pid_t pid = wait_for_pid("daemon");
    assert_int_equal(kill(pid, 0), 0);
    kill(pid, SIGKILL);
}

/* Writes another line for each that is read, as fast as it is read. */
struct endless {
    int fd, lines;
};

static void write_another(void *ctx, int64_t t_ns, const char *line, size_t n)
{
    struct endless *w = ctx;
    (void)t_ns, (void)line, (void)n;
    assert_int_equal(write(w->fd, "more\n", 5), 5);
    if (++w->lines > 100) fail_msg("what is written after the end of the job is waited for");
}

static void a_daemon_that_writes_without_end_is_not_waited_for(void **state)
{
    (void)state;
    struct endless w = { 0 };
    struct wl_pump *p;
    int null = open("/dev/null", O_WRONLY);
    assert_int_equal(wl_pump_open(&p, null, write_another, &w, a, &e), 0);
    w.fd = dup(wl_pump_write_fd(p));
    wl_pump_close_write_fd(p);
    assert_int_equal(write(w.fd, "one\ntwo\nthree", 13), 13);
    wl_pump_drain(p);
    assert_int_equal(w.lines, 3);
    close(w.fd);
    close(null);
}

/* Starts a script that runs until a signal ends it, and returns once its trap is set. */
static struct wl_job *start_with_trap(const char *trap, const char *name, bool pass_through, double grace_s)
{
    struct wl_job *job;
    const char *script = wl_strf(a, "trap %s; echo $$ > %s/%s; while :; do sleep 0.01; done", trap, dir, name);
    assert_int_equal(start(&job, script, pass_through, grace_s), 0);
    wait_for_pid(name);
    return job;
}

static void a_stopped_job_gets_its_grace_time(void **state)
{
    (void)state;
    struct wl_job *job = start_with_trap("'exit 9' TERM", "exits_on_term", false, 20);
    wl_job_stop(job, false);
    assert_int_equal(end_of(job).exit.status, 9);

    job = start_with_trap("'' TERM", "ignores_term", false, 0.1);
    wl_job_stop(job, false);
    assert_int_equal(end_of(job).exit.signal, SIGKILL);

    job = start_with_trap("'' TERM", "killed_at_once", false, 60);
    wl_job_stop(job, true);
    assert_int_equal(end_of(job).exit.signal, SIGKILL);
}

static void a_signal_reaches_the_command(void **state)
{
    (void)state;
    struct wl_job *job = start_with_trap("'exit 4' USR1", "signalled", true, 5);
    wl_job_signal(job, SIGUSR1);
    assert_int_equal(end_of(job).exit.status, 4);
}

static void the_process_tree_ends_with_its_owner(void **state)
{
    (void)state;
    pid_t owner = fork();
    if (owner == 0) {
        struct wl_job *job;
        if (start(&job, script_with_stray("orphan", "sleep 60"), false, 0.1) < 0) _exit(1);
        pause();
    }
    pid_t stray = wait_for_pid("orphan");
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
    assert_true(wait_gone(stray));
}

static void a_job_ends_with_its_arena(void **state)
{
    (void)state;
    struct wl_job *job;
    assert_int_equal(start(&job, wl_strf(a, "echo $$ > %s/scoped; sleep 60", dir), false, 0.1), 0);
    pid_t command = wait_for_pid("scoped");
    wl_arena_free(a);
    a = wl_arena_new(NULL);
    assert_true(wait_gone(command));
}

int main(void)
{
    if (!mkdtemp(dir)) return 1;
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(exit_status_and_signal_are_reported),
        TEST(a_missing_command_is_named),
        TEST(processes_that_outlive_the_command_are_ended),
        TEST(a_measured_command_may_leave_a_daemon),
        TEST(a_daemon_that_writes_without_end_is_not_waited_for),
        TEST(a_stopped_job_gets_its_grace_time),
        TEST(a_signal_reaches_the_command),
        TEST(the_process_tree_ends_with_its_owner),
        TEST(a_job_ends_with_its_arena),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + (remove_dir() != 0);
}
