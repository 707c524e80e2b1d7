#include "job/job.h"

#include <signal.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct wl_signals {
    int fd;
    sigset_t before;
};

static void release(void *what)
{
    struct wl_signals *s = what;
    close(s->fd);
    sigprocmask(SIG_SETMASK, &s->before, NULL);
}

/* A signal that was ignored when we were started stays ignored (nohup, background jobs of scripts): if it were blocked,
 * it would be queued. */
static void add_unless_ignored(sigset_t *set, int sig)
{
    struct sigaction now;
    if (sigaction(sig, NULL, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(set, sig);
}

int wl_signals_open(struct wl_signals **out, bool all, struct wl_arena *a, struct wl_err *e)
{
    static const int stops[] = { SIGINT, SIGTERM, SIGHUP }, others[] = { SIGQUIT, SIGUSR1, SIGUSR2 };
    struct wl_signals *s = wl_new(a, struct wl_signals);
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < WL_COUNT(stops); i++) add_unless_ignored(&set, stops[i]);
    for (size_t i = 0; all && i < WL_COUNT(others); i++) add_unless_ignored(&set, others[i]);
    if (sigprocmask(SIG_BLOCK, &set, &s->before)) return wl_fail_errno(e, "cannot block signals");
    s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->fd < 0) {
        int rc = wl_fail_errno(e, "cannot watch signals");
        sigprocmask(SIG_SETMASK, &s->before, NULL);
        return rc;
    }
    wl_defer(a, release, s);
    *out = s;
    return 0;
}

int wl_signals_fd(const struct wl_signals *s) { return s->fd; }

int wl_signals_next(const struct wl_signals *s, bool *from_terminal)
{
    struct signalfd_siginfo info;
    if (read(s->fd, &info, sizeof info) != (ssize_t)sizeof info) return 0;
    *from_terminal = info.ssi_code > 0; /* SI_KERNEL; signals sent by kill(2) and the like have SI_USER or less */
    return (int)info.ssi_signo;
}
