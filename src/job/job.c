/* A job under a guard: a process between us and the command that outlives us for as long as it takes to end the
 * command's whole process tree.
 *
 *     wattlaw --- guard (sub-reaper) --- command --- its children, orphans included
 *
 * The guard holds one end of a pipe; when wattlaw dies by any signal the pipe closes and the guard ends the tree. As
 * sub-reaper it inherits every orphan, so that processes which left the command's process group or session are
 * found too (mpirun puts each rank into a group of its own). If the guard is killed, wattlaw inherits them; if both
 * are, what is left is in the job's cgroup, where it has one. docs/adr/060, 064 */
#include "job/job.h"
#include "job/cgroup.h"
#include "job/kill.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum guard_request_kind { REQUEST_START, REQUEST_SIGNAL, REQUEST_STOP, REQUEST_KILL };
struct order {
    enum guard_request_kind what;
    int sig;
};

enum guard_event_kind { EVENT_STARTED, EVENT_NOT_STARTED, EVENT_DONE };
struct news {
    enum guard_event_kind what;
    int64_t t_ns;
    struct wl_process_result exit;
    int leftovers, stuck;
    union {
        struct wl_err why;
        char survivors[WL_KILL_TEXT_SIZE];
    };
};

struct wl_job {
    pid_t guard;
    int orders, news; /* our ends of the pipes */
    bool started, reaped;
    double grace_s;
    struct wl_cgroup *cgroup; /* NULL: none */
    struct wl_arena *a;
    pid_t *others; /* [n_others] children of ours when the command was started: not of the job */
    size_t n_others;
    const char *spared; /* of the spec */
};

/* ---- the guard's side ---- */

struct guard {
    const struct wl_job_spec *spec;
    const struct wl_cgroup *cgroup; /* NULL: none */
    int orders, news, sigchld;
    pid_t command;
    struct news last;
    bool command_done, stopping;
    int64_t kill_at_ns, leave_by_ns;
    struct wl_kill killing;
};

static const double EXIT_DELAY_S = 0.5;

static void tell(const struct guard *g, const struct news *n)
{
    ssize_t put = write(g->news, n, sizeof *n);
    (void)put; /* nobody may be left to read it */
}

static struct wl_kill_set job_of(struct guard *g);

static int signal_job(struct guard *g, int sig)
{
    struct wl_kill_set v = job_of(g);
    return wl_kill_set_signal(&v, sig);
}

static void begin_stop(struct guard *g)
{
    if (g->stopping) return;
    g->stopping = true;
    g->kill_at_ns = wl_now_ns() + (int64_t)(g->spec->grace_s * WL_NS_PER_S);
    signal_job(g, SIGTERM);
    signal_job(g, SIGCONT); /* a stopped process would not see the first */
}

static void start_command(struct guard *g)
{
    const struct wl_job_spec *s = g->spec;
    struct wl_process_spawn how = { .argv = s->argv,
                                    .env = s->env,
                                    .dir = s->cwd,
                                    .stdin_fd = s->stdin_fd,
                                    .stdout_fd = s->stdout_fd,
                                    .stderr_fd = s->stderr_fd,
                                    .own_group = !s->pass_through,
                                    .die_with_parent = true, /* we may be killed, and wattlaw with us */
                                    .cgroup_fd = g->cgroup ? wl_cgroup_join_fd(g->cgroup) : 0 };
    struct news n = { .what = EVENT_STARTED, .t_ns = wl_now_ns() };
    if (wl_process_spawn(&how, &g->command, &n.why) < 0) n.what = EVENT_NOT_STARTED;
    tell(g, &n);
    if (n.what == EVENT_NOT_STARTED) _exit(0);
}

static void obey(struct guard *g)
{
    struct order o;
    ssize_t n = read(g->orders, &o, sizeof o);
    if (n < 0 && errno == EINTR) return;
    if (n != (ssize_t)sizeof o) { /* wattlaw is gone */
        if (!g->command) _exit(0);
        close(g->orders);
        g->orders = -1;
        begin_stop(g);
        return;
    }
    switch (o.what) {
    case REQUEST_START: start_command(g); break;
    case REQUEST_SIGNAL:
        if (g->command && !g->command_done) kill(g->command, o.sig);
        break;
    case REQUEST_STOP: begin_stop(g); break;
    case REQUEST_KILL:
        begin_stop(g);
        g->kill_at_ns = wl_now_ns();
        break;
    }
}

