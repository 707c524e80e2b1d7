/* The guard and the cgroup of a job: no process outlives them, whichever is killed. */
#include "fixture.h"
#include "job/cgroup.h"

#include <errno.h>

static char cgroups[4096]; /* parent of the cgroups of our jobs */

/* From here on jobs of the test get their own cgroup; false: this machine has none for us. They are in a cgroup of this
 * test, since any other wattlaw ends what it finds left next to its own. */
static bool with_cgroup(void)
{
    const char *why = "", *parent;
    unsetenv("WATTLAW_CGROUP");
    if (!*cgroups && (parent = wl_cgroup_parent(&why, a))) {
        snprintf(cgroups, sizeof cgroups, "%s/test-job-XXXXXX", parent);
        if (!mkdtemp(cgroups)) *cgroups = '\0';
    }
    if (!*cgroups) print_message("no cgroup of our own: %s\n", why);
    if (*cgroups) setenv("WATTLAW_CGROUP", cgroups, 1);
    return *cgroups;
}

static void remove_cgroups(void)
{
    for (int i = 0; *cgroups && i < POLLS_MAX && rmdir(cgroups) < 0 && errno == EBUSY; i++) usleep(10000);
}

static void without_cgroup(void) { setenv("WATTLAW_CGROUP", "no", 1); }

/* A child that has left: no parent, its own session, an empty environment, and it ignores SIGTERM. */
static const char *script_with_runaway(const char *name)
{
    return wl_strf(a,
                   "(env -i PATH=\"$PATH\" setsid sh -c 'trap \"\" TERM; echo $$ > %s/%s; exec sleep 600' &) ; "
                   "while [ ! -s %s/%s ]; do sleep 0.01; done; exec sleep 600",
                   dir, name, dir, name);
}

static void kill_the_guard(const char *name)
{
    struct wl_job *job;
    struct wl_job_exit x;
    assert_int_equal(start(&job, script_with_runaway(name), false, 0.1), 0);
    pid_t runaway = wait_for_pid(name);
    kill(wl_job_pid(job), SIGKILL);
    assert_int_equal(wl_job_reap(job, &x, &e), WL_EJOB);
    assert_non_null(strstr(e.msg, "guard"));
    if (kill(runaway, 0) == 0) {
        kill(runaway, SIGKILL);
        fail_msg("a process that had left the job outlived its guard");
    }
}

static void a_killed_guard_leaves_no_process(void **state)
{
    (void)state;
    without_cgroup();
    kill_the_guard("left");
    if (with_cgroup()) kill_the_guard("left_cgroup");
}

/* Other children of wattlaw, such as the guard of its caps, do not belong to the job. */
static void a_killed_guard_spares_other_children(void **state)
{
    (void)state;
    struct wl_job *job;
    struct wl_job_exit x;
    without_cgroup();
    pid_t other = fork();
    if (other == 0) {
        for (;;) pause();
    }
    assert_int_equal(start(&job, wl_strf(a, "echo $$ > %s/spared; exec sleep 60", dir), false, 0.1), 0);
    wait_for_pid("spared");
    kill(wl_job_pid(job), SIGKILL);
    assert_int_equal(wl_job_reap(job, &x, &e), WL_EJOB);
    assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
}

/* wattlaw and the guard are killed: the next job ends what they left in its cgroup. */
static void the_next_job_ends_leftovers_of_a_killed_wattlaw_and_guard(void **state)
{
    (void)state;
    if (!with_cgroup()) skip();
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t owner = fork();
    if (owner == 0) {
        struct wl_job *job;
        setsid();
        if (start(&job, script_with_runaway("twice"), false, 0.1) < 0) _exit(1);
        pid_t guard = wl_job_pid(job);
        if (write(ends[1], &guard, sizeof guard) < 0) _exit(1);
        for (;;) pause();
    }
    pid_t guard, runaway = wait_for_pid("twice");
    assert_int_equal(read(ends[0], &guard, sizeof guard), sizeof guard);
    kill(owner, SIGSTOP); /* it must not notice that its guard dies */
    kill(guard, SIGKILL);
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
    assert_true(
        wait_gone(guard)); /* a process may still exist when kill() returns: until it ends the guard holds the lock */
    assert_int_equal(kill(runaway, 0), 0);
    assert_int_equal(run("exit 0").exit.status, 0);
    bool ended = wait_gone(runaway);
    kill(runaway, SIGKILL);
    assert_true(ended);
    close(ends[0]);
    close(ends[1]);
}

