/* The end of what is measured is the first of: a line on `control`, the end of the process, a signal to us. Nothing is
 * ever sent to the process: it is not ours. */
#include "job/attached.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = WL_KILL_TEXT_SIZE - 1,
    EXIT_MS = 500, /* of a killed process the kernel closes the files first */
};

struct wl_attached {
    pid_t pid;
    int process, control, stopped, any; /* pidfd; the socket, -1: none; eventfd; epoll of the three */
    const char *greeting;
    int signal; /* that stopped us; 0: none */
    char line[LINE_MAX_BYTES + 1];
    size_t n;
};

static void close_all(void *what)
{
    struct wl_attached *t = what;
    const int fds[] = { t->process, t->stopped, t->any };
    for (size_t i = 0; i < WL_COUNT(fds); i++)
        if (fds[i] >= 0) close(fds[i]);
}

static int watch(const struct wl_attached *t, int fd, struct wl_err *e)
{
    struct epoll_event on = { .events = EPOLLIN };
    return epoll_ctl(t->any, EPOLL_CTL_ADD, fd, &on) ? wl_fail_errno(e, "cannot watch process %d", (int)t->pid) : 0;
}

int wl_attached_open(struct wl_attached **out, const struct wl_job_attach *spec, struct wl_arena *a, struct wl_err *e)
{
    struct wl_attached *t = wl_new(a, struct wl_attached);
    *t = (struct wl_attached) { .pid = spec->pid,
                                .process = (int)syscall(SYS_pidfd_open, spec->pid, 0),
                                .control = spec->control,
                                .stopped = -1,
                                .any = -1,
                                .greeting = spec->greeting };
    if (t->process < 0 && (errno == ESRCH || errno == EINVAL))
        return wl_fail(e, WL_EINVAL, "there is no process %d", (int)spec->pid);
    if (t->process < 0) return wl_fail_errno(e, "cannot watch process %d", (int)spec->pid);
    wl_defer(a, close_all, t);
    t->stopped = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    t->any = epoll_create1(EPOLL_CLOEXEC);
    if (t->stopped < 0 || t->any < 0) return wl_fail_errno(e, "cannot watch process %d", (int)spec->pid);
    int rc = watch(t, t->process, e);
    if (rc == 0) rc = watch(t, t->stopped, e);
    if (rc == 0 && t->control >= 0) rc = watch(t, t->control, e);
    *out = t;
    return rc;
}

void wl_attached_start(struct wl_attached *t)
{
    if (t->control < 0) return;
    ssize_t put = send(t->control, t->greeting, strlen(t->greeting), MSG_NOSIGNAL);
    (void)put; /* that nobody reads it shows at the end */
}

int wl_attached_fd(const struct wl_attached *t) { return t->any; }

void wl_attached_stop(struct wl_attached *t, int sig)
{
    const uint64_t one = 1;
    if (!t->signal) t->signal = sig;
    ssize_t put = write(t->stopped, &one, sizeof one);
    (void)put; /* it cannot overflow */
}

/* Adds what `control` has; true: that was a line, or nothing more can come. */
static bool read_line(struct wl_attached *t)
{
    ssize_t got = recv(t->control, t->line + t->n, LINE_MAX_BYTES - t->n, MSG_DONTWAIT);
    if (got < 0) return errno != EAGAIN && errno != EINTR;
    t->n += (size_t)got;
    char *end = memchr(t->line, '\n', t->n);
    if (end) *end = '\0';
    return end || got == 0 || t->n == LINE_MAX_BYTES;
}

static bool is_readable(int fd, int wait_ms)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    return fd >= 0 && poll(&p, 1, wait_ms) > 0;
}

/* Without `control` the process is measured until it ends, however it does, as its exit status is for its parent alone;
 * or until the user ends the measuring. */
static void judge(struct wl_attached *t, struct wl_job_exit *out)
{
    static const char FAILED[] = "failed ";
    if (t->control < 0 || wl_str_eq(t->line, "end")) return;
    if (t->signal) {
        out->exit.status = 128 + t->signal;
        return;
    }
    out->exit.status = 1;
    if (!strncmp(t->line, FAILED, sizeof FAILED - 1))
        snprintf(out->failed, sizeof out->failed, "%s", t->line + sizeof FAILED - 1);
    else if (is_readable(t->process, EXIT_MS))
        snprintf(out->failed, sizeof out->failed, "process %d ended while it was measured", (int)t->pid);
    else
        snprintf(out->failed, sizeof out->failed, "process %d did not say how the measured part ended", (int)t->pid);
}

void wl_attached_end(struct wl_attached *t, struct wl_job_exit *out)
{
    for (bool ended = false; !ended;) {
        struct epoll_event on;
        if (epoll_wait(t->any, &on, 1, -1) < 0 && errno != EINTR) break;
        /* the last line of a process that has ended is read first */
        ended = is_readable(t->control, 0) && read_line(t);
        if (!ended) ended = is_readable(t->process, 0) || is_readable(t->stopped, 0);
    }
    *out = (struct wl_job_exit) { .t_ns = wl_now_ns() };
    judge(t, out);
}