/* Collects the dead; returns false when no child is left. */
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
        g->last = (struct news) { .what = EVENT_DONE, .t_ns = wl_now_ns(), .exit.used = used };
        g->last.exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        g->last.exit.status = g->last.exit.signal ? 128 + g->last.exit.signal : WEXITSTATUS(status);
    }
}

static void collect(void *g) { reap(g); }

/* All that the command has started: our descendants, and who is in the job's cgroup. */
static struct wl_kill_set job_of(struct guard *g)
{
    return (struct wl_kill_set) { .root = getpid(), .cgroup = g->cgroup, .collect = collect, .ctx = g };
}

/* A helper that leaves by itself when the command's end of a pipe closes has a moment to do so, at most the grace time:
 * Python's multiprocessing has one in every job. */
static bool may_exit(struct guard *g)
{
    double s = g->spec->grace_s < EXIT_DELAY_S ? g->spec->grace_s : EXIT_DELAY_S;
    if (!g->leave_by_ns) g->leave_by_ns = wl_now_ns() + (int64_t)(s * WL_NS_PER_S);
    return wl_now_ns() < g->leave_by_ns;
}

/* What of the tree outlived the command is ended too, except under `measure`, where a command may leave a daemon. */
static void end_leftovers(struct guard *g)
{
    if (g->spec->pass_through && !g->stopping) {
        if (g->cgroup) wl_cgroup_detach(g->cgroup);
        tell(g, &g->last);
        _exit(0);
    }
    if (!g->stopping && may_exit(g)) return;
    if (!g->stopping) g->last.leftovers = signal_job(g, 0);
    begin_stop(g);
}

/* A command that is stuck itself has no end to report: it counts as killed now. */
static void give_up(struct guard *g)
{
    struct wl_kill_set v = job_of(g);
    if (!g->command_done)
        g->last = (struct news) { .what = EVENT_DONE,
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
        struct pollfd fds[] = { { .fd = g->orders, .events = POLLIN }, { .fd = g->sigchld, .events = POLLIN } };
        int n = poll(fds, WL_COUNT(fds), poll_ms(g));
        if (n < 0 && errno != EINTR) _exit(1);
        if (n > 0 && fds[0].revents) obey(g);
        if (g->command && !reap(g)) break;
        if (g->command_done) end_leftovers(g);
        if (!g->stopping || wl_now_ns() < g->kill_at_ns) continue;
        struct wl_kill_set v = job_of(g);
        if (wl_kill_round(&g->killing, &v) > 0 && wl_kill_timed_out(&g->killing)) {
            give_up(g);
            break;
        }
    }
    if (g->cgroup) wl_cgroup_remove(g->cgroup); /* wattlaw may be gone */
    tell(g, &g->last);
    _exit(0);
}

/* The guard keeps nothing of ours open but what it and the command need: neither files nor locks of the store. */
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

static _Noreturn void become_guard(const struct wl_job_spec *spec, const struct wl_cgroup *cgroup, int orders, int news)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    int keep[] = { orders, news, spec->stdin_fd, spec->stdout_fd, spec->stderr_fd, -1, -1 };
    if (cgroup) wl_cgroup_fds(cgroup, keep + 5);
    close_others(keep, WL_COUNT(keep));
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    struct guard g = { .spec = spec, .cgroup = cgroup, .orders = orders, .news = news };
    g.sigchld = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (g.sigchld < 0) _exit(1);
    guard_main(&g);
}

/* ---- our side ---- */

/* Children of ours that are not of the job: those from before the command, and those spared by name. */
static size_t other_children(const struct wl_job *job, pid_t **out)
{
    pid_t *spared;
    size_t n = job->spared ? wl_kill_list_children(job->spared, &spared, job->a) : 0;
    *out = wl_new_array(job->a, pid_t, job->n_others + n + 1);
    for (size_t i = 0; i < job->n_others; i++) (*out)[i] = job->others[i];
    for (size_t i = 0; i < n; i++) (*out)[job->n_others + i] = spared[i];
    return job->n_others + n;
}

