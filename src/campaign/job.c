/* A job under a guard: a process between us and the command that outlives us for as long as it takes to end the
 * command's whole process tree.
 *
 *     wattlaw --- guard (sub-reaper) --- command --- its children, orphans included
 *
 * The guard holds one end of a pipe; when wattlaw dies by any signal the pipe closes and the guard ends the tree. As
 * sub-reaper it inherits every orphan, so that processes which left the command's process group or session are
 * found too (mpirun puts each rank into a group of its own). docs/adr/060 */
#include "campaign/internal.h"

#include <dirent.h>
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

enum order_what { ORDER_GO, ORDER_SIGNAL, ORDER_STOP, ORDER_KILL };
struct order {
    enum order_what what;
    int sig;
};

enum news_what { NEWS_STARTED, NEWS_NOT_STARTED, NEWS_DONE };
struct news {
    enum news_what what;
    int64_t t_ns;
    struct wl_exit exit;
    int leftovers, stuck;
    struct wl_err why;
};

struct wl_job {
    pid_t guard;
    int orders, news; /* our ends of the pipes */
    bool reaped;
};

/* ---- the guard's side ---- */

struct guard {
    const struct wl_job_spec *spec;
    int orders, news, sigchld;
    pid_t command;
    struct news last;
    bool command_done, stopping, killing;
    int64_t kill_at_ns, leave_by_ns;
};

static const double LEAVING_S = 0.5;

static void tell(const struct guard *g, const struct news *n)
{
    ssize_t put = write(g->news, n, sizeof *n);
    (void)put; /* nobody may be left to read it */
}

/* The parent of a process from /proc/PID/stat, 0 where it is gone. The command's name may hold blanks and
 * parentheses: the fields stand behind the last ')'. */
static pid_t parent_of(const char *pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    const char *end = strrchr(text, ')');
    int parent = 0;
    return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

struct process {
    pid_t pid, parent;
    bool ours;
};

static size_t list_processes(struct process **list, struct wl_arena *a)
{
    size_t n = 0, cap = 0;
    *list = NULL;
    DIR *dir = opendir("/proc");
    if (!dir) return 0;
    for (const struct dirent *d; (d = readdir(dir));) {
        if (*d->d_name < '1' || *d->d_name > '9') continue;
        WL_GROW(a, *list, n, cap);
        (*list)[n++] = (struct process) { (pid_t)atol(d->d_name), parent_of(d->d_name), false };
    }
    closedir(dir);
    return n;
}

/* Sends a signal to every descendant of the guard; returns how many there are. */
static int signal_tree(int sig)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct process *list;
    size_t n = list_processes(&list, a);
    int found = 0;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < n; i++) {
            if (list[i].ours) continue;
            bool ours = list[i].parent == getpid();
            for (size_t k = 0; k < n && !ours; k++) ours = list[k].ours && list[k].pid == list[i].parent;
            list[i].ours = ours;
            more |= ours;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (list[i].ours && kill(list[i].pid, sig) == 0) found++;
    wl_arena_free(a);
    return found;
}

static void begin_stop(struct guard *g)
{
    if (g->stopping) return;
    g->stopping = true;
    g->kill_at_ns = wl_now_ns() + (int64_t)(g->spec->grace_s * WL_NS_PER_S);
    signal_tree(SIGTERM);
    signal_tree(SIGCONT); /* a stopped process would not see the first */
}

static void start_command(struct guard *g)
{
    const struct wl_job_spec *s = g->spec;
    struct wl_spawn how = { .argv = s->argv,
                            .env = s->env,
                            .dir = s->cwd,
                            .stdin_fd = s->stdin_fd,
                            .stdout_fd = s->stdout_fd,
                            .stderr_fd = s->stderr_fd,
                            .own_group = !s->pass_through };
    struct news n = { .what = NEWS_STARTED, .t_ns = wl_now_ns() };
    if (wl_spawn(&how, &g->command, &n.why) < 0) n.what = NEWS_NOT_STARTED;
    tell(g, &n);
    if (n.what == NEWS_NOT_STARTED) _exit(0);
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
    case ORDER_GO: start_command(g); break;
    case ORDER_SIGNAL:
        if (g->command && !g->command_done) kill(g->command, o.sig);
        break;
    case ORDER_STOP: begin_stop(g); break;
    case ORDER_KILL:
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
        g->last = (struct news) { .what = NEWS_DONE, .t_ns = wl_now_ns(), .exit.used = used };
        g->last.exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        g->last.exit.status = g->last.exit.signal ? 128 + g->last.exit.signal : WEXITSTATUS(status);
    }
}

/* A helper that leaves by itself when the command's end of a pipe closes has a moment to do so, at most the grace time:
 * Python's multiprocessing has one in every job. */
