/* A job under a guard: a process between us and the command that outlives us for as long as it takes to end the
 * command's whole process tree.
 *
 *     wattlaw --- guard (sub-reaper) --- command --- its children, orphans included
 *
 * The guard holds one end of a pipe; when wattlaw dies by any signal the pipe closes and the guard ends the tree. As
 * sub-reaper it inherits every orphan, so that processes which left the command's process group or session are
 * found too (mpirun puts each rank into its own group). If the guard is killed, wattlaw inherits them; if both are,
 * what is left is in the job's cgroup, if it has one. docs/adr/060, 064 */
#include "job/job.h"
#include "job/attached.h"
#include "job/cgroup.h"
#include "job/guard.h"
#include "job/kill.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct wl_job {
    struct wl_attached *attached; /* NULL: there is a command under a guard, which all the rest is about */
    pid_t guard;
    int requests, events; /* our ends of the pipes */
    bool started, reaped;
    double grace_s;
    struct wl_cgroup *cgroup; /* NULL: none */
    struct wl_arena *a;
    pid_t *others; /* [n_others] children of ours when the command was started: not of the job */
    size_t n_others;
    const char *spared; /* of the spec */
};

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

/* The guard was killed: its processes are found by their cgroup, and as children of ours, the next sub-reaper. */
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
    if (job->requests >= 0) close(job->requests); /* the guard then ends what still runs */
    if (job->events >= 0) close(job->events);
    job->requests = job->events = -1;
    if (job->reaped) return;
    while (waitpid(job->guard, &status, 0) < 0 && errno == EINTR) {
    }
    job->reaped = true;
    if (job->started && status != 0) end_orphans(job);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

int wl_job_prepare(struct wl_job **out, const struct wl_job_spec *spec, struct wl_arena *a, struct wl_err *e)
{
    int requests[2], events[2];
    if (pipe2(requests, O_CLOEXEC)) return wl_fail_errno(e, "cannot start a job: pipe");
    if (pipe2(events, O_CLOEXEC)) {
        close(requests[0]);
        close(requests[1]);
        return wl_fail_errno(e, "cannot start a job: pipe");
    }
    const char *why;
    struct wl_cgroup *cgroup = wl_cgroup_new(&why, a);
    if (!cgroup) wl_log(WL_DEBUG, "campaign", "the job has no cgroup: %s", why);
    pid_t pid = fork();
    if (pid == 0) wl_guard_run(spec, cgroup, requests[0], events[1]);
    close(requests[0]);
    close(events[1]);
    if (pid < 0) {
        close(requests[1]);
        close(events[0]);
        return wl_fail_errno(e, "cannot start a job: fork");
    }
    struct wl_job *job = wl_new(a, struct wl_job);
    *job = (struct wl_job) { .guard = pid,
                             .requests = requests[1],
                             .events = events[0],
                             .grace_s = spec->grace_s,
                             .cgroup = cgroup,
                             .a = a,
                             .spared = spec->spared };
    wl_defer(a, release, job);
    *out = job;
    return 0;
}

int wl_job_attach(struct wl_job **out, const struct wl_job_attach *spec, struct wl_arena *a, struct wl_err *e)
{
    struct wl_job *job = wl_new(a, struct wl_job);
    *job = (struct wl_job) { .guard = spec->pid, .requests = -1, .events = -1, .a = a };
    *out = job;
    return wl_attached_open(&job->attached, spec, a, e);
}

pid_t wl_job_pid(const struct wl_job *job) { return job->guard; }

int wl_job_fd(const struct wl_job *job) { return job->attached ? wl_attached_fd(job->attached) : job->events; }

static void send_request(struct wl_job *job, enum wl_guard_request_kind what, int sig)
{
    struct wl_guard_request o = { what, sig };
    ssize_t put = write(job->requests, &o, sizeof o);
    (void)put; /* that a guard has died shows when its events are read */
}

static int read_event(struct wl_job *job, struct wl_guard_event *n, struct wl_err *e)
{
    ssize_t got;
    while ((got = read(job->events, n, sizeof *n)) < 0 && errno == EINTR) {
    }
    if (got == (ssize_t)sizeof *n) return 0;
    return wl_fail(e, WL_EJOB, "the guard of the job was killed");
}

int wl_job_start(struct wl_job *job, int64_t *started_ns, struct wl_err *e)
{
    struct wl_guard_event n;
    if (job->attached) {
        *started_ns = wl_now_ns();
        wl_attached_start(job->attached);
        return 0;
    }
    job->n_others = wl_kill_set_list(&(struct wl_kill_set) { .root = getpid() }, &job->others, job->a);
    job->started = true;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* if the guard is killed, its processes become our children */
    send_request(job, WL_GUARD_REQUEST_START, 0);
    int rc = read_event(job, &n, e);
    if (rc < 0) return rc;
    if (n.kind == WL_GUARD_EVENT_NOT_STARTED) return wl_fail(e, n.why.code, "%s", n.why.msg);
    *started_ns = n.t_ns;
    return 0;
}

int wl_job_reap(struct wl_job *job, struct wl_job_exit *out, struct wl_err *e)
{
    struct wl_guard_event n;
    if (job->attached) {
        wl_attached_end(job->attached, out);
        return 0;
    }
    int rc = read_event(job, &n, e);
    if (rc == 0) prctl(PR_SET_CHILD_SUBREAPER, 0); /* a daemon that a measured command leaves must not become ours */
    release(job);
    if (rc < 0) return rc;
    *out = (struct wl_job_exit) { .exit = n.exit, .t_ns = n.t_ns, .leftovers = n.leftovers, .stuck = n.stuck };
    if (n.stuck) snprintf(out->survivors, sizeof out->survivors, "%s", n.survivors);
    return 0;
}

void wl_job_signal(struct wl_job *job, int sig)
{
    if (job->attached)
        wl_attached_stop(job->attached, sig);
    else
        send_request(job, WL_GUARD_REQUEST_SIGNAL, sig);
}

void wl_job_stop(struct wl_job *job, bool now)
{
    if (job->attached)
        wl_attached_stop(job->attached, SIGTERM);
    else
        send_request(job, now ? WL_GUARD_REQUEST_KILL : WL_GUARD_REQUEST_STOP, 0);
}
