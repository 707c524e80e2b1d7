#include "job/guard.h"
#include "job/kill.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct guard {
    const struct wl_job_spec *spec;
    const struct wl_cgroup *cgroup; /* NULL: none */
    int requests, events, sigchld;
    pid_t command;
    struct wl_guard_event last;
    bool command_done, stopping;
    int64_t kill_at_ns, leave_by_ns;
    struct wl_kill killing;
};

static const double EXIT_DELAY_S = 0.5; /* see may_still_exit */

static void send_event(const struct guard *g, const struct wl_guard_event *n)
{
    ssize_t put = write(g->events, n, sizeof *n);
    (void)put; /* wattlaw may have died */
}

static struct wl_kill_set set_of_job(struct guard *g);

static int signal_job(struct guard *g, int sig)
{
    struct wl_kill_set v = set_of_job(g);
    return wl_kill_set_signal(&v, sig);
}

static void begin_stop(struct guard *g)
{
    if (g->stopping) return;
    g->stopping = true;
    g->kill_at_ns = wl_now_ns() + (int64_t)(g->spec->grace_s * WL_NS_PER_S);
    signal_job(g, SIGTERM);
    signal_job(g, SIGCONT); /* a stopped process does not handle SIGTERM */
}

static void start_command(struct guard *g)
{
    const struct wl_job_spec *s = g->spec;
    struct wl_process_spawn opts = { .argv = s->argv,
                                     .env = s->env,
                                     .dir = s->cwd,
                                     .stdin_fd = s->stdin_fd,
                                     .stdout_fd = s->stdout_fd,
                                     .stderr_fd = s->stderr_fd,
                                     .own_group = !s->pass_through,
                                     .die_with_parent = true, /* if the guard is killed, and wattlaw with it */
                                     .cgroup_fd = g->cgroup ? wl_cgroup_join_fd(g->cgroup) : 0 };
    struct wl_guard_event n = { .kind = WL_GUARD_EVENT_STARTED, .t_ns = wl_now_ns() };
    if (wl_process_spawn(&opts, &g->command, &n.why) < 0) n.kind = WL_GUARD_EVENT_NOT_STARTED;
    send_event(g, &n);
    if (n.kind == WL_GUARD_EVENT_NOT_STARTED) _exit(0);
}

static void handle_request(struct guard *g)
{
    struct wl_guard_request o;
    ssize_t n = read(g->requests, &o, sizeof o);
    if (n < 0 && errno == EINTR) return;
    if (n != (ssize_t)sizeof o) { /* wattlaw has died */
        if (!g->command) _exit(0);
        close(g->requests);
        g->requests = -1;
        begin_stop(g);
        return;
    }
    switch (o.kind) {
    case WL_GUARD_REQUEST_START: start_command(g); break;
    case WL_GUARD_REQUEST_SIGNAL:
        if (g->command && !g->command_done) kill(g->command, o.sig);
        break;
    case WL_GUARD_REQUEST_STOP: begin_stop(g); break;
    case WL_GUARD_REQUEST_KILL:
        begin_stop(g);
        g->kill_at_ns = wl_now_ns();
        break;
    }
}

/* Waits for ended children; returns false when no child is left. */
static bool reap(struct guard *g)
{
    struct signalfd_siginfo info;
    ssize_t got = read(g->sigchld, &info, sizeof info);
    (void)got; /* may have been read already */
    for (;;) {
        int status;
        struct rusage used;
        pid_t pid = wait4(-1, &status, WNOHANG, &used);
        if (pid < 0) return errno != ECHILD;
        if (pid == 0) return true;
        if (pid != g->command) continue;
        g->command_done = true;
        g->last = (struct wl_guard_event) { .kind = WL_GUARD_EVENT_DONE, .t_ns = wl_now_ns(), .exit.used = used };
        g->last.exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        g->last.exit.status = g->last.exit.signal ? 128 + g->last.exit.signal : WEXITSTATUS(status);
    }
}

static void reap_all(void *g) { reap(g); }

/* All that the command has started: the guard's descendants, and the members of the job's cgroup. */
static struct wl_kill_set set_of_job(struct guard *g)
{
    return (struct wl_kill_set) { .root = getpid(), .cgroup = g->cgroup, .collect = reap_all, .ctx = g };
}