static bool may_leave(struct guard *g)
{
    double s = g->spec->grace_s < LEAVING_S ? g->spec->grace_s : LEAVING_S;
    if (!g->leave_by_ns) g->leave_by_ns = wl_now_ns() + (int64_t)(s * WL_NS_PER_S);
    return wl_now_ns() < g->leave_by_ns;
}

/* What of the tree outlived the command is ended too, except under `measure`, where a command may leave a daemon. */
static void end_leftovers(struct guard *g)
{
    if (g->spec->pass_through && !g->stopping) {
        tell(g, &g->last);
        _exit(0);
    }
    if (!g->stopping && may_leave(g)) return;
    if (!g->stopping) g->last.leftovers = signal_tree(0);
    begin_stop(g);
}

/* A command that is stuck itself has no end that could be told: it counts as killed now. */
static void give_up(struct guard *g, int left)
{
    if (!g->command_done)
        g->last = (struct news) { .what = NEWS_DONE,
                                  .t_ns = wl_now_ns(),
                                  .exit = { .status = 128 + SIGKILL, .signal = SIGKILL } };
    g->last.stuck = left;
}

static int poll_ms(const struct guard *g)
{
    if (!g->stopping && !g->leave_by_ns) return -1;
    int64_t left_ms = ((g->stopping ? g->kill_at_ns : g->leave_by_ns) - wl_now_ns()) / 1000000 + 1;
    return g->killing ? 10 : left_ms > 0 ? (int)left_ms : 0;
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
        if (g->stopping && wl_now_ns() >= g->kill_at_ns) { /* again and again: what is forking may slip through once */
            g->killing = true;
            int left = signal_tree(SIGKILL);
            if (left > 0 && wl_now_ns() >= g->kill_at_ns + WL_STUCK_NS) {
                give_up(g, left);
                break;
            }
        }
    }
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

static _Noreturn void become_guard(const struct wl_job_spec *spec, int orders, int news)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    const int keep[] = { orders, news, spec->stdin_fd, spec->stdout_fd, spec->stderr_fd };
    close_others(keep, WL_COUNT(keep));
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    struct guard g = { .spec = spec, .orders = orders, .news = news };
    g.sigchld = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (g.sigchld < 0) _exit(1);
    guard_main(&g);
}

/* ---- our side ---- */

static void release(void *what)
{
    struct wl_job *job = what;
    if (job->orders >= 0) close(job->orders); /* the guard ends what still runs */
    if (job->news >= 0) close(job->news);
    job->orders = job->news = -1;
    while (!job->reaped && waitpid(job->guard, NULL, 0) < 0 && errno == EINTR) {
    }
    job->reaped = true;
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
    pid_t pid = fork();
    if (pid == 0) become_guard(spec, orders[0], news[1]);
    close(orders[0]);
    close(news[1]);
    if (pid < 0) {
        close(orders[1]);
        close(news[0]);
        return wl_fail_errno(e, "cannot start a job: fork");
    }
    struct wl_job *job = wl_new(a, struct wl_job);
    *job = (struct wl_job) { .guard = pid, .orders = orders[1], .news = news[0] };
    wl_defer(a, release, job);
    *out = job;
    return 0;
}

pid_t wl_job_pid(const struct wl_job *job) { return job->guard; }

int wl_job_fd(const struct wl_job *job) { return job->news; }

static void order(struct wl_job *job, enum order_what what, int sig)
{
    struct order o = { what, sig };
    ssize_t put = write(job->orders, &o, sizeof o);
    (void)put; /* a guard that is gone shows at its news */
}

static int read_news(struct wl_job *job, struct news *n, struct wl_err *e)
{
    ssize_t got;
    while ((got = read(job->news, n, sizeof *n)) < 0 && errno == EINTR) {
    }
    if (got == (ssize_t)sizeof *n) return 0;
    return wl_fail(e, WL_EJOB, "the guard of the job was killed");
}

int wl_job_go(struct wl_job *job, int64_t *started_ns, struct wl_err *e)
{
    struct news n;
    order(job, ORDER_GO, 0);
    int rc = read_news(job, &n, e);
    if (rc < 0) return rc;
    if (n.what == NEWS_NOT_STARTED) return wl_fail(e, n.why.code, "%s", n.why.msg);
    *started_ns = n.t_ns;
    return 0;
}

int wl_job_end(struct wl_job *job, struct wl_job_exit *out, struct wl_err *e)
{
    struct news n;
    int rc = read_news(job, &n, e);
    release(job);
    if (rc < 0) return rc;
    *out = (struct wl_job_exit) { .exit = n.exit, .t_ns = n.t_ns, .leftovers = n.leftovers, .stuck = n.stuck };
    return 0;
}

void wl_job_signal(struct wl_job *job, int sig) { order(job, ORDER_SIGNAL, sig); }

void wl_job_stop(struct wl_job *job, bool now) { order(job, now ? ORDER_KILL : ORDER_STOP, 0); }
