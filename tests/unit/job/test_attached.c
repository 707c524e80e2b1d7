/* A process that runs already: what ends its measuring, and that it is left alone. */
#include "fixture.h"

#include <sys/socket.h>

static pid_t sleeper(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        execlp("sleep", "sleep", "60", (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

static bool lives(pid_t pid) { return waitpid(pid, NULL, WNOHANG) == 0; }

static void end_sleeper(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

struct attached {
    pid_t pid;
    int ours; /* end of the socket; -1: none */
    int theirs;
    struct wl_job *job;
};

static struct attached attach(bool control)
{
    struct attached t = { .pid = sleeper(), .ours = -1, .theirs = -1 };
    int fds[2];
    int64_t started_ns;
    if (control) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        t.ours = fds[0];
        t.theirs = fds[1];
    }
    const struct wl_job_attach spec = { .pid = t.pid, .control = t.theirs, .greeting = "started here\n" };
    assert_int_equal(wl_job_attach(&t.job, &spec, a, &e), 0);
    assert_int_equal(wl_job_pid(t.job), t.pid);
    assert_int_equal(wl_job_start(t.job, &started_ns, &e), 0);
    if (control) {
        char line[64] = "";
        assert_int_equal(read(t.ours, line, sizeof line), 13);
        assert_string_equal(line, "started here\n");
    }
    return t;
}

static bool has_ended(const struct attached *t, int ms)
{
    struct pollfd p = { .fd = wl_job_fd(t->job), .events = POLLIN };
    return poll(&p, 1, ms) > 0;
}

/* What wl_job_reap says; the sleeper lives on, unless it is the one that ended. */
static struct wl_job_exit reap(struct attached *t, bool alive)
{
    struct wl_job_exit x;
    assert_true(has_ended(t, 5000));
    assert_int_equal(wl_job_reap(t->job, &x, &e), 0);
    assert_true(lives(t->pid) == alive);
    if (alive) end_sleeper(t->pid);
    if (t->ours >= 0) close(t->ours);
    if (t->theirs >= 0) close(t->theirs);
    assert_int_equal(x.leftovers, 0);
    assert_int_equal(x.stuck, 0);
    return x;
}

static void say(const struct attached *t, const char *text)
{
    assert_int_equal(write(t->ours, text, strlen(text)), (ssize_t)strlen(text));
}

static struct wl_job_exit said(const char *text)
{
    struct attached t = attach(true);
    assert_false(has_ended(&t, 0));
    say(&t, text);
    return reap(&t, true);
}

static void its_end_is_said(void **state)
{
    (void)state;
    struct wl_job_exit x = said("end\n");
    assert_int_equal(x.exit.status, 0);
    assert_string_equal(x.failed, "");
    assert_true(x.t_ns <= wl_now_ns() && x.t_ns > wl_now_ns() - 5 * (int64_t)WL_NS_PER_S);
    x = said("failed ValueError: 3\nend\n");
    assert_int_equal(x.exit.status, 1);
    assert_string_equal(x.failed, "ValueError: 3");
}

static void other_words_are_no_end(void **state)
{
    (void)state;
    char endless[4 * WL_KILL_TEXT_SIZE];
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    const char *const texts[] = { "ended\n", "failed\n", "\n", endless };
    for (size_t i = 0; i < WL_COUNT(texts); i++) {
        const struct wl_job_exit x = said(texts[i]);
        assert_int_equal(x.exit.status, 1);
        assert_non_null(strstr(x.failed, "did not say how the measured part ended"));
    }
}

/* It may come in pieces. */
static void a_line_is_waited_for(void **state)
{
    (void)state;
    struct attached t = attach(true);
    say(&t, "en");
    pid_t later = fork();
    if (later == 0) {
        usleep(50000);
        ssize_t put = write(t.ours, "d\n", 2);
        _exit(put != 2);
    }
    assert_int_equal(reap(&t, true).exit.status, 0);
    waitpid(later, NULL, 0);
}

static void a_closed_socket_is_a_failure(void **state)
{
    (void)state;
    struct attached t = attach(true);
    assert_int_equal(shutdown(t.ours, SHUT_WR), 0);
    const struct wl_job_exit x = reap(&t, true);
    assert_int_equal(x.exit.status, 1);
    assert_non_null(strstr(x.failed, "did not say how"));
}

/* Its files are closed before it has ended. */
static void a_killed_process_that_held_the_socket_has_ended(void **state)
{
    (void)state;
    struct attached t = attach(true);
    shutdown(t.ours, SHUT_WR);
    pid_t later = fork();
    if (later == 0) {
        usleep(50000);
        kill(t.pid, SIGKILL);
        _exit(0);
    }
    assert_non_null(strstr(reap(&t, false).failed, "ended while it was measured"));
    waitpid(later, NULL, 0);
}

static void a_process_may_end_by_itself(void **state)
{
    (void)state;
    struct attached t = attach(true);
    kill(t.pid, SIGKILL);
    struct wl_job_exit x = reap(&t, false);
    assert_int_equal(x.exit.status, 1);
    assert_non_null(strstr(x.failed, "ended while it was measured"));

    t = attach(false);
    assert_false(has_ended(&t, 0));
    kill(t.pid, SIGKILL);
    x = reap(&t, false);
    assert_int_equal(x.exit.status, 0);
    assert_string_equal(x.failed, "");
}

/* Its last word counts, although it has ended when that is read. */
static void a_word_before_its_end_counts(void **state)
{
    (void)state;
    struct attached t = attach(true);
    say(&t, "end\n");
    kill(t.pid, SIGKILL);
    waitpid(t.pid, NULL, 0);
    struct wl_job_exit x;
    assert_int_equal(wl_job_reap(t.job, &x, &e), 0);
    assert_int_equal(x.exit.status, 0);
    close(t.ours);
    close(t.theirs);
}

static void a_signal_ends_the_measuring_alone(void **state)
{
    (void)state;
    struct attached t = attach(true);
    wl_job_signal(t.job, SIGINT);
    wl_job_stop(t.job, true);
    assert_int_equal(reap(&t, true).exit.status, 128 + SIGINT);
    t = attach(false); /* as the user ends it */
    wl_job_signal(t.job, SIGINT);
    assert_int_equal(reap(&t, true).exit.status, 0);
}

static void a_missing_process_is_named(void **state)
{
    (void)state;
    struct wl_job *job;
    const pid_t gone = sleeper();
    end_sleeper(gone);
    const struct wl_job_attach spec = { .pid = gone, .control = -1 };
    assert_int_equal(wl_job_attach(&job, &spec, a, &e), WL_EINVAL);
    assert_string_equal(e.msg, wl_strf(a, "there is no process %d", (int)gone));
}

int main(void)
{
    if (!mkdtemp(dir)) return 1;
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(its_end_is_said),
        TEST(other_words_are_no_end),
        TEST(a_line_is_waited_for),
        TEST(a_closed_socket_is_a_failure),
        TEST(a_killed_process_that_held_the_socket_has_ended),
        TEST(a_process_may_end_by_itself),
        TEST(a_word_before_its_end_counts),
        TEST(a_signal_ends_the_measuring_alone),
        TEST(a_missing_process_is_named),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + (remove_dir() != 0);
}