/* The guard was killed: what it looked after is ours now, by cgroup and as its sub-reaper. */
static void end_orphans(const struct wl_job *job)
{
    pid_t *others;
    size_t n = other_children(job, &others);
    struct wl_kill_set v = { .root = getpid(), .spared = others, .n_spared = n, .cgroup = job->cgroup, .reap = true };
    char text[WL_KILL_TEXT_SIZE];
    int left;
    wl_kill_set_terminate(&v, job->grace_s, &left, text, sizeof text);
    if (left)
        wl_log(WL_WARN, "campaign", "%d process%s of the job did not end after SIGKILL: %s", left, left > 1 ? "es" : "",
               text);
}

static void release(void *what)
{
    struct wl_job *job = what;
    int status = 0;
    if (job->orders >= 0) close(job->orders); /* the guard ends what still runs */
    if (job->news >= 0) close(job->news);
    job->orders = job->news = -1;
    if (job->reaped) return;
    while (waitpid(job->guard, &status, 0) < 0 && errno == EINTR) {
    }
    job->reaped = true;
    if (job->started && status != 0) end_orphans(job);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

int wl_job_prepare(struct wl_job **out, const struct wl_job_spec *spec, struct wl_arena *a, struct wl_err *e)
{
    int orders[2], news[2];
    if (pipe2(orders, O_CLOEXEC)) return wl_fail_errno(e, "cannot start a job: pipe");
    if (pipe2(news, O_CLOEXEC)) {
        close(orders[0]);
        close(orders[1]);
        return wl_fail_errno(e, "cannot start a job: pipe");
    }
    const char *why;
    struct wl_cgroup *cgroup = wl_cgroup_new(&why, a);
    if (!cgroup) wl_log(WL_DEBUG, "campaign", "the job has no cgroup of its own: %s", why);
    pid_t pid = fork();
    if (pid == 0) become_guard(spec, cgroup, orders[0], news[1]);
    close(orders[0]);
    close(news[1]);
    if (pid < 0) {
        close(orders[1]);
        close(news[0]);
        return wl_fail_errno(e, "cannot start a job: fork");
    }
    struct wl_job *job = wl_new(a, struct wl_job);
    *job = (struct wl_job) { .guard = pid,
                             .orders = orders[1],
                             .news = news[0],
                             .grace_s = spec->grace_s,
                             .cgroup = cgroup,
                             .a = a,
                             .spared = spec->spared };
    wl_defer(a, release, job);
    *out = job;
    return 0;
}

pid_t wl_job_pid(const struct wl_job *job) { return job->guard; }

int wl_job_fd(const struct wl_job *job) { return job->news; }

static void order(struct wl_job *job, enum guard_request_kind what, int sig)
{
    struct order o = { what, sig };
    ssize_t put = write(job->orders, &o, sizeof o);
    (void)put; /* a guard that is gone shows at its news */
}

static int read_event(struct wl_job *job, struct news *n, struct wl_err *e)
{
    ssize_t got;
    while ((got = read(job->news, n, sizeof *n)) < 0 && errno == EINTR) {
    }
    if (got == (ssize_t)sizeof *n) return 0;
    return wl_fail(e, WL_EJOB, "the guard of the job was killed");
}

int wl_job_start(struct wl_job *job, int64_t *started_ns, struct wl_err *e)
{
    struct news n;
    job->n_others = wl_kill_set_list(&(struct wl_kill_set) { .root = getpid() }, &job->others, job->a);
    job->started = true;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* what the guard leaves if it is killed comes to us */
    order(job, REQUEST_START, 0);
    int rc = read_event(job, &n, e);
    if (rc < 0) return rc;
    if (n.what == EVENT_NOT_STARTED) return wl_fail(e, n.why.code, "%s", n.why.msg);
    *started_ns = n.t_ns;
    return 0;
}

int wl_job_reap(struct wl_job *job, struct wl_job_exit *out, struct wl_err *e)
{
    struct news n;
    int rc = read_event(job, &n, e);
    if (rc == 0) prctl(PR_SET_CHILD_SUBREAPER, 0); /* a daemon that a measured command leaves is not ours */
    release(job);
    if (rc < 0) return rc;
    *out = (struct wl_job_exit) { .exit = n.exit, .t_ns = n.t_ns, .leftovers = n.leftovers, .stuck = n.stuck };
    if (n.stuck) snprintf(out->survivors, sizeof out->survivors, "%s", n.survivors);
    return 0;
}

void wl_job_signal(struct wl_job *job, int sig) { order(job, REQUEST_SIGNAL, sig); }

void wl_job_stop(struct wl_job *job, bool now) { order(job, now ? REQUEST_KILL : REQUEST_STOP, 0); }