/* A helper that exits by itself when the command's end of a pipe closes gets a moment to do so, at most the grace time:
 * Python's multiprocessing starts one in every job. */
static bool may_still_exit(struct guard *g)
{
    double s = g->spec->grace_s < EXIT_DELAY_S ? g->spec->grace_s : EXIT_DELAY_S;
    if (!g->leave_by_ns) g->leave_by_ns = wl_now_ns() + (int64_t)(s * WL_NS_PER_S);
    return wl_now_ns() < g->leave_by_ns;
}

/* Processes that outlived the command are ended too, except under `measure`, where a command may leave a daemon. */
static void end_leftovers(struct guard *g)
{
    if (g->spec->pass_through && !g->stopping) {
        if (g->cgroup) wl_cgroup_detach(g->cgroup);
        send_event(g, &g->last);
        _exit(0);
    }
    if (!g->stopping && may_still_exit(g)) return;
    if (!g->stopping) g->last.leftovers = signal_job(g, 0);
    begin_stop(g);
}

/* A command that is stuck itself has no exit status: it counts as killed now. */
static void report_stuck(struct guard *g)
{
    struct wl_kill_set v = set_of_job(g);
    if (!g->command_done)
        g->last = (struct wl_guard_event) { .kind = WL_GUARD_EVENT_DONE,
                                            .t_ns = wl_now_ns(),
                                            .exit = { .status = 128 + SIGKILL, .signal = SIGKILL } };
    g->last.stuck = (int)g->killing.n;
    wl_kill_describe(&g->killing, &v, g->last.survivors, sizeof g->last.survivors);
}

static int poll_ms(const struct guard *g)
{
    if (!g->stopping && !g->leave_by_ns) return -1;
    int64_t left_ms = ((g->stopping ? g->kill_at_ns : g->leave_by_ns) - wl_now_ns()) / 1000000 + 1;
    return g->killing.began_ns ? 10 : left_ms > 0 ? (int)left_ms : 0;
}

static _Noreturn void guard_main(struct guard *g)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "wattlaw-guard");
    if (!g->spec->pass_through) setpgid(0, 0);
    for (;;) {
        struct pollfd fds[] = { { .fd = g->requests, .events = POLLIN }, { .fd = g->sigchld, .events = POLLIN } };
        int n = poll(fds, WL_COUNT(fds), poll_ms(g));
        if (n < 0 && errno != EINTR) _exit(1);
        if (n > 0 && fds[0].revents) handle_request(g);
        if (g->command && !reap(g)) break;
        if (g->command_done) end_leftovers(g);
        if (!g->stopping || wl_now_ns() < g->kill_at_ns) continue;
        struct wl_kill_set v = set_of_job(g);
        if (wl_kill_round(&g->killing, &v) > 0 && wl_kill_timed_out(&g->killing)) {
            report_stuck(g);
            break;
        }
    }
    if (g->cgroup) wl_cgroup_remove(g->cgroup); /* wattlaw may have died */
    send_event(g, &g->last);
    _exit(0);
}

/* The guard keeps only the descriptors that it and the command need: no files and no locks of the store. */
static void close_others(const int *keep, size_t n)
{
    unsigned from = 3;
    for (;;) {
        unsigned next = ~0u;
        for (size_t i = 0; i < n; i++)
            if (keep[i] >= (int)from && (unsigned)keep[i] < next) next = (unsigned)keep[i];
        if (next == ~0u) break;
        if (next > from) close_range(from, next - 1, 0);
        from = next + 1;
    }
    close_range(from, ~0u, 0);
}

_Noreturn void wl_guard_run(const struct wl_job_spec *spec, const struct wl_cgroup *cgroup, int requests, int events)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    int keep[] = { requests, events, spec->stdin_fd, spec->stdout_fd, spec->stderr_fd, -1, -1 };
    if (cgroup) wl_cgroup_fds(cgroup, keep + 5);
    close_others(keep, WL_COUNT(keep));
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    struct guard g = { .spec = spec, .cgroup = cgroup, .requests = requests, .events = events };
    g.sigchld = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (g.sigchld < 0) _exit(1);
    guard_main(&g);
}