/* A chain of processes, each of which forks the next and exits: each lives for less time than a scan of /proc takes,
 * and is an orphan of the guard. Bounded in number and time to protect the machine. The last one writes a file if the
 * chain was not ended. */
static int fork_chain(const char *path)
{
    enum { LINKS = 3000, LINK_US = 300 };
    static const double LASTS_S = 5;
    int64_t until_ns = wl_now_ns() + (int64_t)(LASTS_S * WL_NS_PER_S);
    signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < LINKS && wl_now_ns() < until_ns; i++) {
        usleep(LINK_US);
        if (fork() > 0) _exit(0);
    }
    FILE *f = fopen(path, "w");
    if (f) fclose(f);
    return 0;
}

static void end_chain(const char *name)
{
    struct wl_job *job;
    int64_t t;
    const char *path = wl_path_join(a, dir, name);
    char *argv[] = { (char *)"/proc/self/exe", (char *)"chain", (char *)path, NULL };
    struct wl_job_spec spec = { .argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .grace_s = 0.1 };
    assert_int_equal(wl_job_prepare(&job, &spec, a, &e), 0);
    assert_int_equal(wl_job_start(job, &t, &e), 0);
    wl_job_stop(job, true);
    struct wl_job_exit x = end_of(job);
    if (x.stuck) fail_msg("left: %s", x.survivors);
    if (wl_is_file(path)) fail_msg("the chain ended by itself");
}

static void a_fork_chain_is_ended(void **state)
{
    (void)state;
    without_cgroup();
    end_chain("chain");
    if (with_cgroup()) end_chain("chain_cgroup");
}

/* A daemon that a measured command leaves on purpose is moved back to the cgroup of its user, and not ended. */
static void a_daemon_leaves_the_cgroup_of_its_job(void **state)
{
    (void)state;
    if (!with_cgroup()) skip();
    struct wl_job *job;
    assert_int_equal(start(&job, script_with_stray("let_go", "exit 0"), true, 0.1), 0);
    assert_int_equal(end_of(job).exit.status, 0);
    pid_t pid = wait_for_pid("let_go");
    char *text;
    size_t n;
    assert_int_equal(wl_file_read(wl_strf(a, "/proc/%ld/cgroup", (long)pid), 1 << 16, &text, &n, a, &e), 0);
    if (strstr(text, "wattlaw-job-")) fail_msg("the daemon is still in the job's cgroup: %s", text);
    assert_int_equal(run("exit 0").exit.status, 0);
    assert_int_equal(kill(pid, 0), 0);
    kill(pid, SIGKILL);
}

static void cgroups_are_removed(void **state)
{
    (void)state;
    if (!with_cgroup()) skip();
    const char *why;
    struct wl_arena *mine = wl_arena_new(a);
    const char *path = wl_strdup(a, wl_cgroup_path(wl_cgroup_new(&why, mine)));
    assert_true(wl_is_dir(path));
    wl_arena_free(mine);
    assert_false(wl_is_dir(path));
}

int main(int argc, char **argv)
{
    if (argc == 3) return fork_chain(argv[2]);
    if (!mkdtemp(dir)) return 1;
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_killed_guard_leaves_no_process),
        TEST(a_killed_guard_spares_other_children),
        TEST(the_next_job_ends_leftovers_of_a_killed_wattlaw_and_guard),
        TEST(a_fork_chain_is_ended),
        TEST(a_daemon_leaves_the_cgroup_of_its_job),
        TEST(cgroups_are_removed),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    failed += remove_dir() != 0;
    remove_cgroups();
    return failed;
}
